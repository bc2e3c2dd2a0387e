package tui

import "strings"

// panel is a page over the transcript: help, status, the whole of a question.
type panel struct {
	title string
	page  func(t *theme, w int) []string
	top   int
}

// scroll moves the page by n lines; view bounds it.
func (p *panel) scroll(n int) { p.top = max(p.top+n, 0) }

// view draws exactly h lines.
func (p *panel) view(t *theme, w, h int) []string {
	head := t.justify(w, []span{{"── ", faint}, {p.title, strong}}, []span{{"Esc", accent}, {" closes ", dim}})
	lines := p.page(t, w-gutter-1)
	room := max(h-2, 0)
	p.top = max(min(p.top, len(lines)-room), 0)
	out := []string{head, ""}
	shown := lines[p.top:min(p.top+room, len(lines))]
	out = append(out, indent(shown)...)
	if below := len(lines) - p.top - room; below > 0 && len(out) > 2 {
		out[len(out)-1] = t.paint(dim, "  ↓ more")
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out[:h]
}

// columns draws pairs in two columns, the left one as wide as it needs.
func columns(t *theme, w int, pairs [][2]string) []string {
	left := 0
	for _, p := range pairs {
		left = max(left, width(p[0]))
	}
	left = min(left, w/2)
	var out []string
	for _, p := range pairs {
		name := cut(p[0], left)
		out = append(out, wrapper{
			theme: t, width: w,
			first: []span{{name + strings.Repeat(" ", left-width(name)+2), accent}},
			rest:  []span{{strings.Repeat(" ", left+2), text}},
		}.lines(span{p[1], text})...)
	}
	return out
}
