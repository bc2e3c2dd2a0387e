package picker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// lowList is the least height of a list that shows its filter and its keys.
const lowList = 7

// Height is how many rows all of the list takes. A filter, a shorter list or a narrower hint does not make
// it lower: nothing moves under the person.
func (p *Picker) Height(t *paint.Theme, w int) int {
	rows := len(p.rows)
	if rows == 0 {
		rows = len(p.list(t, w, paint.Everything))
	}
	p.tall = max(p.tall, 2+rows+len(p.foot(t, w, paint.Everything)))
	return p.tall
}

// View draws the list, the selected row's more, and the keys.
func (p *Picker) View(t *paint.Theme, w, h int) (out []string, x, y int) {
	title := p.Title
	if p.State != nil {
		title += " · " + p.State()
	}
	out = []string{t.Justify(w, []paint.Span{paint.Faint.Span("── "), paint.Strong.Span(title)}, []paint.Span{paint.Accent.Span("Esc"), paint.Dim.Span(part.Leaves(p.Under))})}
	x, y = -1, -1
	foot := p.foot(t, w, h)
	if p.writing != nil {
		label := p.writing.Label + " "
		line, at, _ := p.field.View(t, max(w-paint.Gutter-2-paint.Width(label), 4), 1)
		foot = []string{"  " + t.Paint(paint.Accent, label) + line[0], t.Row(w-1, paint.Accent.Span("  Enter"), paint.Dim.Span(" "+p.writing.Saves+"   "), paint.Accent.Span("Esc"), paint.Dim.Span(" cancels"))}
		x, y = paint.Gutter+paint.Width(label)+at, h-2
	}
	low := h < lowList && h < p.Height(t, w)
	if low && p.asked == nil && p.writing == nil {
		foot = nil
	}
	if !low && !p.Numbered {
		line, at, _ := p.filter.View(t, max(w-paint.Gutter-14, 4), 1)
		if line[0] = t.Paint(paint.Accent, ansi.Strip(line[0])); p.filter.Empty() {
			line[0] = t.Paint(paint.Dim, "type to filter")
		}
		count := fmt.Sprintf("%d of %d", len(p.shown), len(p.rows))
		if len(p.shown) == len(p.rows) {
			count = fmt.Sprint(len(p.rows))
		}
		gap := strings.Repeat(" ", max(w-paint.Gutter-paint.Width(count)-1-ansi.StringWidth(line[0]), 1))
		out = append(out, "  "+line[0]+gap+t.Paint(paint.Dim, count))
		if p.writing == nil && p.asked == nil {
			x, y = paint.Gutter+at, 1
		}
	}
	room := max(h-len(out)-len(foot), 0)
	out = append(out, p.list(t, w, room)...)
	for len(out)+len(foot) < h {
		out = append(out, "")
	}
	out = append(out, foot...)
	return out[:h], x, min(y, h-1)
}

// list draws at most room rows, including the selected one.
func (p *Picker) list(t *paint.Theme, w, room int) []string {
	p.height = room
	switch {
	case p.loading:
		return []string{t.Paint(paint.Dim, "  …")}[:min(1, room)]
	case len(p.shown) == 0:
		said := p.None
		if len(p.rows) > 0 {
			said = "no match"
		}
		lines := paint.Indent(t.Wrap(w-paint.Gutter-1, paint.Dim.Span(said)))
		return lines[:min(len(lines), room)]
	}
	p.top = max(min(p.top, p.At, len(p.shown)-room), p.At-room+1, 0)
	var out []string
	for i := p.top; i < min(p.top+room, len(p.shown)); i++ {
		r := p.rows[p.shown[i]]
		mark, s := paint.Text.Span("  "), paint.Text
		if i == p.At {
			mark, s = paint.Accent.Span("› "), paint.Accent.With(paint.Bold)
		}
		name := []paint.Span{mark, s.Span(r.Text)}
		if p.Numbered {
			name = []paint.Span{mark, s.Span(fmt.Sprint(i+1, " ", r.Text))}
		}
		if r.Mark {
			name = append(name, paint.Good.Span(" ✓"))
		}
		about := paint.Cut(r.About, w/2)
		out = append(out, t.Justify(w-1, name, []paint.Span{paint.Dim.Span(about)}))
	}
	return out
}

// mostProblem is how many lines a problem may take.
const mostProblem = 4

// foot is the part below the list: a problem, more about the selected row, and what
// the keys do.
func (p *Picker) foot(t *paint.Theme, w, h int) []string {
	if p.asked != nil {
		question := fmt.Sprintf(p.asked.Asks, "“"+paint.Cut(p.about.Text, 40)+"”")
		return append(paint.Indent(t.Wrap(w-paint.Gutter-1, paint.Warn.Span(question))), keyLines(t, w-1, "Enter", "confirms", "Esc", "cancels")...)
	}
	r, ok := p.chosen()
	var out []string
	if p.Problem != "" {
		lines := t.Hang(w-1, paint.Warn.Span("  ▲ "), paint.Warn.Span(p.Problem))
		if len(lines) > mostProblem {
			lines = append(lines[:mostProblem-1], t.Row(w-1, paint.Warn.Span("    …")))
		}
		out = append(out, lines...)
	}
	var hints []string
	if ok {
		hints = append(hints, "Enter", cmp.Or(r.Enter, p.Enter))
	}
	for _, d := range p.Deeds {
		if d.offered(r, ok) {
			hints = append(hints, p.key(&d), d.Help)
		}
	}
	keys := keyLines(t, w-1, hints...)
	if ok && r.More != "" {
		// The title, the filter and a row of the list stay.
		most := max(h-3-len(keys)-len(out), 1)
		lines := paint.Indent(t.Wrap(w-paint.Gutter-1, paint.Dim.Span(r.More)))
		if more := strings.Split(r.More, "\n"); len(more) > 1 { // each of its lines is a row
			lines = nil
			for _, line := range more {
				lines = append(lines, t.Row(w-1, paint.Dim.Span("  "+line)))
			}
		} else if len(lines) > most {
			lines[most-1] = t.Paint(paint.Dim, "  …")
		}
		out = append(out, lines[:min(len(lines), most)]...)
	}
	return append(out, keys...)
}

// keyLines lists keys and what they do; a pair is never split.
func keyLines(t *paint.Theme, w int, pairs ...string) []string {
	var items [][]paint.Span
	for pair := range slices.Chunk(pairs, 2) {
		items = append(items, []paint.Span{paint.Text.Span("  "), paint.Accent.Span(pair[0]), paint.Dim.Span(" " + pair[1] + " ")})
	}
	return t.Packed(w, items...)
}
