package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// A question nobody asked for must not catch the keys of someone who is
// typing. It opens unarmed: its keys do nothing until the fingers have rested
// for a while over an empty message, or until the person says so. With text in
// the message only the person can say so.

// grace is how long the fingers must rest where nobody says otherwise.
const grace = 700 * time.Millisecond

// quietMsg says that the time is over that began with stir number at.
type quietMsg struct{ at int }

// stir notes that something moved: a key, or a new question. While a question
// waits it starts the clock anew.
func (m *app) stir() tea.Cmd {
	m.stirs++
	q := m.questions.front()
	if q == nil || q.armed || q.barred || !m.composer.empty() {
		return nil
	}
	at := m.stirs
	return m.after(m.grace, func(time.Time) tea.Msg { return quietMsg{at} })
}

// quiet arms the question if nothing moved since.
func (m *app) quiet(msg quietMsg) {
	q := m.questions.front()
	if q == nil || msg.at != m.stirs || q.barred || !m.composer.empty() || m.covered(q) || m.unread != nil {
		return
	}
	q.armed = true
}

// covered reports whether a panel stands over a question, its own full view aside.
func (m *app) covered(q *question) bool {
	p, ok := m.panel.(*questionPage)
	return m.panel != nil && (!ok || p.q != q)
}
