package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// open shows an overlay.
func open(m *app, o part.Overlay) tea.Cmd {
	m.panel = o
	return tea.Batch(m.do(o.Load()), m.startTicking())
}

// read shows a page that needs no reading.
func read(m *app, title string, draw func(t *paint.Theme, w int) []string) tea.Cmd {
	return open(m, &page.Page{Title: title, Keys: m.keys, Draw: draw})
}

// leaveStalePage closes the full view of a question that is no longer in front, or in which
// something is written: that is done below the transcript.
func (m *app) leaveStalePage() {
	if p, ok := m.panel.(*question.Page); ok && (m.docks.Front() != part.Dock(p.Q) || p.Q.Writes()) {
		m.panel = nil
	}
}
