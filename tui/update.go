package tui

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
)

// There is no IO in this file: messages come in, state changes, and what must
// be done outside leaves as a command.

// tick is how often the spinner and the clock of running work move. Nothing
// ticks when nothing runs.
const tick = 160 * time.Millisecond

// quitWindow is how soon a second Ctrl+C quits.
const quitWindow = 2 * time.Second

type (
	tickMsg struct{}
	// turnDoneMsg ends a turn, or what ran like one; err is what it returned, next
	// what is done about its result, if anything.
	turnDoneMsg struct {
		err  error
		next then
	}
	// then is what is done on the screen about work done outside of it.
	then func(*app) tea.Cmd
	// hintOverMsg takes hint number at away.
	hintOverMsg struct{ at int }
	// submitMsg sends a message as if it had been typed.
	submitMsg struct{ said Message }
)

// Update takes one message.
func (m *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(calmMsg); ok {
		return m, m.calm() // what is shown stays as it is
	}
	m.fresh = false
	shown := m.panel != nil
	cmd := m.handle(msg)
	if m.alone != nil && shown && m.panel == nil {
		cmd = tea.Quit
	}
	return m, tea.Batch(cmd, m.stirred())
}

func (m *app) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		if dark := msg.IsDark(); dark != m.theme.dark {
			m.theme = newTheme(dark)
		}
	case tea.KeyPressMsg:
		m.selection = selection{}
		cmd := m.key(tea.Key(msg))
		return tea.Batch(cmd, m.stir())
	case tea.PasteMsg:
		cmd := m.paste(msg.Content)
		return tea.Batch(cmd, m.stir())
	case tea.MouseWheelMsg:
		m.selection = selection{}
		m.wheel(msg)
	case tea.MouseClickMsg:
		m.selection = selection{}
		if msg.Button == tea.MouseLeft {
			m.selection.start(msg.X, msg.Y)
		}
	case tea.MouseMotionMsg:
		m.selection.extend(msg.X, msg.Y)
	case tea.MouseReleaseMsg:
		return m.copySelection()
	case inboxMsg:
		cmd := m.drain()
		return tea.Batch(cmd, m.box.wait(frame))
	case quietMsg:
		m.quiet(msg)
	case tickMsg:
		m.ticking = false
		m.frame++
		return tea.Batch(m.look(), m.startTicking())
	case hintOverMsg:
		if msg.at == m.hints {
			m.hint = ""
		}
	case submitMsg:
		cmd := m.drain() // what opens the session stands above its first message
		return tea.Batch(cmd, m.submit(msg.said))
	case turnDoneMsg:
		cmd := m.drain()
		return tea.Batch(cmd, m.turnDone(msg))
	case then:
		if msg != nil {
			return msg(m)
		}
	}
	return nil
}

// say shows a hint above the message for a while.
func (m *app) say(hint string) tea.Cmd {
	m.hint = hint
	m.hints++
	at := m.hints
	return m.after(quitWindow, func(time.Time) tea.Msg { return hintOverMsg{at} })
}

// startTicking keeps one tick under way while something runs.
func (m *app) startTicking() tea.Cmd {
	if m.still || m.ticking || !m.working && !m.watching() {
		return nil
	}
	m.ticking = true
	return m.after(tick, func(time.Time) tea.Msg { return tickMsg{} })
}

// drain applies everything the mailbox holds.
func (m *app) drain() tea.Cmd {
	var cmd tea.Cmd
	for _, item := range m.box.take() {
		switch item := item.(type) {
		case event.Event:
			m.apply(item)
			if _, ok := item.(event.BackgroundChanged); ok {
				cmd = tea.Batch(cmd, m.lookForEnds())
				if m.liveOverlay() != nil {
					cmd = tea.Batch(cmd, m.liveOverlay()(m), m.startTicking())
				}
			}
		case *ask:
			first := m.questions.front() == nil
			m.questions.add(item, m.now())
			if first {
				cmd = tea.Batch(cmd, m.stir())
			}
		case withdrawn:
			was := m.questions.front()
			m.questions.withdraw(item.ask)
			m.leaveStalePage()
			if m.questions.front() != was {
				cmd = tea.Batch(cmd, m.stir())
			}
		}
	}
	return cmd
}

// submit sends a message: it starts a turn or steers the one that runs.
func (m *app) submit(s Message) tea.Cmd {
	m.transcript.end()
	if m.working {
		m.box.steer(s)
		return nil
	}
	return m.startTurn(s)
}

func (m *app) startTurn(s Message) tea.Cmd {
	m.echo = m.transcript.add(&said{text: s.Text}, false)
	m.transcript.end()
	return m.begin("", m.turn(s))
}

// begin shows that work goes on, a turn or the like.
func (m *app) begin(doing string, work tea.Cmd) tea.Cmd {
	m.working, m.doing, m.since, m.outcome = true, doing, m.now(), ""
	return tea.Batch(work, m.startTicking())
}

// turnDone closes what the turn left open and goes on with what waits. After an
// interrupted or failed turn what waits goes back to the editor: the person
// decides.
func (m *app) turnDone(msg turnDoneMsg) tea.Cmd {
	m.working = false
	for id, e := range m.tools {
		if t := e.body.(*tool); t.done == nil {
			t.finish(event.ToolFinished{CallID: id, Outcome: "interrupted"})
			e.moving = false
			e.changed()
		}
	}
	clear(m.tools)
	m.settle()
	if m.outcome == "" {
		m.outcome = "done"
		switch {
		case errors.Is(msg.err, ErrInterrupted):
			m.outcome = "interrupted"
			m.note("info", "Interrupted.")
		case msg.err != nil:
			m.outcome = "failed"
			m.note("error", msg.err.Error())
		}
	}
	var cmd tea.Cmd
	if msg.next != nil {
		cmd = msg.next(m)
	}
	return tea.Batch(cmd, m.goOn(), m.lookForEnds())
}

// goOn sends what waited for the end of the turn, or gives it back.
func (m *app) goOn() tea.Cmd {
	waiting := m.box.unsteer()
	if m.outcome == "done" {
		if len(waiting) > 0 {
			return m.startTurn(together(waiting))
		}
		if len(m.queued) > 0 {
			next := m.queued[0]
			m.queued = m.queued[1:]
			return m.startTurn(next)
		}
		return nil
	}
	waiting = append(waiting, m.queued...)
	m.queued = nil
	if len(waiting) > 0 {
		if !m.composer.empty() {
			waiting = append(waiting, m.composer.message())
		}
		m.composer.restore(together(waiting))
	}
	return nil
}

// paste goes to the note when one is written, else to the message.
func (m *app) paste(s string) tea.Cmd {
	q := m.questions.front()
	switch {
	case m.panel != nil:
		if p, ok := m.panel.(*picker); ok {
			p.paste(s)
		}
	case q != nil && q.field != nil:
		return m.pasteInto(q.field, s)
	default:
		return m.pasteInto(&m.composer, s)
	}
	return nil
}

func (m *app) wheel(msg tea.MouseWheelMsg) {
	by := 3
	switch msg.Button {
	case tea.MouseWheelUp:
		by = -3
	case tea.MouseWheelDown:
	default:
		return
	}
	m.scroll(by)
}

func (m *app) scroll(by int) {
	if m.panel != nil {
		m.panel.scroll(by)
		return
	}
	m.transcript.scroll(m.canvas(), by)
}

func (m *app) quit() tea.Cmd { return tea.Quit }
