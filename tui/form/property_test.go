package form

import (
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/mcp/inquiry"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/tuitest"
)

// alien is a letter that only texts of the server have here: where it stands, the server speaks.
const alien = "Ж"

// hostile returns a text of n pieces that does what it can to look like codeagent's rows.
func hostile(r *rand.Rand, n int) string {
	pieces := []string{
		alien, alien + " ", "\n", "\r", "\t", "   ", "\n   1 agree  Ж", "\n ▲ Ж", "│ ", "│Ж", "─? Ж ───", "▏Ж", "\x1b[2J", "\x1b[1A", "\x9b1m", "\u202e", "\u200b", "\u2028",
		"漢Ж字", "e\u0301", "\xff\xfe", "\x00", strings.Repeat("Ж", 60), strings.Repeat(" ", 90) + "Ж", "(•) Ж", "› [x] Ж", "\U000f0000",
	}
	var b strings.Builder
	for range n {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func anyQuestion(r *rand.Rand) inquiry.Question {
	q := inquiry.Question{Server: strings.Repeat("s", 1+r.IntN(60)), Message: alien + hostile(r, r.IntN(80))}
	if r.IntN(4) == 0 {
		q.URL = "https://login.example/" + strings.Repeat("x", r.IntN(600))
		return q
	}
	kinds := []inquiry.Kind{inquiry.String, inquiry.Number, inquiry.Integer, inquiry.Boolean, inquiry.Choice, inquiry.Choices}
	for range r.IntN(6) {
		f := inquiry.Field{Name: hostile(r, 3), Title: alien + hostile(r, r.IntN(5)), Description: hostile(r, r.IntN(9)), Kind: kinds[r.IntN(len(kinds))], Required: r.IntN(2) == 0}
		if f.Kind == inquiry.Choice || f.Kind == inquiry.Choices {
			f.Choices = []string{alien + hostile(r, r.IntN(6)), alien + "b" + hostile(r, r.IntN(6))}
		}
		q.Fields = append(q.Fields, f)
	}
	return q
}

// ours reports whether a row is codeagent's, or what the person typed: a bar stands before what
// the server says.
func ours(row string) bool {
	before, _, barred := strings.Cut(row, "│ ")
	return !barred || strings.Trim(before, " ›()[]x•") != "" && !strings.HasPrefix(strings.TrimSpace(before), "it says") &&
		!strings.HasPrefix(strings.TrimSpace(before), "required") && !strings.HasPrefix(strings.TrimSpace(before), "optional") && !strings.HasPrefix(strings.TrimSpace(before), "address")
}

// bare is a row without styles, and without the cursor before a choice.
func bare(row string) string { return strings.Trim(ansi.Strip(row), " ›") }

// TestWhateverIsAsked plays random questions at random sizes: nothing is accepted before each row
// was visible, it is accepted afterwards, and no row of codeagent's shows what the server says.
func TestWhateverIsAsked(t *testing.T) {
	theme := paint.New(true)
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 15))
		w, h := 24+r.IntN(90), 8+r.IntN(30)
		f := ask(anyQuestion(r))
		for i := range f.fields { // what fits, so that only the reading is missing
			e := &f.fields[i]
			for _, v := range []any{"typed", 4.0, true, e.Choices} {
				if s, ok := v.([]string); ok && e.Kind == inquiry.Choice && len(s) > 0 {
					v = s[0]
				}
				if e.Fits(v) == nil {
					e.set(v)
				}
			}
		}
		shown := map[string]bool{}
		look := func() {
			d := f.View(part.Canvas{Theme: theme, Width: w, More: r.IntN(3), Urgent: r.IntN(4) == 0}, h)
			for _, l := range d.Lines {
				tuitest.Harmless(t, l)
				plain := ansi.Strip(l)
				if ansi.StringWidth(plain) > w {
					t.Fatalf("seed %d: a row of %d columns at %d: %q", seed, ansi.StringWidth(plain), w, plain)
				}
				if ours(plain) && strings.Contains(plain, alien) {
					t.Fatalf("seed %d, %dx%d: a row without a bar shows what the server says: %q", seed, w, h, plain)
				}
			}
			if len(d.Lines) > h || d.Y >= len(d.Lines) || d.X >= w {
				t.Fatalf("seed %d, %dx%d: %d rows, cursor %d,%d", seed, w, h, len(d.Lines), d.X, d.Y)
			}
			d.Seen()
			for _, l := range d.Lines {
				shown[bare(l)] = true
			}
		}
		send := func() bool {
			if len(f.fields) > 0 {
				return f.Send() != nil
			}
			return f.Choose(yes) != nil
		}
		if send() {
			t.Fatalf("seed %d: accepted before it was drawn", seed)
		}
		f.Arm(true)
		look()
		for page := 0; !send(); page++ {
			if page > 300 {
				t.Fatalf("seed %d, %dx%d: not accepted after all was shown: %+v", seed, w, h, f.fields)
			}
			if f.Writes() && r.IntN(3) == 0 {
				f.Key(keys.Key{Code: tea.KeyDown})
			} else if r.IntN(3) == 0 {
				f.scroll(1)
			} // else what send has brought into view
			look()
		}
		for _, row := range f.body(theme, w) {
			if row.at != (part.Sight{}) && !shown[bare(row.text)] {
				t.Fatalf("seed %d, %dx%d: accepted without %+v", seed, w, h, row.at)
			}
		}
	}
}
