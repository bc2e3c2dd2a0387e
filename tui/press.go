package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/approvals"
)

// key takes a key press. The part that is in front sees it first: a panel, a
// note, an armed question, the command menu, the message.
func (m *app) key(k tea.Key) tea.Cmd {
	if m.hint != "" && k.Keystroke() != "ctrl+c" {
		m.hint = ""
	}
	if k.Code != tea.KeyEscape {
		m.escAt = time.Time{}
	}
	q := m.questions.front()
	switch {
	case m.panel != nil:
		return m.panel.key(m, k)
	case q != nil && q.field != nil:
		return m.noteKey(q, k)
	case q != nil && q.armed:
		if handled, cmd := m.questionKey(q, k); handled {
			return cmd
		}
	}
	if len(m.matching()) > 0 {
		if handled, cmd := m.menuKey(m.keys.find(k, inSlashMenu)); handled {
			return cmd
		}
	}
	if s := typed(k); s != "" {
		if q != nil {
			q.armed = false
		}
		m.composer.typed(s)
		m.menu.at = 0
		return nil
	}
	do := m.keys.find(k, inComposer, everywhere)
	if handled, cmd := m.edit(&m.composer, do, m.composerWidth()); handled {
		return cmd
	}
	return m.common(do)
}

// common does what holds everywhere, and what a panel's own keys name.
func (m *app) common(do action) tea.Cmd {
	switch do {
	case actInterrupt:
		return m.ctrlC()
	case actBack:
		return m.back()
	case actClose:
		m.panel = nil
	case actArm:
		if q := m.questions.front(); q != nil && m.panel == nil {
			q.arm()
		}
	case actToggle:
		m.toggle()
	case actPageUp:
		m.scroll(-max(m.transcript.height-2, 1))
	case actPageDown:
		m.scroll(max(m.transcript.height-2, 1))
	case actLineUp:
		m.scroll(-1)
	case actLineDown:
		m.scroll(1)
	case actTop:
		if m.panel != nil {
			m.panel.scroll(-everything)
		} else {
			m.transcript.home(m.canvas())
		}
	case actEnd:
		if m.panel != nil {
			m.panel.scroll(everything)
		} else {
			m.transcript.end()
		}
	case actRedraw:
		return tea.ClearScreen
	case actSuspend:
		return m.suspend()
	}
	return nil
}

// escWindow is how soon a second Esc goes back to an earlier message.
const escWindow = 500 * time.Millisecond

// back is Esc: it closes what is in front, and only then the turn. Twice where
// there is nothing of that, it goes back to the last message.
func (m *app) back() tea.Cmd {
	q := m.questions.front()
	since := m.escAt
	m.escAt = time.Time{}
	switch {
	case m.panel != nil:
		m.panel = nil
	case q != nil && q.armed:
		q.armed, q.barred, q.problem = false, true, ""
	case m.unread != nil:
		m.leaveClipboard()
	case m.working:
		m.interrupt()
	case q != nil || !m.composer.empty() || m.offers.Back == nil:
	case m.now().Sub(since) <= escWindow:
		// As a turn: further Escs find it working, and no turn starts meanwhile.
		take, shown := m.offers.Back, len(m.transcript.entries)
		return m.begin("Going back", m.run(func(context.Context) (then, error) {
			last, ok := take()
			return func(m *app) tea.Cmd { return m.tookBack(last, ok, shown) }, nil
		}))
	default:
		m.escAt = m.now()
		return m.say("Esc again goes back to your message")
	}
	return nil
}

// tookBack shows the conversation without its last message, which can be edited.
// What was told while it was taken back, behind the shown entries, stays. One that
// is not on the screen was said before all that is: a session was gone on with.
func (m *app) tookBack(last Message, ok bool, shown int) tea.Cmd {
	if !ok {
		return m.say("there is no message to go back to")
	}
	from := 0
	for i, e := range slices.Backward(m.transcript.entries[:shown]) {
		if _, ok := e.body.(*said); ok {
			from = i
			break
		}
	}
	at := from
	m.transcript.drop(from, func(*entry) bool { at++; return at <= shown })
	m.transcript.end()
	if m.composer.empty() { // else something was typed meanwhile
		m.composer.restore(m.numbered(last))
	}
	return nil
}

// ctrlC clears the message; without one it interrupts, and twice it quits.
func (m *app) ctrlC() tea.Cmd {
	now := m.now()
	if m.alone != nil {
		return m.quit()
	}
	m.leaveClipboard()
	if m.panel == nil && !m.composer.empty() {
		m.composer.clear()
		return nil
	}
	if !m.quitAt.IsZero() && now.Sub(m.quitAt) < quitWindow {
		return m.quit()
	}
	m.quitAt = now
	if m.working {
		m.interrupt()
	}
	hint := "Ctrl+C again quits"
	switch n := m.facts.running; {
	case n == 1:
		hint += ", which ends the command in the background"
	case n > 1:
		hint += fmt.Sprintf(", which ends %d commands in the background", n)
	}
	return m.say(hint)
}

// toggle shows all of a question, or of the last output in view.
func (m *app) toggle() {
	if q := m.questions.front(); q != nil && m.panel == nil {
		m.panel = &questionPage{q: q, home: m.home, now: m.now}
		return
	}
	if m.panel == nil {
		m.transcript.toggle()
	}
}

// questionKey takes a key of an armed question; what is not one of its keys
// goes to the message.
func (m *app) questionKey(q *question, k tea.Key) (handled bool, cmd tea.Cmd) {
	switch m.keys.find(k, inQuestion) {
	case actOption:
		key := k.Keystroke()
		if !q.has(key) {
			return false, nil
		}
		if ans, ok := q.choose(key); ok {
			m.answered(ans)
		}
		return true, nil
	case actNote:
		q.open("")
		return true, nil
	}
	return false, nil
}

// answered closes the front question and notes what was picked.
func (m *app) answered(ans approvals.Answer) {
	for _, waiting := range m.questions.front().asks {
		for _, a := range m.asked {
			if a.request.ID == waiting.request.ID && a.answer == nil {
				a.chosen = ans.Decision
			}
		}
	}
	m.questions.answer(ans)
}

// noteKey takes a key while a note is written.
func (m *app) noteKey(q *question, k tea.Key) tea.Cmd {
	do := m.keys.find(k, inNote, everywhere)
	switch do {
	case actSend:
		if m.unread != nil {
			return m.say(stillRead)
		}
		if ans, ok := q.send(); ok {
			m.answered(ans)
		}
		return nil
	case actBack, actInterrupt:
		if m.unread != nil {
			m.leaveClipboard()
			return nil
		}
		q.field = nil
		return nil
	case actArm, actToggle:
		return nil
	}
	if s := typed(k); s != "" {
		q.field.typed(s)
		return nil
	}
	if do == actNone {
		do = m.keys.find(k, inComposer)
	}
	switch do {
	case actNewline, actQueue, actUp, actDown:
		return nil
	}
	if handled, cmd := m.edit(q.field, do, 1<<20); handled {
		return cmd
	}
	return m.common(do)
}

// menuKey takes a key while commands are listed.
func (m *app) menuKey(do action) (handled bool, cmd tea.Cmd) {
	choices := m.matching()
	m.menu.at = max(min(m.menu.at, len(choices)-1), 0)
	chosen := choices[m.menu.at]
	switch do {
	case actUp:
		m.menu.at = (m.menu.at + len(choices) - 1) % len(choices)
	case actDown:
		m.menu.at = (m.menu.at + 1) % len(choices)
	case actQueue:
		m.composer.set(chosen.typed())
	case actSend:
		m.composer.set("")
		m.menu.at = 0
		return true, chosen.run(m, "")
	default:
		return false, nil
	}
	return true, nil
}

// edit changes a text; false when the action is none of the editor's.
func (m *app) edit(c *composer, do action, w int) (handled bool, cmd tea.Cmd) {
	switch do {
	case actSend:
		return true, m.send()
	case actQueue:
		m.queue()
	case actNewline:
		c.typed("\n")
	case actUp, actDown:
		m.upDown(c, do, w)
	case actLeft:
		c.move(c.previous())
	case actRight:
		c.move(c.next())
	case actWordLeft:
		c.move(c.wordLeft())
	case actWordRight:
		c.move(c.wordRight())
	case actHome:
		if c.empty() {
			return true, m.common(actTop)
		}
		c.move(c.lineStart())
	case actLineEnd:
		if c.empty() {
			return true, m.common(actEnd)
		}
		c.move(c.lineEnd())
	case actBackspace:
		c.remove(c.previous(), c.cursor)
	case actDelete:
		if c.empty() {
			return true, m.quit()
		}
		c.remove(c.cursor, c.next())
	case actCutWord:
		c.remove(c.wordLeft(), c.cursor)
	case actCutNext:
		c.remove(c.cursor, c.wordRight())
	case actCutLeft:
		c.remove(c.lineStart(), c.cursor)
	case actCutRight:
		c.remove(c.cursor, c.lineEnd())
	case actUndo:
		c.undoLast()
	case actClipboard:
		return true, m.readClipboard(c)
	default:
		return false, nil
	}
	return true, nil
}

// upDown moves by a row; at the edge it recalls messages.
func (m *app) upDown(c *composer, do action, w int) {
	by, older := -1, 1
	if do == actDown {
		by, older = 1, -1
	}
	if c.vertical(w, by) {
		return
	}
	if s, ok := c.history.recall(older, c.message()); ok {
		h := c.history
		c.restore(s)
		c.history = h
	}
}

// send is Enter.
func (m *app) send() tea.Cmd {
	text := strings.TrimSpace(m.composer.value())
	if text == "" {
		return nil
	}
	if c, argument, ok := m.called(text); ok {
		m.composer.take()
		return c.run(m, argument)
	}
	if name, ok := slashName(text); ok {
		return m.say("no command /" + name + "; /help lists them")
	}
	if m.unread != nil {
		return m.say(stillRead)
	}
	return m.submit(m.composer.take())
}

// queue is Tab: the message goes out after the turn.
func (m *app) queue() {
	if !m.working || m.unread != nil || strings.TrimSpace(m.composer.value()) == "" {
		return
	}
	m.queued = append(m.queued, m.composer.take())
}
