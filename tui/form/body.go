package form

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
	"codeagent/tui/paint"
)

// The order of a form, from the top: which server asks, and for which call; what codeagent knows
// about such questions; the server's words; the fields. Words of the server are behind a bar.

// row is one row of the body.
type row struct {
	text string
	// at identifies a row that must be seen before an answer is sent; the zero value for those
	// that need not be.
	at sight
	// stop is the place of the cursor that the row belongs to, its field -1 for none; x is the
	// cursor's column, -1 where another row of the stop has it.
	stop stop
	x    int
}

// sight is row at of the of rows that a part has on a screen of width columns.
type sight struct {
	part          string
	at, of, width int
}

// sights are the rows of a form that were seen. A part that was seen whole stays seen when the
// screen gets another width.
type sights struct {
	rows  map[sight]bool
	whole map[string]bool
	// left: rows that were not seen remained in the last drawing, first is the first of them.
	left  bool
	first int
}

func (s *sights) note(now []sight) {
	for _, r := range now {
		if r == (sight{}) {
			continue
		}
		s.rows[r] = true
		all := true
		for one := (sight{r.part, 0, r.of, r.width}); all && one.at < one.of; one.at++ {
			all = s.rows[one]
		}
		s.whole[r.part] = s.whole[r.part] || all
	}
}

func (s *sights) has(r sight) bool { return r == sight{} || s.whole[r.part] || s.rows[r] }

// Drawn is a drawing of a form: its rows, and the position of the cursor, -1 without one.
type Drawn struct {
	Lines   []string
	X, Y    int
	visible []sight
	all     []sight
}

// OnScreen records that the person sees d now.
func (f *Form) OnScreen(d Drawn) {
	f.seen.note(d.visible)
	f.seen.first = slices.IndexFunc(d.all, func(s sight) bool { return !f.seen.has(s) })
	f.seen.left = f.seen.first >= 0
}

// read reports whether all of the form was seen. If not, it goes to the first row that was not.
func (f *Form) read() bool {
	if f.seen.left {
		f.problem = "read this first, then answer again"
		f.top, f.follow = max(f.seen.first, 0), false
	}
	return !f.seen.left
}

// sheet collects rows.
type sheet struct {
	t    *paint.Theme
	w    int
	rows []row
}

// labelled is how a part is laid out.
type labelled struct {
	label string
	marks []paint.Span // before the text
	hard  bool         // every space stays
}

// add appends a part that must be seen; part "": it need not be.
func (s *sheet) add(part string, l labelled, spans ...paint.Span) {
	lines := paint.Wrapper{Theme: s.t, Width: s.w - 1, First: l.marks, Hard: l.hard}.Labelled(l.label, spans...)
	for i, line := range lines {
		r := row{text: line, stop: stop{field: -1}, x: -1}
		if part != "" {
			r.at = sight{part, i, len(lines), s.w}
		}
		s.rows = append(s.rows, r)
	}
}

func (f *Form) body(t *paint.Theme, w int) []row {
	quoted, warned := []paint.Span{paint.Faint.Span("│ ")}, []paint.Span{paint.Warn.Span("▲ ")}
	q := f.Ask.Question
	s := &sheet{t: t, w: w}
	if paint.Width(f.who()) > titleRoom(w, 10) { // however many others come
		s.add("server", labelled{label: "asks"}, paint.Strong.Span("the MCP server "+visible.Fact(q.Server)))
	}
	if f.Ask.Call != "" {
		s.add("call", labelled{label: "during"}, paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(f.Ask.Call))})...)
	}
	switch {
	case q.URL != "":
		s.add("host", labelled{label: "at host"}, paint.Strong.Span(visible.Fact(host(q.URL))))
		s.add("url", labelled{"address", quoted, true}, paint.Text.Span(visible.Line(q.URL)))
		s.add("note", labelled{marks: warned}, paint.Warn.Span("codeagent does not open this page; you would"))
	case len(q.Fields) > 0:
		s.add("note", labelled{marks: warned}, paint.Warn.Span("the server gets what you enter: no passwords, no keys"))
	}
	s.add("words", labelled{label: "it says", marks: quoted}, paint.Text.Span(q.Message))
	for i := range f.fields {
		f.field(s, i)
	}
	return s.rows
}

// field draws field i.
func (f *Form) field(s *sheet, i int) {
	e := &f.fields[i]
	label, part, quoted := "optional", fmt.Sprint("field ", i), []paint.Span{paint.Faint.Span("│ ")}
	if e.Required {
		label = "required"
	}
	s.add(part, labelled{label: label, marks: quoted}, paint.Flat([]paint.Span{paint.Strong.Span(e.Label())})...)
	if e.Description != "" && e.Description != e.Label() {
		s.add(part+" about", labelled{marks: quoted}, paint.Flat([]paint.Span{paint.Dim.Span(e.Description)})...)
	}
	s.add(part+" wants", labelled{}, paint.Dim.Span(e.Wants()))
	if len(e.taken) == 0 {
		f.typed(s, i)
	}
	for c, word := range e.options() {
		f.option(s, stop{i, c}, word, fmt.Sprint(part, " choice ", c))
	}
	if e.problem != "" {
		s.add("", labelled{marks: []paint.Span{paint.Warn.Span("▲ ")}}, paint.Warn.Span(visible.Fact(e.problem)))
	}
}

// textWidth is how wide a text that is typed may be.
func textWidth(w int) int { return max(w-indent(w)-3, 4) }

func indent(w int) int {
	if w < paint.Narrow {
		return 3
	}
	return 12
}

// mostTyped is how many rows of a text are drawn.
const mostTyped = 6

// typed draws a text that is typed. What the server proposes must be seen like its words.
func (f *Form) typed(s *sheet, i int) {
	e := &f.fields[i]
	focus := f.filling && f.at.field == i
	bar := paint.Faint
	if focus {
		bar = paint.Accent
	}
	lines, x, y := e.text.View(s.t, textWidth(s.w), mostTyped)
	proposed := e.Default != nil && e.text.Value() == oneLine(e.Written(e.Default))
	for at, line := range lines {
		r := row{text: strings.Repeat(" ", indent(s.w)) + s.t.Paint(bar, "▏") + line, stop: stop{i, 0}, x: -1}
		if proposed {
			r.at = sight{fmt.Sprint("field ", i, " value"), at, len(lines), s.w}
		}
		if focus && at == y {
			r.x = indent(s.w) + 1 + x
		}
		s.rows = append(s.rows, r)
	}
}

// option draws one choice.
func (f *Form) option(s *sheet, at stop, word, part string) {
	e := &f.fields[at.field]
	boxes := [2]string{"( ) ", "(•) "}
	if e.Kind == inquiry.Choices {
		boxes = [2]string{"[ ] ", "[x] "}
	}
	box, style := boxes[0], paint.Text
	if e.taken[at.choice] {
		box, style = boxes[1], paint.Strong
	}
	from := len(s.rows)
	marks := []paint.Span{style.Span("  " + box)}
	if f.filling && f.at == at {
		marks[0] = paint.Accent.Span("› " + box)
	}
	if e.Kind != inquiry.Boolean {
		marks = append(marks, paint.Faint.Span("│ "))
	}
	s.add(part, labelled{marks: marks}, paint.Flat([]paint.Span{style.Span(word)})...)
	for i := from; i < len(s.rows); i++ {
		s.rows[i].stop = at
	}
	if f.filling && f.at == at {
		s.rows[from].x = indent(s.w) + 3
	}
}

// View draws the form in at most h rows, docked below the transcript; more is how many other
// questions wait.
func (f *Form) View(t *paint.Theme, w, h, more int) Drawn {
	d := Drawn{X: -1, Y: -1}
	foot := f.foot(t, w)
	head := []string{f.title(t, w, more)}
	if h < len(foot)+4 {
		head = nil
	}
	body := f.body(t, w)
	f.room = max(h-len(head)-len(foot)-1, 0)
	f.scroll(body)
	shown := body[f.top:min(f.top+f.room, len(body))]
	for _, r := range body {
		d.all = append(d.all, r.at)
	}
	d.Lines = append(d.Lines, head...)
	for _, r := range shown {
		if r.x >= 0 {
			d.X, d.Y = min(r.x, w-1), len(d.Lines)
		}
		d.Lines, d.visible = append(d.Lines, r.text), append(d.visible, r.at)
	}
	d.Lines = append(d.Lines, foot...)
	d.Lines = append(d.Lines, f.hint(t, w, f.top, len(body)-f.top-len(shown)))
	if drop := len(d.Lines) - h; drop > 0 { // the answers are never left out
		d.Lines, d.Y = d.Lines[drop:], max(d.Y-drop, -1)
		d.visible = nil
	}
	return d
}

// scroll bounds the first row, and brings the cursor's field into view, its problem too.
func (f *Form) scroll(body []row) {
	if f.filling && f.follow {
		first, last := len(body), 0
		for i, r := range body {
			if r.stop == f.at {
				first, last = min(first, i), i
			}
		}
		for last+1 < len(body) && body[last+1].stop.field < 0 && body[last+1].at == (sight{}) {
			last++
		}
		// With its label, as far as there is room.
		for first > 0 && strings.HasPrefix(body[first-1].at.part, fmt.Sprint("field ", f.at.field)) && last-first+2 <= f.room {
			first--
		}
		f.top = max(min(f.top, first), last-f.room+1)
	}
	f.top = max(min(f.top, len(body)-f.room), 0)
}

// title is the line above the form. The name is the configured one.
func (f *Form) title(t *paint.Theme, w, more int) string {
	s := paint.Warn
	if f.armed {
		s = s.With(paint.Bold)
	}
	right := others(w, more)
	shown := paint.Cut(f.who(), titleRoom(w, more))
	line := max(w-4-paint.Width(shown)-paint.Width(right), 0)
	return t.Paint(s, "─? "+shown) + t.Paint(paint.Dim, paint.Show(right)) + " " + t.Paint(paint.Warn, strings.Repeat("─", line))
}

// who says who asks, by the configured name.
func (f *Form) who() string { return "the MCP server " + visible.Fact(f.Ask.Question.Server) + " asks" }

// others says how many other questions wait.
func others(w, more int) string {
	if more == 0 {
		return ""
	}
	return paint.Cut(fmt.Sprintf(" · %d more", more), max(w-16, 0))
}

func titleRoom(w, more int) int { return max(w-6-paint.Width(others(w, more)), 1) }

// foot draws the answers. They look ready only when the form is armed.
func (f *Form) foot(t *paint.Theme, w int) (rows []string) {
	first := "answer …"
	switch q := f.Ask.Question; {
	case f.filling:
		return nil
	case q.URL != "":
		first = "agree, and open it yourself"
	case len(q.Fields) == 0:
		first = "agree"
	}
	key, label := paint.Dim, paint.Dim
	if f.armed {
		key, label = paint.Warn.With(paint.Bold), paint.Text
	}
	var spans []paint.Span
	for _, o := range [][2]string{{yes, first}, {address, "copy the address"}, {decline, "decline"}, {cancel, "cancel"}} {
		if !f.Has(o[0]) {
			continue
		}
		item := []paint.Span{paint.Text.Span("   "), key.Span(o[0]), label.Span(" " + o[1])}
		if len(spans) > 0 && paint.WidthOf(spans)+paint.WidthOf(item) > w-1 {
			rows, spans = append(rows, t.Row(w-1, spans...)), nil
		}
		spans = append(spans, item...)
	}
	return append(rows, t.Row(w-1, spans...))
}

// hint is the last line: the keys, and how much is not in view.
func (f *Form) hint(t *paint.Theme, w, above, below int) string {
	var right []paint.Span
	for _, r := range []struct {
		mark string
		n    int
	}{{"↑", above}, {"↓", below}} {
		if r.n > 0 {
			right = append(right, paint.Warn.Span(fmt.Sprintf(" %s %d", r.mark, r.n)))
		}
	}
	if below > 0 && w >= paint.Narrow {
		right = append(right, paint.Warn.Span(" more"))
	}
	keys := func(pairs ...[2]string) (out []paint.Span) {
		for _, k := range pairs {
			if add := []paint.Span{paint.Accent.Span("   " + k[0]), paint.Dim.Span(" " + k[1])}; paint.WidthOf(out)+paint.WidthOf(add)+paint.WidthOf(right)+2 < w {
				out = append(out, add...)
			}
		}
		return out
	}
	var left []paint.Span
	switch {
	case f.problem != "":
		left = []paint.Span{paint.Warn.Span("   " + f.problem)}
	case f.filling && f.Behind:
		left = append([]paint.Span{paint.Accent.Span("   " + f.keys.Back), paint.Warn.Span(" permission request waiting")}, keys([2]string{f.keys.Next, "next"})...)
	case f.filling && f.at.field+1 == len(f.fields):
		left = keys([2]string{f.keys.Next, "sends"}, [2]string{f.keys.Back, "back"}, f.chooses())
	case f.filling:
		left = keys([2]string{f.keys.Next, "next field"}, [2]string{f.keys.Back, "back"}, f.chooses())
	case !f.armed:
		left = keys([2]string{f.keys.Arm, "to answer"})
	case f.seen.left:
		left = keys([2]string{f.keys.Page, "shows the rest"}, [2]string{f.keys.Back, "back to typing"})
	default:
		left = keys([2]string{f.keys.Back, "back to typing"})
	}
	return t.Justify(w-1, left, right)
}

// chooses is the key that chooses, where the cursor is at a choice.
func (f *Form) chooses() [2]string {
	if len(f.fields[f.at.field].taken) > 0 {
		return [2]string{"Space", "chooses"}
	}
	return [2]string{"↑↓", "moves"}
}
