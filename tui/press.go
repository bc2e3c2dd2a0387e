package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/lists"
	"codeagent/tui/mention"
	"codeagent/tui/message"
	"codeagent/tui/paint"
	"codeagent/tui/question"
	"codeagent/tui/rewind"
	"codeagent/tui/slash"
)

// stillRead is why something is not sent yet: the pasted content belongs to it.
const stillRead = "still reading the clipboard; Esc cancels"

// key takes a key press. The part in front gets it first: a panel, a note, an armed
// question, the command menu, the message.
func (m *app) key(k tea.Key) tea.Cmd {
	if cmd, handled := settleAnswer(m, k); handled {
		return cmd
	}
	if cmd, handled := holdAgain(m, k); handled {
		return cmd
	}
	if k.Keystroke() != "ctrl+c" && k.Keystroke() != "ctrl+d" {
		m.hint.text, m.quitAt = "", time.Time{}
	}
	if k.Code != tea.KeyEscape {
		m.rewind.Moved()
	}
	switch d := m.shown(); {
	case d != nil && d.Writes():
		return writeDock(m, d, k)
	case d != nil && d.Armed():
		if cmd, handled := holdAnswer(m, d, k); handled {
			return cmd
		}
		if intent, handled := d.Key(k); handled {
			return m.do(intent)
		}
	}
	if m.panel != nil {
		if intent, handled := m.panel.Key(k); handled {
			return m.do(intent)
		}
		return m.common(m.keys.Find(k, keys.Everywhere))
	}
	if cmd, handled := joinBurst(m, k); handled {
		return cmd
	}
	if m.composer.Empty() {
		if intent, handled := m.transcript.Key(k, m.keys, m.canvas()); handled {
			return m.do(intent)
		}
		if typed := []rune(keys.Typed(k)); len(typed) == 1 && m.keys.Find(tea.Key{Code: typed[0]}, keys.InComposer) == keys.Help {
			help, _, _ := m.callable().Called("/help")
			return m.do(help.Run(""))
		}
	}
	return m.write(k)
}

// write takes a key that is for the message.
func (m *app) write(k tea.Key) tea.Cmd {
	m.answer.follows = false
	word, ok := m.mentioned()
	if intent, handled := m.menu.files.Key(m.keys.Find(k, keys.InSlashMenu, keys.Everywhere), word, ok); handled {
		return tea.Batch(m.do(intent), lookUp(m))
	}
	cmd := enterKey(m, k)
	return tea.Batch(cmd, lookUp(m), m.do(m.templates.Follow(m.composer.Text)))
}

func enterKey(m *app, k tea.Key) tea.Cmd {
	if intent, handled := m.menu.commands.Key(k, m.keys, m.composer.Text, m.callable); handled {
		return m.do(intent)
	}
	if keys.Typed(k) != "" {
		m.docks.Disarm()
	}
	return m.do(m.composer.Key(k, m.keys, m.composerWidth()))
}

// edge takes Up or Down at the edge of the message: it steps through what is edited again, takes back
// what waits, or recalls a message.
func (m *app) edge(e composer.Edge) {
	switch {
	case e.By < 0 && !e.Own && takeBackWaiting(m):
	default:
		m.composer.History(e.By)
	}
}

// common does the actions that apply keys.Everywhere, and those of a panel's keys.
func (m *app) common(do keys.Action) tea.Cmd {
	switch do {
	case keys.Send:
		return m.send()
	case keys.Queue:
		return m.queue()
	case keys.Clipboard:
		return m.do(m.clipboard.Read(nil))
	case keys.Earlier:
		return showEarlier(m)
	case keys.Editor:
		return openEditor(m)
	case keys.Interrupt:
		return m.ctrlC()
	case keys.Back:
		return m.back()
	case keys.Arm:
		q := m.docks.Front()
		if d := m.shown(); d != nil {
			d.Arm(true)
			m.answer.sure = d
		} else if q == nil && m.panel == nil {
			m.composer.Edit(keys.Yank, m.composerWidth())
		}
	case keys.Read:
		readTranscript(m)
	case keys.Find:
		return findText(m, "")
	case keys.Mode:
		return m.do(m.modes.Next())
	case keys.SendBack:
		return m.do(lists.SendBack(m.offers.Background))
	case keys.Redraw:
		return func() tea.Msg { return redrawMsg{} }
	case keys.Suspend:
		return m.suspend()
	default:
		return m.move(do)
	}
	return nil
}

// move does the actions of what is above the message: the whole view of the question that asks for it, an
// overlay, or the transcript.
func (m *app) move(do keys.Action) tea.Cmd {
	q, ok := m.docks.Front().(*question.Question)
	switch {
	case m.panel != nil:
		if by := m.transcript.Lines(do); by != 0 {
			m.panel.Scroll(by)
		}
	case ok && (do == keys.Toggle || do == keys.PageDown && q.Unread()):
		full := question.NewPage(q, m.facts.Home, m.now)
		if m.panel = full; do == keys.PageDown {
			full.Next()
		}
	case do == keys.Toggle:
		if !m.transcript.Toggle(m.canvas()) {
			return m.say("nothing in view opens; " + m.keys.Name(keys.Everywhere, keys.Above) + " chooses a block above")
		}
	default:
		m.transcript.Act(do, m.canvas())
	}
	return nil
}

// back is Esc: it closes what is in front, or else interrupts the turn. With neither,
// twice goes back to the last message.
func (m *app) back() tea.Cmd {
	q := m.docks.Front()
	switch {
	case m.panel != nil:
		return m.showPanel(nil)
	case m.modes.Asks(q):
		return m.do(m.modes.Forget())
	case q != nil && q.Armed():
		q.Bar()
	case m.panel == nil && m.composer.Escape():
	case m.clipboard.Reading():
		m.clipboard.Leave()
	case m.transcript.Chosen():
		m.transcript.Unchoose()
	case m.work.running && m.now().Sub(m.left) < m.offers.Grace: // it was meant for the panel too
	case m.work.running:
		m.interrupt()
	case q != nil || !m.composer.Empty() || m.offers.Rewind == nil:
	case m.rewind.Back(m.now()):
		return m.do(rewind.Show(m.rewinds(), m.offers.Rewind))
	default:
		return m.say("Esc again goes back to an earlier message")
	}
	return nil
}

// ctrlC clears the message. If that is empty it interrupts, and twice quits.
func (m *app) ctrlC() tea.Cmd {
	if m.alone != nil {
		return tea.Quit
	}
	m.clipboard.Leave()
	if m.panel == nil && !m.composer.Empty() {
		m.composer.Clear()
		return nil
	}
	cmd := m.quit("Ctrl+C")
	if m.work.running {
		m.interrupt()
	}
	return cmd
}

// quit asks for a second press where the first one would be too easy: by Ctrl+C always,
// by another key while something runs. The hint says what ends with codeagent.
func (m *app) quit(key string) tea.Cmd {
	now, window := m.now(), leaveWindow
	if key == "Ctrl+C" {
		window = quitWindow
	}
	jobs := m.facts.Running
	if !m.quitAt.IsZero() && now.Sub(m.quitAt) < window || key != "Ctrl+C" && !m.work.running && jobs == 0 {
		return tea.Quit
	}
	m.quitAt = now
	var ends, narrow []string
	if m.work.running && key != "Ctrl+C" { // which interrupts it
		ends, narrow = append(ends, "the turn"), append(narrow, "turn")
	}
	if jobs > 0 {
		ends, narrow = append(ends, short.Count(jobs, "job")), append(narrow, short.Count(jobs, "job"))
	}
	hint := key + " again quits"
	if len(ends) > 0 {
		hint += " and ends " + strings.Join(ends, " and ")
		if paint.Width(hint)+paint.Gutter > m.width { // what ends is never cut off
			hint = key + " quits, ends " + strings.Join(narrow, ", ")
		}
	}
	return m.sayFor(hint, window)
}

// queue keeps the message for after the turn.
func (m *app) queue() tea.Cmd {
	if !m.work.running || m.clipboard.Reading() || strings.TrimSpace(m.composer.Value()) == "" || tooLong(m) {
		return nil
	}
	said, keep := take(m)
	m.work.queued = append(m.work.queued, said)
	return keep
}

func (m *app) send() tea.Cmd {
	if strings.TrimSpace(m.composer.Value()) == "" {
		return nil
	}
	if tooLong(m) {
		return nil
	}
	said := m.composer.Message()
	run, stays := deedOf(m, said)
	switch {
	case stays:
		return run()
	case run == nil && m.clipboard.Reading():
		return m.say(stillRead)
	}
	_, keep := take(m)
	if run == nil {
		return tea.Batch(keep, m.submit(said))
	}
	return tea.Batch(keep, run())
}

// tooLong reports whether the message cannot be in a request, and says so. What the model reads must be known,
// and the message far beyond it: its tokens are estimated, at four bytes each.
func tooLong(m *app) bool {
	_, window, assumed := m.facts.Context()
	tokens := int64(len(m.composer.Message().Text)) / 4
	if window == 0 || assumed || tokens < window*3/2 {
		return false
	}
	m.transcript.Note(word.LevelError, fmt.Sprintf("not sent: the message has about %s tokens, and the model reads %s. Shorten it, or save it as a file and name that.",
		paint.Count(int(tokens)), paint.Count(int(window))))
	m.transcript.End()
	return true
}

// deedOf returns what a message has codeagent do; nil: it is for the model. stays: the message remains
// where it is.
func deedOf(m *app, said message.Message) (run func() tea.Cmd, stays bool) {
	text := strings.TrimSpace(said.Text)
	if m.asksAgain(text) { // where messages are lines
		return m.again, false
	}
	if len(said.Pastes) > 0 && strings.HasPrefix(text, strings.TrimSpace(said.Pastes[0])) {
		return nil, false // what a chip hides is no command
	}
	if c, argument, ok := m.callable().Called(text); ok && c.Waits && m.work.running {
		return m.queue, true // which takes the message itself
	} else if ok {
		// Whether /quit is kept for later runs would depend on who is quicker.
		return func() tea.Cmd { return m.do(c.Run(argument)) }, c.Name == "quit"
	}
	if command, ok := strings.CutPrefix(text, "!"); ok && m.offers.Writing.Run != nil {
		command, tries := strings.CutPrefix(command, "!")
		tries = tries && m.offers.Writing.Drafts != nil
		if command = strings.TrimSpace(command); command != "" && m.work.running {
			return m.queue, true
		}
		if tries {
			return func() tea.Cmd { return tryCommand(m, command) }, false
		}
		return func() tea.Cmd { return runCommand(m, command) }, command == ""
	}
	if prompt := m.templates.Called(text); prompt != nil {
		return func() tea.Cmd { return m.do(prompt) }, false
	}
	if unknown := m.callable().Unknown(text); unknown != "" {
		return func() tea.Cmd { return m.say(unknown) }, true
	}
	return nil, false
}

// menu is the list of choices above the message: commands, or files.
type menu struct {
	commands slash.Menu
	files    mention.Menu
}

// menuRows is how many choices are shown at most; the others scroll.
const menuRows = 10
