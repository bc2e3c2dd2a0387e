package question

import (
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/internal/visible"
	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
)

// Rule is the rule that the answer "always" would save, while the person reads and edits it.
// Its text is what is saved, whole: scope and expiry are lines of it.
type Rule struct {
	// Text is the rule.
	Text    composer.Composer
	lasting *approvals.Lasting
	keys    *keys.Table
	width   int // of the text on the last drawing
	days    int // until it expires, as set by a key; 0: no such line
	problem string
	// checking: the text is being checked for saving.
	checking bool
	// changes counts the changes of the text, so that the result of a check is shown only for the
	// text that was checked.
	changes int
	// seen are the rows of the text that were visible, all those of the present text.
	seen map[string]bool
	all  []string
}

// expiries are the days that a key cycles through.
var expiries = []int{0, 1, 7, 30, 90}

// openRule shows the rule of the answer "always".
func (q *Question) openRule() {
	l := q.request.Lasting
	q.Rule = &Rule{Text: composer.New(), lasting: l, keys: q.keys, seen: map[string]bool{}}
	q.Rule.set(l.Project)
}

func (r *Rule) set(text string) {
	r.Text.Set("")
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			line = "\n" + line
		}
		r.Text.Typed(line) // not as a paste: a long one would be folded
	}
	r.changed()
}

// changed records that the text was changed.
func (r *Rule) changed() { r.changes, r.problem, r.checking = r.changes+1, "", false }

// read reports whether all of the text was visible. If not, it goes to
// the first row that was not.
func (r *Rule) read() bool {
	for at, row := range r.all {
		if !r.seen[row] {
			r.Text.GoTo(at, r.width)
			r.problem = "read the whole rule before it is saved"
			return false
		}
	}
	return true
}

// check returns what checks the present text, and what takes its result: whether the text can be
// saved, false too if it was changed meanwhile. The first blocks and belongs beside the screen.
func (r *Rule) check(saving bool) (check func() error, done func(error) bool) {
	text, at := r.Text.Value(), r.changes
	r.checking = saving
	return func() error { return r.lasting.Check(text) }, func(err error) bool {
		if r.changes != at {
			return false
		}
		r.checking, r.problem = false, ""
		if err != nil {
			r.problem = err.Error()
		}
		return err == nil
	}
}

// ToggleScope changes between this project and everywhere.
func (r *Rule) ToggleScope() {
	if r.value("project") != "" {
		r.set(withLine(r.Text.Value(), "project", ""))
		return
	}
	for line := range strings.Lines(r.lasting.Project) {
		if isLine(line, "project") {
			r.set(withLine(r.Text.Value(), "project", strings.TrimSpace(line)))
			return
		}
	}
}

// nextExpiry sets the last day on which the rule holds: another number of days from now, or none.
func (r *Rule) nextExpiry(now time.Time) {
	at := 0
	for i, days := range expiries {
		if days == r.days {
			at = (i + 1) % len(expiries)
		}
	}
	line := ""
	if r.days = expiries[at]; r.days > 0 {
		line = "expires = " + now.AddDate(0, 0, r.days).Format(time.DateOnly)
	}
	r.set(withLine(r.Text.Value(), "expires", line))
}

// withLine returns the text with line in each table instead of what sets key; "": without it.
func withLine(text, key, line string) string {
	var out []string
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if isLine(l, key) {
			continue
		}
		if out = append(out, l); line != "" && strings.HasPrefix(strings.TrimSpace(l), "[[") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func isLine(line, key string) bool {
	name, _, ok := strings.Cut(line, "=")
	return ok && strings.TrimSpace(name) == key
}

// value returns what the text's lines set key to, each once.
func (r *Rule) value(key string) string {
	var out []string
	for line := range strings.Lines(r.Text.Value()) {
		if _, v, ok := strings.Cut(line, "="); ok && isLine(line, key) {
			v = strings.Trim(strings.TrimSpace(v), `'"`)
			if len(out) == 0 || out[len(out)-1] != v {
				out = append(out, v)
			}
		}
	}
	return strings.Join(out, ", ")
}

// view draws the rule below a title in at most h rows: those of its text apart. x and y are the
// cursor's place; until says when the question ends.
func (r *Rule) view(t *paint.Theme, w, h int, home string, until []paint.Span) (rows, text []string, x, y int) {
	r.width = max(w-6, 8)
	foot := r.foot(t, w, home, until)
	if len(foot) > max(h-2, 0) { // an error may be long: its beginning, above the keys
		foot = append(foot[:max(h-3, 0)], foot[len(foot)-1])
	}
	whole := r.Text
	r.all, _, _ = whole.View(t, r.width, len(whole.Rows(r.width)))
	text, x, y = r.Text.View(t, r.width, max(min(len(r.all), h-len(foot)), 1))
	for _, l := range text {
		rows = append(rows, "   "+t.Paint(paint.Accent, "▏")+l)
	}
	return append(rows, foot...), text, x + 4, y
}

// foot says what the rule is for, or what is wrong with it, and the keys.
func (r *Rule) foot(t *paint.Theme, w int, home string, until []paint.Span) []string {
	row := func(label string, text paint.Span) []string {
		return t.Hang(w-1, paint.Dim.Span("   "+label), paint.Flat([]paint.Span{text})...)
	}
	scope, expires := "everywhere", "never"
	if p := r.value("project"); p != "" {
		scope = "in " + paint.Tilde(p, home)
	}
	if e := r.value("expires"); e != "" {
		expires = "after " + e
	}
	out := row("holds ", paint.Text.Span(visible.Fact(scope+", expires "+expires)))
	switch {
	case r.checking:
		out = append(out, row("", paint.Dim.Span("checking …"))...)
	case r.problem != "":
		out = append(out, row("▲ ", paint.Warn.Span(visible.Fact(r.problem)))...)
	}
	var hints []paint.Span
	for _, h := range []struct {
		do   keys.Action
		does string
	}{{keys.Send, " saves"}, {keys.Back, " back"}, {keys.RuleScope, " scope"}, {keys.RuleExpiry, " expiry"}} {
		hints = append(hints, paint.Accent.Span("   "+r.keys.Name(keys.InRule, h.do)), paint.Dim.Span(h.does))
	}
	if w < paint.Narrow {
		for i := range hints {
			if hints[i].Text = strings.TrimPrefix(hints[i].Text, "  "); i == 0 {
				hints[i].Text = "  " + hints[i].Text
			}
		}
	}
	if paint.WidthOf(hints)+paint.WidthOf(until)+2 < w {
		return append(out, t.Justify(w-1, hints, until))
	}
	for paint.WidthOf(hints) >= w && len(hints) > 4 { // each whole; the first two must be there
		hints = hints[:len(hints)-2]
	}
	return append(out, t.Row(w-1, hints...))
}
