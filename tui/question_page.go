package tui

import (
	tea "charm.land/bubbletea/v2"
)

// questionPage is the full view of a question as an overlay.
type questionPage struct{ *page }

func (p *questionPage) live() func() tea.Cmd { return nil }

func (p *questionPage) key(m *app, k tea.Key) tea.Cmd {
	if p.q.armed {
		if handled, cmd := m.questionKey(p.q, k); handled {
			if p.q.field != nil || m.questions.front() != p.q {
				m.panel = nil // the note is written below the transcript
			}
			return cmd
		}
	}
	switch do := m.keys.find(k, inOverlay, everywhere); do {
	case actClose, actBack, actToggle:
		m.panel = nil
		return nil
	case actArm:
		p.q.arm()
		return nil
	case actPageUp:
		p.scroll(-p.room)
		return nil
	case actPageDown:
		p.scroll(p.room)
		return nil
	default:
		return m.common(do)
	}
}

// leaveStalePage closes the full view of a question that is no longer in front.
func (m *app) leaveStalePage() {
	if p, ok := m.panel.(*questionPage); ok && p.q != m.questions.front() {
		m.panel = nil
	}
}
