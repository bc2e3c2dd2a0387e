package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// lowList is the least height of a list that shows its filter and its keys.
const lowList = 7

// view draws the list, the selected row's more, and the keys.
func (p *picker) view(t *theme, w, h int) (out []string, x, y int) {
	out = []string{t.justify(w, []span{faint.span("── "), strong.span(p.title)}, []span{accent.span("Esc"), dim.span(" closes ")})}
	x, y = -1, -1
	foot := p.foot(t, w)
	if p.writing != nil {
		line, at, _ := p.field.view(t, max(w-gutter-8, 4), 1)
		foot = []string{"  " + t.paint(accent, "title ") + line[0], t.row(w-1, accent.span("  Enter"), dim.span(" saves   "), accent.span("Esc"), dim.span(" cancels"))}
		x, y = gutter+6+at, h-2
	}
	if h < lowList && p.asked == nil && p.writing == nil {
		foot = nil
	}
	if h >= lowList {
		line, at, _ := p.filter.view(t, max(w-gutter-14, 4), 1)
		if line[0] = t.paint(accent, ansi.Strip(line[0])); p.filter.empty() {
			line[0] = t.paint(dim, "type to filter")
		}
		count := fmt.Sprintf("%d of %d", len(p.shown), len(p.rows))
		if len(p.shown) == len(p.rows) {
			count = fmt.Sprint(len(p.rows))
		}
		gap := strings.Repeat(" ", max(w-gutter-width(count)-1-ansi.StringWidth(line[0]), 1))
		out = append(out, "  "+line[0]+gap+t.paint(dim, count))
		if p.writing == nil && p.asked == nil {
			x, y = gutter+at, 1
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
func (p *picker) list(t *theme, w, room int) []string {
	p.height = room
	switch {
	case p.loading:
		return []string{t.paint(dim, "  …")}[:min(1, room)]
	case len(p.shown) == 0:
		said := p.none
		if len(p.rows) > 0 {
			said = "no match"
		}
		lines := indent(t.wrap(w-gutter-1, dim.span(said)))
		return lines[:min(len(lines), room)]
	}
	p.top = max(min(p.top, p.at, len(p.shown)-room), p.at-room+1, 0)
	var out []string
	for i := p.top; i < min(p.top+room, len(p.shown)); i++ {
		r := p.rows[p.shown[i]]
		mark, s := text.span("  "), text
		if i == p.at {
			mark, s = accent.span("› "), accent.with(bold)
		}
		name := []span{mark, s.span(r.text)}
		if r.mark {
			name = append(name, good.span(" ✓"))
		}
		about := cut(r.about, w/2)
		out = append(out, t.justify(w-1, name, []span{dim.span(about)}))
	}
	return out
}

// foot is the part below the list: a problem, more about the selected row, and what
// the keys do.
func (p *picker) foot(t *theme, w int) []string {
	if p.asked != nil {
		question := fmt.Sprintf(p.asked.asks, "“"+cut(p.about.text, 40)+"”")
		return append(indent(t.wrap(w-gutter-1, warn.span(question))), keyLines(t, w-1, "Enter", "confirms", "Esc", "cancels")...)
	}
	r, ok := p.chosen()
	var out []string
	if p.problem != "" {
		out = append(out, t.row(w-1, warn.span("  ▲ "+p.problem)))
	}
	if ok && r.more != "" {
		out = append(out, t.row(w-1, dim.span("  "+r.more)))
	}
	var keys []string
	if ok {
		keys = append(keys, "Enter", p.enter)
	}
	for _, d := range p.deeds {
		if d.offered(r, ok) {
			keys = append(keys, d.key, d.help)
		}
	}
	return append(out, keyLines(t, w-1, keys...)...)
}

// keyLines lists keys and what they do; a pair is never split.
func keyLines(t *theme, w int, pairs ...string) []string {
	var out []string
	var line []span
	for i := 0; i+1 < len(pairs); i += 2 {
		pair := []span{text.span("  "), accent.span(pairs[i]), dim.span(" " + pairs[i+1] + " ")}
		if len(line) > 0 && spansWidth(line)+spansWidth(pair) > w {
			out, line = append(out, t.row(w, line...)), nil
		}
		line = append(line, pair...)
	}
	if len(line) > 0 {
		out = append(out, t.row(w, line...))
	}
	return out
}
