package tui

import (
	"context"
	"path"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/tui/attention"
	"codeagent/tui/message"
	"codeagent/tui/part"
	"codeagent/tui/reader"
)

// There is no IO in this file: messages come in, state changes, and what must be
// done outside is returned as a command.

// tick is how often the spinner and the time of running work change. Nothing ticks
// when nothing runs.
const tick = 160 * time.Millisecond

// quitWindow is how soon a second Ctrl+C quits, leaveWindow how soon a second Ctrl+D does.
const (
	quitWindow  = 2 * time.Second
	leaveWindow = 5 * time.Second
)

type (
	tickMsg struct{}
	// turnDoneMsg ends a turn, or work that ran like one. err is its error, next what
	// is done on the screen afterwards; nil: nothing.
	turnDoneMsg struct {
		err  error
		next then
	}
	// then is what is done on the screen after work outside of it.
	then func(*app) tea.Cmd
	// hintOverMsg removes hint number at.
	hintOverMsg struct{ at int }
	// submitMsg sends a message as if it had been typed.
	submitMsg struct{ said message.Message }
)

// Update takes one message.
func (m *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	// While an answer streams, its frames move the spinner: a tick draws none of its own.
	_, ticks := msg.(tickMsg)
	m.fresh = m.fresh && ticks && m.now().Sub(m.drained) < frame
	shown, asked := m.panel != nil, m.docks.Front() != nil
	cmd := m.handle(msg)
	if asked && m.docks.Front() == nil {
		cmd = tea.Batch(cmd, m.startTicking())
	}
	if m.alone != nil && shown && m.panel == nil {
		cmd = tea.Quit
	}
	if p, ok := m.panel.(*reader.Pager); ok {
		cmd = tea.Batch(cmd, m.do(p.Load()))
	}
	return m, tea.Batch(cmd, call(m))
}

// call calls the person who looks elsewhere, if something waits.
func call(m *app) tea.Cmd {
	s := attention.State{Working: m.work.running}
	if folder := m.facts.Session.Folder; folder != "" {
		s.Folder = path.Base(folder)
	}
	if q := m.docks.Front(); q != nil {
		s.Asks = q
	}
	if sequence := m.calls.Look(s, m.now()); sequence != "" {
		return tea.Raw(sequence)
	}
	return nil
}

func (m *app) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		if dark := msg.IsDark(); dark != m.theme.Dark {
			m.theme = m.offers.Look.on(dark)
		}
	case tea.FocusMsg:
		m.calls.Focused(true)
	case tea.BlurMsg:
		m.calls.Focused(false)
	case tea.KeyPressMsg:
		m.calls.Active(m.now())
		m.selection = selection{}
		cmd := m.key(tea.Key(msg))
		return tea.Batch(cmd, m.stir())
	case tea.PasteMsg:
		cmd := m.paste(msg.Content)
		return tea.Batch(cmd, m.stir())
	case tea.MouseWheelMsg:
		m.selection = selection{}
		switch msg.Button {
		case tea.MouseWheelUp:
			m.scroll(-3)
		case tea.MouseWheelDown:
			m.scroll(3)
		}
	case tea.MouseClickMsg:
		m.selection = selection{}
		if msg.Button == tea.MouseLeft {
			m.selection.start(msg.X, msg.Y)
		}
	case tea.MouseMotionMsg:
		m.selection.extend(msg.X, msg.Y)
	case tea.MouseReleaseMsg:
		if m.selection.clicked() && m.panel == nil {
			m.transcript.ToggleAt(m.canvas(), msg.Y)
		}
		if text := m.selection.finish(m.rows); text != "" {
			return m.do(m.clipboard.Copy(text))
		}
	case inboxMsg:
		cmd := m.drain()
		return tea.Batch(cmd, m.box.wait(frame))
	case answerMsg:
		cmd := giveAnswer(m, msg.at)
		return tea.Batch(cmd, m.stir())
	case againMsg:
		if m.recalled.held != "" && msg.at == m.recalled.number {
			return m.again()
		}
	case heldMsg:
		cmd := endBurst(m, msg.at)
		return tea.Batch(cmd, m.stir())
	case quietMsg:
		quiet(m, msg)
	case tickMsg:
		m.ticking = false
		m.frame++
		if m.live() && m.facts.Running > 0 && m.frame%lookEvery == 0 {
			return tea.Batch(m.do(m.panel.Load()), m.startTicking())
		}
		return m.startTicking()
	case hintOverMsg:
		if msg.at == m.hint.number {
			m.hint.text = ""
		}
	case submitMsg:
		cmd := m.drain() // the session's start is shown above its first message
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

// hintTime is how long a hint is shown, unless another one follows.
const hintTime = 6 * time.Second

func (m *app) say(hint string) tea.Cmd { return m.sayFor(hint, hintTime) }

func (m *app) sayFor(hint string, shown time.Duration) tea.Cmd {
	m.hint = notification{hint, m.hint.number + 1}
	at := m.hint.number
	return m.after(shown, func(time.Time) tea.Msg { return hintOverMsg{at} })
}

// startTicking starts a tick while something runs, unless one is under way. While a question waits
// nothing moves: a person may be away for hours.
func (m *app) startTicking() tea.Cmd {
	if m.docks.Front() != nil || m.offers.Still || m.ticking || !m.work.running && (m.facts.Running == 0 || !m.live()) {
		return nil
	}
	m.ticking = true
	return m.after(tick, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *app) apply(e event.Event) {
	m.facts.Apply(e)
	m.modes.Apply(e)
	m.work.apply(e)
	m.recalled.apply(e)
	m.transcript.Apply(e)
	switch e := e.(type) {
	case event.TurnStarted:
		m.images.Counted(e.Text)
	case event.Steered:
		m.images.Counted(e.Text)
	}
}

func (m *app) drain() tea.Cmd {
	var cmd tea.Cmd
	was := m.docks.Front()
	m.drained = m.now()
	for _, item := range m.box.take() {
		switch item := item.(type) {
		case event.Event:
			m.apply(item)
			if _, ok := item.(event.SessionStarted); ok {
				cmd = tea.Batch(cmd, m.lookAround(), lookHome(m))
			}
			if _, ok := item.(event.BackgroundChanged); ok {
				cmd = tea.Batch(cmd, m.lookForEnds())
				if m.live() {
					cmd = tea.Batch(cmd, m.do(m.panel.Load()), m.startTicking())
				}
			}
		case part.Ask:
			m.docks.Add(item, m.setting())
		case part.Withdrawn:
			m.docks.Withdraw(item.Ask)
		}
	}
	if front := m.docks.Front(); front != nil && front != was {
		if !front.Writes() {
			m.docks.Disarm() // what was armed is behind another question, or ended
		}
		cmd = tea.Batch(cmd, m.stir())
	}
	m.leaveStalePage()
	return cmd
}

// showLast shows how what ran at the end has ended.
func showLast(m *app, items []any) {
	for _, item := range items {
		if e, ok := item.(event.Event); ok {
			m.apply(e)
		}
	}
	m.transcript.Interrupt()
}

// paste inserts into the note that is being written, or else into the message.
func (m *app) paste(s string) tea.Cmd {
	if m.answer.key != nil {
		typeHeld(m)
	}
	switch d := m.docks.Front(); {
	case m.panel != nil:
		m.panel.Paste(s)
	case d != nil && d.Writes():
		return m.do(d.Paste(s))
	default:
		cmd := m.do(m.clipboard.Paste(s))
		return tea.Batch(cmd, lookUp(m))
	}
	return nil
}

// live reports whether what covers the transcript changes by itself.
func (m *app) live() bool { return m.panel != nil && m.panel.Live() }

func (m *app) scroll(by int) {
	if m.panel != nil {
		m.panel.Scroll(by)
		return
	}
	m.transcript.Scroll(m.canvas(), by)
}

// lookAround has the footer look at the folder.
func (m *app) lookAround() tea.Cmd {
	return m.do(m.facts.Look(m.offers.Surroundings, m.modes.Policy, m.modes.Approvals))
}

// lookHome finds what the first entry shows, once.
func lookHome(m *app) tea.Cmd {
	look := m.transcript.Home.Look
	if look == nil || m.aside == nil {
		return nil
	}
	m.transcript.Home.Look = nil
	return m.aside(func(ctx context.Context) then {
		found := look(ctx)
		return func(m *app) tea.Cmd {
			m.transcript.Found(found)
			return nil
		}
	})
}
