package form

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// The order of a form, from the top: which server asks, and for which call; what codeagent knows
// about such questions; the server's words; the fields. Words of the server are behind a bar.

// row is one row of the body.
type row struct {
	text string
	// at identifies a row that must be seen before an answer is sent; the zero value for those
	// that need not be.
	at part.Sight
	// stop is the place of the cursor that the row belongs to, its field -1 for none; x is the
	// cursor's column, -1 where another row of the stop has it.
	stop stop
	x    int
}

// read reports whether all of the form was seen. If not, it goes to the first row that was not.
func (f *Form) read() bool {
	if f.unseen >= 0 {
		f.problem = "read this first, then answer again"
		f.top, f.follow = f.unseen, false
	}
	return f.unseen < 0
}

// sheet collects rows.
type sheet struct {
	t    *paint.Theme
	w    int
	rows []row
}

// layout is how a part is laid out.
type layout struct {
	label string
	marks []paint.Span // before the text
	hard  bool         // every space stays
}

// add appends a line that must be seen; "": it need not be.
func (s *sheet) add(line string, l layout, spans ...paint.Span) {
	lines := paint.Wrapper{Theme: s.t, Width: s.w - 1, First: l.marks, Hard: l.hard}.Labelled(l.label, spans...)
	for i, text := range lines {
		r := row{text: text, stop: stop{field: -1}, x: -1}
		if line != "" {
			r.at = part.Sight{Line: line, At: i, Of: len(lines), Width: s.w}
		}
		s.rows = append(s.rows, r)
	}
}

func (f *Form) body(t *paint.Theme, w int) []row {
	quoted, warned := []paint.Span{paint.Faint.Span("│ ")}, []paint.Span{paint.Warn.Span("▲ ")}
	q := f.ask.Question
	s := &sheet{t: t, w: w}
	if paint.Width(f.who()) > w-16 { // however many others come
		s.add("server", layout{label: "asks"}, paint.Strong.Span(q.Asker()))
	}
	says := "it says"
	if q.ByModel() {
		says = "it asks"
	} else if f.call != "" {
		s.add("call", layout{label: "during"}, paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(f.call))})...)
	}
	if q.URL != "" {
		s.add("host", layout{label: "at host"}, paint.Strong.Span(visible.Fact(host(q.URL))))
		s.add("url", layout{"address", quoted, true}, paint.Text.Span(visible.Line(q.URL)))
	}
	if note := f.note(); q.ByModel() {
		s.add("note", layout{}, paint.Dim.Span(note))
	} else if note != "" {
		s.add("note", layout{marks: warned}, paint.Warn.Span(note))
	}
	s.add("words", layout{label: says, marks: quoted}, paint.Text.Span(q.Message))
	for i := range f.fields {
		f.field(s, i)
	}
	return s.rows
}

// field draws field i.
func (f *Form) field(s *sheet, i int) {
	e, model := &f.fields[i], f.ask.Question.ByModel()
	label, name, quoted := "optional", fmt.Sprint("field ", i), []paint.Span{paint.Faint.Span("│ ")}
	if e.Required {
		label = "required"
	}
	switch {
	case model && e.Kind == inquiry.String && !f.filling && e.text.Empty():
		return
	case model: // its labels are codeagent's
		if !f.one() || f.filling {
			s.add("", layout{}, paint.Dim.Span(map[bool]string{true: e.Wants(), false: "in your own words"}[len(e.taken) > 0]))
		}
	default:
		s.add(name, layout{label: label, marks: quoted}, paint.Flat([]paint.Span{paint.Strong.Span(e.Label())})...)
		if e.Description != "" && e.Description != e.Label() {
			s.add(name+" about", layout{marks: quoted}, paint.Flat([]paint.Span{paint.Dim.Span(e.Description)})...)
		}
		s.add(name+" wants", layout{}, paint.Dim.Span(e.Wants()))
	}
	if len(e.taken) == 0 {
		f.typed(s, i)
	}
	for c, word := range e.options() {
		f.option(s, stop{i, c}, word, fmt.Sprint(name, " choice ", c))
	}
	if e.problem != "" {
		s.add("", layout{marks: []paint.Span{paint.Warn.Span("▲ ")}}, paint.Warn.Span(visible.Fact(e.problem)))
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
			r.at = part.Sight{Line: fmt.Sprint("field ", i, " value"), At: at, Of: len(lines), Width: s.w}
		}
		if focus && at == y {
			r.x = indent(s.w) + 1 + x
		}
		s.rows = append(s.rows, r)
	}
}

// option draws one choice.
func (f *Form) option(s *sheet, at stop, word, name string) {
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
	switch {
	case f.filling && f.at == at:
		marks[0] = paint.Accent.Span("› " + box)
	case f.one() && !f.filling: // a key takes it
		style = paint.Strong
		marks[0] = f.KeyStyle().Span(fmt.Sprint(at.choice+1, " "))
	}
	if e.Kind != inquiry.Boolean {
		marks = append(marks, paint.Faint.Span("│ "))
	}
	spans := []paint.Span{style.Span(word)}
	if len(e.About) > 0 && e.About[at.choice] != "" {
		spans = append(spans, paint.Dim.Span(": "+e.About[at.choice]))
	}
	s.add(name, layout{marks: marks}, paint.Flat(spans)...)
	for i := from; i < len(s.rows); i++ {
		s.rows[i].stop = at
	}
	if f.filling && f.at == at {
		s.rows[from].x = indent(s.w) + 3
	}
}

// View draws the form in at most h rows, docked below the transcript.
func (f *Form) View(c part.Canvas, h int) part.Drawn {
	t, w := c.Theme, c.Width
	d := part.Drawn{X: -1, Y: -1}
	foot := f.foot(t, w)
	if h >= len(foot)+4 {
		title, _ := f.Head(t, w, "?", f.who(), others(c.More))
		d.Lines = append(d.Lines, title)
	}
	body := f.body(t, w)
	f.width, f.room = w, max(h-len(d.Lines)-len(foot)-1, 0)
	f.place(body)
	shown := body[f.top:min(f.top+f.room, len(body))]
	var visible []part.Sight
	for _, r := range shown {
		if r.x >= 0 {
			d.X, d.Y = min(r.x, w-1), len(d.Lines)
		}
		d.Lines, visible = append(d.Lines, r.text), append(visible, r.at)
	}
	d.Lines = append(append(d.Lines, foot...), f.hint(c, f.top, len(body)-f.top-len(shown)))
	if drop := len(d.Lines) - h; drop > 0 { // the answers are never left out
		d.Lines, d.Y = d.Lines[drop:], max(d.Y-drop, -1)
		visible = nil
	}
	d.Seen = func() {
		f.seen.Note(visible)
		f.unseen = slices.IndexFunc(body, func(r row) bool { return !f.seen.Has(r.at) })
	}
	return d
}

// place bounds the first row, and brings the cursor's field into view, its problem too.
func (f *Form) place(body []row) {
	if f.filling && f.follow {
		first, last := len(body), 0
		for i, r := range body {
			if r.stop == f.at {
				first, last = min(first, i), i
			}
		}
		for last+1 < len(body) && body[last+1].stop.field < 0 && body[last+1].at == (part.Sight{}) {
			last++
		}
		// With its label, as far as there is room.
		for first > 0 && strings.HasPrefix(body[first-1].at.Line, fmt.Sprint("field ", f.at.field)) && last-first+2 <= f.room {
			first--
		}
		f.top = max(min(f.top, first), last-f.room+1)
	}
	f.top = max(min(f.top, len(body)-f.room), 0)
}

// who says who asks, by the configured name.
func (f *Form) who() string { return f.ask.Question.Asker() + " asks" }

// others says how many other questions wait.
func others(more int) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(" · %d more", more)
}

// foot draws the answers.
func (f *Form) foot(t *paint.Theme, w int) []string {
	if f.filling {
		return nil
	}
	return f.Foot(t, w, f.answers())
}

// hint is the last line: the keys, and how much is not in view.
func (f *Form) hint(c part.Canvas, above, below int) string {
	w := c.Width
	back, next := f.keys.Name(keys.Everywhere, keys.Back), f.keys.Name(keys.InForm, keys.Send)
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
	hints := func(pairs ...[2]string) (out []paint.Span) {
		for _, k := range pairs {
			out = paint.Fitting(w-paint.WidthOf(right)-2, out, []paint.Span{paint.Accent.Span("   " + k[0]), paint.Dim.Span(" " + k[1])})
		}
		return out
	}
	var left []paint.Span
	switch {
	case f.problem != "":
		left = []paint.Span{paint.Warn.Span("   " + f.problem)}
	case f.filling && c.Urgent:
		left = append([]paint.Span{paint.Accent.Span("   " + back), paint.Warn.Span(" permission request waiting")}, hints([2]string{next, "next"})...)
	case f.filling && f.at.field+1 == len(f.fields):
		left = hints([2]string{next, "sends"}, [2]string{back, "back"}, f.chooses())
	case f.filling:
		left = hints([2]string{next, "next field"}, [2]string{back, "back"}, f.chooses())
	case !f.Armed():
		left = hints([2]string{f.keys.Name(keys.Everywhere, keys.Arm), "to answer"})
	case f.unseen >= 0:
		left = hints([2]string{f.keys.Name(keys.Everywhere, keys.PageDown), "shows the rest"}, [2]string{back, "back to typing"})
	default:
		left = hints([2]string{back, "back to typing"})
	}
	return c.Theme.Justify(w-1, left, right)
}

// chooses is the key that chooses, where the cursor is at a choice.
func (f *Form) chooses() [2]string {
	if len(f.fields[f.at.field].taken) > 0 {
		return [2]string{"Space", "chooses"}
	}
	return [2]string{"↑↓", "moves"}
}
