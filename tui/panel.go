package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/part"
	"codeagent/tui/question"
)

// open shows an overlay.
func open(m *app, o part.Overlay) tea.Cmd {
	m.panel = o
	return tea.Batch(m.do(o.Load()), m.startTicking())
}

// leaveStalePage closes the full view of a question that is no longer in front, or in which
// something is written: that is done below the transcript.
func (m *app) leaveStalePage() {
	if p, ok := m.panel.(*question.Page); ok && (m.docks.Front() != part.Dock(p.Q) || p.Q.Writes()) {
		m.panel = nil
	}
}
