package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/question"
)

// overlay covers the transcript and takes the keys.
type overlay interface {
	// View draws exactly h lines. The cursor is in line y of them; -1: no cursor.
	View(t *paint.Theme, w, h int) (lines []string, x, y int)
	key(m *app, k tea.Key) tea.Cmd
	Scroll(by int)
	// live returns what asks for its content again; nil: it does not change.
	live() func() tea.Cmd
}

// list is a picker over the transcript.
type list struct{ *picker.Picker }

func (l list) live() func() tea.Cmd { return l.Picker.Live }

func (l list) key(m *app, k tea.Key) tea.Cmd {
	do := m.keys.Find(k, keys.InPicker, keys.Everywhere)
	cmd, handled := l.Press(k, do, m.keys.Find(k, keys.InComposer))
	if handled {
		return cmd
	}
	return m.common(do)
}

// panel is a page to read: help, status, the whole of a question.
type panel struct {
	title string
	page  func(t *paint.Theme, w int) []string
	top   int
	// accept is what Enter does, and enter its description; nil: Enter closes the page.
	accept func(m *app) tea.Cmd
	enter  string
	// tails: the page grows, and follow keeps its end in view. under is the overlay
	// that is shown again afterwards.
	tails, follow bool
	under         overlay
	// refresh asks for what the page shows again; nil: it does not change.
	refresh func() tea.Cmd
}

// Scroll moves the page by n lines; view bounds it.
func (p *panel) Scroll(n int) {
	p.top = max(p.top+n, 0)
	p.follow = false
}

func (p *panel) live() func() tea.Cmd { return p.refresh }

func (p *panel) close(m *app) { m.panel = p.under }

func (p *panel) key(m *app, k tea.Key) tea.Cmd {
	switch do := m.keys.Find(k, keys.InOverlay, keys.Everywhere); {
	case do == keys.Close && k.Code == tea.KeyEnter && p.accept != nil:
		return p.accept(m)
	case do == keys.Close, do == keys.Back:
		p.close(m)
		return nil
	default:
		return m.common(do)
	}
}

// View draws the page.
func (p *panel) View(t *paint.Theme, w, h int) (out []string, x, y int) {
	title, keys := []paint.Span{paint.Faint.Span("── "), paint.Strong.Span(p.title)}, []paint.Span{paint.Accent.Span("Esc"), paint.Dim.Span(" closes ")}
	if p.accept != nil {
		enter := []paint.Span{paint.Accent.Span("Enter"), paint.Dim.Span(" " + p.enter + " ")}
		keys = append(append(enter, paint.Dim.Span(" ")), keys...)
		if paint.WidthOf(title)+1+paint.WidthOf(keys) > w {
			keys = enter
		}
	}
	head := t.Justify(w, title, keys)
	lines := p.page(t, w-paint.Gutter-1)
	room := max(h-2, 0)
	if p.follow = p.tails && (p.follow || p.top >= len(lines)-room); p.follow {
		p.top = len(lines)
	}
	p.top = max(min(p.top, len(lines)-room), 0)
	out = []string{head, ""}
	shown := lines[p.top:min(p.top+room, len(lines))]
	out = append(out, paint.Indent(shown)...)
	if below := len(lines) - p.top - room; below > 0 && len(out) > 2 {
		out[len(out)-1] = t.Paint(paint.Dim, "  ↓ more")
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out[:h], -1, -1
}

// columns draws pairs in two columns; the left one takes the width it needs.
func columns(t *paint.Theme, w int, pairs [][2]string) []string {
	left := 0
	for _, p := range pairs {
		left = max(left, paint.Width(p[0]))
	}
	left = min(left, w/2)
	var out []string
	for _, p := range pairs {
		name := paint.Cut(p[0], left)
		name += strings.Repeat(" ", left-paint.Width(name)+2)
		out = append(out, t.Hang(w, paint.Accent.Span(name), paint.Text.Span(p[1]))...)
	}
	return out
}

// questionPage is the full view of a question as an overlay.
type questionPage struct{ *question.Page }

func (p *questionPage) live() func() tea.Cmd { return nil }

func (p *questionPage) key(m *app, k tea.Key) tea.Cmd {
	switch do := m.keys.Find(k, keys.InOverlay, keys.Everywhere); do {
	case keys.Close, keys.Back, keys.Toggle:
		m.panel = nil
		return nil
	case keys.PageUp:
		p.Scroll(-p.Room)
		return nil
	case keys.PageDown:
		p.Next()
		return nil
	default:
		return m.common(do)
	}
}

// leaveStalePage closes the full view of a question that is no longer in front, or in which
// something is written: that is done below the transcript.
func (m *app) leaveStalePage() {
	if p, ok := m.panel.(*questionPage); ok && (m.docks.Front() != part.Dock(p.Q) || p.Q.Writes()) {
		m.panel = nil
	}
}
