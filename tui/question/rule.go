package question

import (
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/approvals/rules"
	"codeagent/internal/visible"
	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
)

// Rule is the rule that the answer "always" would save, while the person reads and edits it: first
// a sentence that is computed from it, on demand its text. The text is what is saved, whole: the scope
// is a line of it.
type Rule struct {
	// Text is the rule.
	Text composer.Composer
	// said is the sentence about the text; empty if that cannot be read.
	said composer.Composer
	// open: the text is shown; opened: it was once, and so must all be seen.
	open, opened bool
	lasting      *approvals.Lasting
	keys         *keys.Table
	width        int // of the text on the last drawing
	problem      string
	// checking: the text is being checked for saving.
	checking bool
	// changes counts the changes of the text, so that the result of a check is shown only for the
	// text that was checked.
	changes int
	// drawn is the change that was drawn last. seen are the rows that were visible. all must be
	// before the rule is saved: those of the sentence, and those of a text that was opened.
	drawn int
	seen  map[string]bool
	all   []string
	lines int // of all, those of the sentence
}

// openRule shows the rule of the answer "always".
func (q *Question) openRule() {
	l := q.request.Lasting
	q.Rule = &Rule{Text: composer.New(), lasting: l, keys: q.keys, seen: map[string]bool{}}
	q.Rule.set(l.Project)
}

func (r *Rule) set(text string) {
	fill(&r.Text, text)
	r.changed()
}

func fill(c *composer.Composer, text string) {
	c.Set("")
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			line = "\n" + line
		}
		c.Typed(line) // not as a paste: a long one would be folded
	}
}

// changed records that the text was changed.
func (r *Rule) changed() { r.changes, r.problem, r.checking = r.changes+1, "", false }

// edit records that the person changed the text itself.
func (r *Rule) edit() { r.open = true; r.changed() }

// Toggle shows the text below its sentence, or the sentence alone.
func (r *Rule) Toggle() { r.open = !r.open }

// read reports whether all was visible. If not, it goes to the first row that was not.
func (r *Rule) read() bool {
	at := slices.IndexFunc(r.all, func(row string) bool { return !r.seen[row] })
	if at < 0 && r.drawn == r.changes {
		return true
	}
	if at >= r.lines {
		r.open = true
		r.Text.GoTo(at-r.lines, r.width)
	} else if at >= 0 {
		r.open = false
		r.said.GoTo(at, r.width)
	}
	r.problem = "read the whole rule before it is saved"
	return false
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
	if slices.ContainsFunc(strings.Split(r.Text.Value(), "\n"), func(l string) bool { return isLine(l, "project") }) {
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

// say computes the sentence of a text that changed.
func (r *Rule) say(home string) {
	if r.drawn == r.changes {
		return
	}
	r.drawn = r.changes
	list, _ := rules.Parse("rule", []byte(r.Text.Value()), home) // what is wrong is shown by check
	fill(&r.said, rules.Sentence(list, func(path string) string { return paint.Tilde(path, home) }))
	r.said.GoTo(0, r.width)
}

// view draws the rule below a title in at most h rows: those of its sentence and text apart. x and
// y are the cursor's place; until says when the question ends.
func (r *Rule) view(t *paint.Theme, w, h int, home string, until []paint.Span) (rows, text []string, x, y int) {
	r.width = max(w-6, 8)
	r.say(home)
	r.open = r.open || r.said.Empty()
	r.opened = r.opened || r.open
	foot := r.foot(t, w, until)
	if len(foot) > max(h-2, 0) { // an error may be long: its beginning, above the keys
		foot = append(foot[:max(h-3, 0)], foot[len(foot)-1])
	}
	said, whole, room := rowsOf(t, r.said, r.width), rowsOf(t, r.Text, r.width), h-len(foot)
	if r.all, r.lines = said, len(said); r.opened {
		r.all = slices.Concat(said, whole)
	}
	if !r.open {
		text, x, y = r.said.View(t, r.width, max(min(len(said), room), 1))
		said, x = text, x-1
	} else {
		if len(said)+3 > room { // Toggle shows it, and so does saving before it was visible
			said = nil
		}
		text, x, y = r.Text.View(t, r.width, max(min(len(whole), room-len(said)), 1))
		text, y = slices.Concat(said, text), y+len(said)
	}
	for i, l := range text {
		if i < len(said) {
			rows = append(rows, "   "+l)
		} else {
			rows = append(rows, "   "+t.Paint(paint.Accent, "▏")+l)
		}
	}
	return append(rows, foot...), text, x + 4, y
}

// rowsOf draws all rows of c.
func rowsOf(t *paint.Theme, c composer.Composer, w int) (rows []string) {
	if !c.Empty() {
		rows, _, _ = c.View(t, w, len(c.Rows(w)))
	}
	return rows
}

// foot says what is wrong with the rule, and the keys.
func (r *Rule) foot(t *paint.Theme, w int, until []paint.Span) (out []string) {
	row := func(label string, text paint.Span) []string {
		return t.Hang(w-1, paint.Dim.Span("   "+label), paint.Flat([]paint.Span{text})...)
	}
	switch {
	case r.checking:
		out = append(out, row("", paint.Dim.Span("checking …"))...)
	case r.problem != "":
		out = append(out, row("▲ ", paint.Warn.Span(visible.Fact(r.problem)))...)
	}
	toggle := " TOML"
	if r.open {
		toggle = " sentence"
	}
	var hints []paint.Span
	for _, h := range []struct {
		do   keys.Action
		does string
	}{{keys.Send, " saves"}, {keys.Back, " back"}, {keys.Toggle, toggle}, {keys.RuleScope, " scope"}} {
		hints = paint.Fitting(w, hints, []paint.Span{paint.Accent.Span("   " + r.keys.Name(keys.InRule, h.do)), paint.Dim.Span(h.does)})
	}
	if paint.WidthOf(hints)+paint.WidthOf(until)+2 < w {
		return append(out, t.Justify(w-1, hints, until))
	}
	return append(out, t.Row(w-1, hints...))
}
