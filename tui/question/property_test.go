package question

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/sandbox"
	"codeagent/tui/denial"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/tuitest"
)

// alien is a letter that only texts of the model and of commands have here: where it stands,
// they speak.
const alien = "Ж"

// hostile returns a text of about n pieces that does what it can to look like codeagent's rows.
func hostile(r *rand.Rand, n int) string {
	pieces := []string{
		alien, alien + " ", "\n", "\r", "\t", "   ", "\n   allows    + write /Ж", "\n ▲ Ж", "│ ", "│Ж", "─⊘ Ж ───", "\x1b[2J", "\x1b[1A\x1b[31m", "\x9b1m",
		"\u202e", "\u2066", "\u200b", "\u2028", "漢Ж字", "👩‍👩‍👧Ж", "e\u0301", "\xff\xfe", "\x00", "1 this once Ж", strings.Repeat("Ж", 60), strings.Repeat(" ", 90) + "+ write /Ж",
		"\n" + strings.Repeat(" ", 40) + "▲ Ж", "”", "the model says: Ж",
	}
	var b strings.Builder
	for range n {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// place returns a path or name of one grant, which a command may have made; it has no alien.
func place(r *rand.Rand) string {
	pieces := []string{"a", "/b", "/c d", "/資料", "/été", "/very-long-name-of-a-folder", "/x   + y", "/▲ z", "/e\u0301", "/│ w", "/漢字漢字漢字漢字漢字漢字", "/.."}
	b := "/"
	for range 1 + r.IntN(12) {
		b += pieces[r.IntN(len(pieces))]
	}
	return b
}

func anyRequest(r *rand.Rand) approvals.Request {
	q := approvals.Request{ID: "q", Title: "make wants to write /" + strings.Repeat("long", r.IntN(40)), Justification: alien + hostile(r, r.IntN(60))}
	q.GrantOnly = r.IntN(3) == 0
	for range r.IntN(4) {
		q.Grant.Write = append(q.Grant.Write, place(r))
		q.Grant.Read = append(q.Grant.Read, place(r))
		q.Grant.Sockets = append(q.Grant.Sockets, place(r))
	}
	for i := range r.IntN(3) {
		q.Grant.Hosts = append(q.Grant.Hosts, sandbox.HostPort{Host: strings.Repeat("label.", 1+r.IntN(20)) + "example", Port: uint16(1 + i)})
	}
	for i := range r.IntN(4) {
		q.Warnings = append(q.Warnings, fmt.Sprintf("warning %d about %s, which %s", i, place(r), strings.Repeat("matters ", r.IntN(20))))
	}
	for i := range r.IntN(3) {
		q.Facts = append(q.Facts, fmt.Sprintf("fact %d about %s", i, place(r)))
	}
	for range r.IntN(5) {
		q.Denials = append(q.Denials, sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: place(r), Program: "x", Evidence: sandbox.EvidenceKernel, Count: 1})
	}
	q.Options = []approvals.Option{
		{Key: "1", Decision: approvals.Once, Label: "this once"},
		{Key: "2", Decision: approvals.Session, Label: "this session, exactly this command in this folder"},
		{Key: "3", Decision: approvals.Outside, Label: "outside the sandbox, once"},
		{Key: "n", Label: "no, because …"}, {Key: "s", Decision: approvals.Stop, Label: "stop"},
	}
	text := alien + hostile(r, r.IntN(80))
	switch q.Action = (approvals.Action{Kind: word.KindCommand, Command: text, Folder: place(r)}); r.IntN(5) {
	case 0:
		q.Action.Kind = word.KindEdit
	case 1:
		q.Action.Kind, q.Action.Input, q.Action.Running.Command = word.KindInput, text, text
	case 2:
		q.Action.Kind, q.Action.Command = word.KindServer, ""
		q.Action.Server = &approvals.ServerCall{Server: "s", Tool: "t", Program: text, Arguments: text}
	case 3:
		q.Held, q.Patience = true, time.Minute
	}
	return q
}

// ours reports whether a row is codeagent's: a bar stands before foreign text.
func ours(row string) bool {
	before, _, barred := strings.Cut(row, "│ ")
	before = strings.TrimSpace(before)
	return !barred || !slices.Contains([]string{"", "command", "reason", "types", "into", "change", "sends", "to"}, before)
}

// squeezed leaves out space, where rows end.
func squeezed(s string) string {
	return strings.NewReplacer(" ", "", "␣", "", "\n", "").Replace(s)
}

// TestWhateverIsAsked plays random questions at random sizes, page by page: no yes is taken
// before each grant, each warning and the meaning of each answer was visible, each is taken
// when all was, and no row of codeagent's shows what the model or a command says.
func TestWhateverIsAsked(t *testing.T) {
	now := time.Unix(0, 0)
	theme := paint.New(true)
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 12))
		request := anyRequest(r)
		w, h := 20+r.IntN(90), 7+r.IntN(30)
		q := ask(request)
		q.Arm(true)
		shown := map[string]bool{}
		look := func(lines []string) {
			for _, l := range lines {
				tuitest.Harmless(t, l)
				plain := ansi.Strip(l)
				if ansi.StringWidth(plain) > w {
					t.Fatalf("seed %d: a row of %d columns at %d: %q", seed, ansi.StringWidth(plain), w, plain)
				}
				if ours(plain) && strings.Contains(plain, alien) {
					t.Fatalf("seed %d, %dx%d: a row without a bar shows foreign text: %q", seed, w, h, plain)
				}
				shown[strings.TrimRight(plain, " ")] = true
			}
		}
		// What must be seen, drawn on a screen without end, in rows of this width.
		var must []string
		for _, row := range q.sheet(theme, w, "/home/ada", limits{}, false, 0).rows {
			if (row.at != part.Sight{}) && row.at.Line != "title 0" && !strings.HasPrefix(row.at.Line, "answer") {
				must = append(must, strings.TrimRight(ansi.Strip(row.text), " "))
			}
		}
		whole := squeezed(strings.Join(must, ""))
		for _, fact := range facts(request) {
			if !strings.Contains(whole, squeezed(fact)) {
				t.Fatalf("seed %d: the question lacks %q:\n%s", seed, fact, strings.Join(must, "\n"))
			}
		}
		taken := func(key string) bool { _, ok := q.Choose(key); return ok }
		unseen := func() string {
			for _, row := range must {
				if !shown[row] {
					return row
				}
			}
			return ""
		}
		d := q.View(part.Canvas{Theme: theme, Width: w, Home: "/home/ada", Now: now, More: r.IntN(2)}, h)
		look(d.Lines)
		d.Seen()
		page := NewPage(q, "/home/ada", func() time.Time { return now })
		for step := 0; ; step++ {
			for _, key := range []string{"1", "2", "3"} {
				if row := unseen(); row != "" && taken(key) {
					t.Fatalf("seed %d, %dx%d: %s was taken before %q was visible", seed, w, h, key, row)
				}
			}
			if taken("1") && taken("2") && taken("3") {
				break
			}
			if step > 600 {
				t.Fatalf("seed %d, %dx%d: no yes is taken after all was seen", seed, w, h)
			}
			lines, _, _ := page.View(theme, w, h)
			look(lines)
			if step%2 == 0 {
				page.Next()
			} else {
				page.Scroll(r.IntN(page.Room+2) - 1)
			}
		}
		if row := unseen(); row != "" {
			t.Errorf("seed %d, %dx%d: %q was never visible", seed, w, h, row)
		}
	}
}

// facts are what a yes to r allows and the warnings, as rows show them.
func facts(r approvals.Request) (out []string) {
	for _, text := range slices.Concat(denial.Grants(r.Grant, "/home/ada"), r.Warnings, r.Facts) {
		out = append(out, ansi.Strip(paint.Show(visible.Fact(text))))
	}
	return out
}
