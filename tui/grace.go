package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// A question must not catch the keys of somebody who is typing when it appears. It
// opens unarmed: its keys do nothing until no key was pressed for a while and the
// message is empty, or until the person presses Ctrl+Y. With text in the message
// only Ctrl+Y arms it.

// grace is how long no key must be pressed before a question is armed.
const grace = 700 * time.Millisecond

// answerHold is how long the answer to a question that a pause has armed waits: what is typed
// within it shows that the key began a word. Ctrl+Y arms for an answer at once.
const answerHold = 250 * time.Millisecond

// quietMsg ends the wait that began with stir number at.
type quietMsg struct{ at int }

// stir counts a key or a new question. While a question waits it restarts the wait.
func (m *app) stir() tea.Cmd {
	m.stirs++
	q := m.docks.Front()
	if q == nil || !q.Waits() || !m.composer.Empty() {
		return nil
	}
	at := m.stirs
	return m.after(m.offers.Grace, func(time.Time) tea.Msg { return quietMsg{at} })
}

// quiet arms the question if nothing happened since.
func quiet(m *app, msg quietMsg) {
	q := m.shown()
	if q != nil && msg.at == m.stirs && q.Waits() && m.composer.Empty() && !m.clipboard.Reading() {
		q.Arm(false)
	}
}

// answering is an answer that waits for what follows it.
type answering struct {
	hold   time.Duration // 0: none waits
	sure   part.Dock     // armed by Ctrl+Y
	key    *tea.Key      // the answer that waits, about the question
	about  part.Dock
	at     time.Time // when it was pressed
	number int
	// early: the answer that waits came before its question could be read. It answers nothing.
	// follows: the last key answered what was shown before.
	early, follows bool
}

// answerMsg ends the wait of answer number at.
type answerMsg struct{ at int }

// holdAnswer takes an answer to a question that a pause has armed; false: it is given at once.
func holdAnswer(m *app, q part.Dock, k tea.Key) (tea.Cmd, bool) {
	a := &m.answer
	if a.hold == 0 || a.sure == q || keys.Typed(k) == "" || m.keys.Find(k, keys.InQuestion) != keys.Option || !q.Has(k.Keystroke()) {
		return nil, false
	}
	a.key, a.about, a.early, a.at, a.number = &k, q, false, m.now(), a.number+1
	at := a.number
	return m.after(a.hold, func(time.Time) tea.Msg { return answerMsg{at} }), true
}

// holdEarly keeps an answer that follows another out of the message, where it would bar every answer after
// it: the person answers one question after the other. It must be repeated; with other text it is text.
func holdEarly(m *app, k tea.Key) bool {
	a, q := &m.answer, m.docks.Front()
	if !a.follows || m.panel != nil || q == nil || !q.Waits() || !m.composer.Empty() || keys.Typed(k) == "" || !q.Has(k.Keystroke()) {
		return false
	}
	a.key, a.about, a.early, a.at, a.number = &k, q, true, m.now(), a.number+1
	q.Hold(keys.Typed(k))
	return true
}

// dropHeld forgets the answer that waits.
func dropHeld(m *app) {
	m.answer.about.Hold("")
	m.answer.key, m.answer.early = nil, false
}

// settleAnswer takes the key that follows an answer that waits: more text, or any key as quick
// as those of a paste, makes it the beginning of a message; Esc, Backspace and Ctrl+C take it back.
func settleAnswer(m *app, k tea.Key) (cmd tea.Cmd, handled bool) {
	if m.answer.key == nil {
		return nil, holdEarly(m, k)
	}
	quick := m.burst.gap > 0 && m.now().Sub(m.answer.at) <= m.burst.gap
	switch again := m.answer.about == m.docks.Front() && m.answer.about.Has(k.Keystroke()); {
	case k.Code == tea.KeyEscape, k.Code == tea.KeyBackspace, m.keys.Find(k, keys.Everywhere) == keys.Interrupt:
		dropHeld(m)
		return nil, true
	case m.answer.early && !quick && (again || keys.Typed(k) == ""):
		dropHeld(m)
		return nil, holdEarly(m, k)
	case keys.Typed(k) != "", quick:
		typeHeld(m)
		return nil, false
	}
	cmd = giveAnswer(m, m.answer.number)
	return tea.Batch(cmd, m.key(k)), true
}

// giveAnswer gives the answer that waits; where its question is gone, it was typed.
func giveAnswer(m *app, at int) tea.Cmd {
	a := &m.answer
	if a.key == nil || at != a.number {
		return nil
	}
	q, k := m.shown(), *a.key
	if q == nil || q != a.about || !q.Armed() {
		typeHeld(m)
		return nil
	}
	dropHeld(m)
	intent, _ := q.Key(k)
	return m.do(intent)
}

// typeHeld puts the answer that waits into the message, where the rest of the word follows it.
func typeHeld(m *app) {
	k := *m.answer.key
	dropHeld(m)
	m.answer.follows = false
	if _, ok := m.panel.(*question.Page); ok {
		m.panel = nil
	}
	m.docks.Disarm()
	m.composer.Typed(keys.Typed(k))
	m.burst.last, m.burst.text = m.now(), true
}
