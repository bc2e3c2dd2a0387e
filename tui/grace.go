package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// A question must not catch the keys of somebody who is typing when it appears. It
// opens unarmed: its keys do nothing until no key was pressed for a while and the
// message is empty, or until the person presses Ctrl+Y. With text in the message
// only Ctrl+Y arms it.

// grace is how long no key must be pressed before a question is armed.
const grace = 700 * time.Millisecond

// quietMsg ends the wait that began with stir number at.
type quietMsg struct{ at int }

// stir counts a key or a new question. While a question waits it restarts the wait.
func (m *app) stir() tea.Cmd {
	m.stirs++
	q := m.questions.Front()
	if q == nil || !q.Waits() || !m.composer.Empty() {
		return nil
	}
	at := m.stirs
	return m.after(m.offers.Grace, func(time.Time) tea.Msg { return quietMsg{at} })
}

// quiet arms the question if nothing happened since.
func (m *app) quiet(msg quietMsg) {
	q := m.questions.Front()
	full, _ := m.panel.(*questionPage)
	covered := m.panel != nil && (full == nil || full.Q != q)
	if q != nil && msg.at == m.stirs && q.Waits() && m.composer.Empty() && !covered && m.unread == nil {
		q.Arm()
	}
}
