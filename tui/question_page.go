package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/question"
)

// questionPage is the full view of a question as an overlay.
type questionPage struct{ *question.Page }

func (p *questionPage) live() func() tea.Cmd { return nil }

func (p *questionPage) key(m *app, k tea.Key) tea.Cmd {
	if p.Q.Armed() {
		if handled, cmd := m.questionKey(p.Q, k); handled {
			if p.Q.Field != nil || m.questions.Front() != p.Q {
				m.panel = nil // the note is written below the transcript
			}
			return cmd
		}
	}
	switch do := m.keys.find(k, inOverlay, everywhere); do {
	case actClose, keys.Back, actToggle:
		m.panel = nil
		return nil
	case actArm:
		p.Q.Arm()
		return nil
	case keys.PageUp:
		p.Scroll(-p.Room)
		return nil
	case keys.PageDown:
		p.Scroll(p.Room)
		return nil
	default:
		return m.common(do)
	}
}

// leaveStalePage closes the full view of a question that is no longer in front.
func (m *app) leaveStalePage() {
	if p, ok := m.panel.(*questionPage); ok && p.Q != m.questions.Front() {
		m.panel = nil
	}
}
