package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// overlay covers the transcript and takes the keys.
type overlay interface {
	// view draws exactly h lines. The cursor is in line y of them; -1: no cursor.
	view(t *theme, w, h int) (lines []string, x, y int)
	key(m *app, k tea.Key) tea.Cmd
	scroll(by int)
	// live returns what asks for its content anew; nil: it does not change.
	live() func() tea.Cmd
}

// list is a picker over the transcript.
type list struct{ *picker }

func (l list) live() func() tea.Cmd { return l.picker.live }

func (l list) key(m *app, k tea.Key) tea.Cmd {
	do := m.keys.find(k, inPicker, everywhere)
	cmd, handled := l.press(k, do, m.keys.find(k, inComposer))
	if handled {
		return cmd
	}
	return m.common(do)
}

// panel is a page to read: help, status, the whole of a question.
type panel struct {
	title string
	page  func(t *theme, w int) []string
	top   int
	// accept is what Enter does, and enter its description; nil: Enter closes the page.
	accept func(m *app) tea.Cmd
	enter  string
	// tails: the page grows, and follow keeps its end in view. under is the overlay
	// that is shown again afterwards.
	tails, follow bool
	under         overlay
	// refresh asks for what the page shows anew; nil: it does not change.
	refresh func() tea.Cmd
}

// scroll moves the page by n lines; view bounds it.
func (p *panel) scroll(n int) {
	p.top = max(p.top+n, 0)
	p.follow = false
}

func (p *panel) live() func() tea.Cmd { return p.refresh }

// close shows the overlay below, if any.
func (p *panel) close(m *app) { m.panel = p.under }

func (p *panel) key(m *app, k tea.Key) tea.Cmd {
	switch do := m.keys.find(k, inOverlay, everywhere); {
	case do == actClose && k.Code == tea.KeyEnter && p.accept != nil:
		return p.accept(m)
	case do == actClose, do == actBack:
		p.close(m)
		return nil
	default:
		return m.common(do)
	}
}

// view draws the page.
func (p *panel) view(t *theme, w, h int) (out []string, x, y int) {
	title, keys := []span{faint.span("── "), strong.span(p.title)}, []span{accent.span("Esc"), dim.span(" closes ")}
	if p.accept != nil {
		enter := []span{accent.span("Enter"), dim.span(" " + p.enter + " ")}
		keys = append(append(enter, dim.span(" ")), keys...)
		if spansWidth(title)+1+spansWidth(keys) > w {
			keys = enter
		}
	}
	head := t.justify(w, title, keys)
	lines := p.page(t, w-gutter-1)
	room := max(h-2, 0)
	if p.follow = p.tails && (p.follow || p.top >= len(lines)-room); p.follow {
		p.top = len(lines)
	}
	p.top = max(min(p.top, len(lines)-room), 0)
	out = []string{head, ""}
	shown := lines[p.top:min(p.top+room, len(lines))]
	out = append(out, indent(shown)...)
	if below := len(lines) - p.top - room; below > 0 && len(out) > 2 {
		out[len(out)-1] = t.paint(dim, "  ↓ more")
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out[:h], -1, -1
}

// columns draws pairs in two columns; the left one takes the width it needs.
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
			first: []span{accent.span(name + strings.Repeat(" ", left-width(name)+2))},
			rest:  []span{text.span(strings.Repeat(" ", left+2))},
		}.lines(text.span(p[1]))...)
	}
	return out
}
