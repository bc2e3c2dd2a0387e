package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/event/word"
	"codeagent/tui/clipboard"
	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/mention"
	"codeagent/tui/message"
	"codeagent/tui/modes"
	"codeagent/tui/part"
	"codeagent/tui/question"
	"codeagent/tui/reader"
	"codeagent/tui/rewind"
	"codeagent/tui/slash"
	"codeagent/tui/transcript"
	"codeagent/tui/undoing"
)

// setting is what a new dock gets of the screen.
func (m *app) setting() part.Setting {
	return part.Setting{Keys: m.keys, Now: m.now, Home: m.facts.Home, Folder: m.facts.Session.Folder, Call: m.transcript.Title}
}

// shown is the dock that is in view, also as a whole page, or nil.
func (m *app) shown() part.Dock {
	if _, full := m.panel.(*question.Page); m.panel != nil && !full {
		return nil
	}
	return m.docks.Front()
}

// writeDock takes a key for the text that is written in a dock.
func writeDock(m *app, d part.Dock, k tea.Key) tea.Cmd {
	if m.clipboard.Reading() {
		switch m.keys.Find(k, keys.InNote, keys.Everywhere) {
		case keys.Send:
			return m.say(stillRead)
		case keys.Back, keys.Interrupt:
			m.clipboard.Leave()
			return nil
		}
	}
	if intent, handled := d.Key(k); handled {
		return m.do(intent)
	}
	return m.common(m.keys.Find(k, keys.Everywhere))
}

// likeATurn does work that runs as a turn does.
func (m *app) likeATurn(w part.Turn) tea.Cmd {
	if hint := m.between(w.Name); hint != "" {
		return m.say(hint)
	}
	m.panel = nil
	m.transcript.End()
	return m.begin(w.Doing, m.run(func(ctx context.Context) (then, error) {
		next, err := w.Work(ctx)
		if next == nil {
			return nil, err
		}
		return func(m *app) tea.Cmd { return m.do(next()) }, err
	}))
}

// answered takes the answer to a question off the screen and into the transcript.
func answered(m *app, a question.Answered) tea.Cmd {
	m.answer.follows = true
	for _, waiting := range a.Asks {
		m.transcript.Chose(waiting.Request.ID, a.Decision)
	}
	m.docks.Remove(a.Question)
	return m.do(m.modes.Answered(a))
}

// showPanel shows an overlay over the transcript; nil closes what is there.
func (m *app) showPanel(o part.Overlay) tea.Cmd {
	if m.panel = o; o != nil {
		return open(m, o)
	}
	m.left = m.now()
	return nil
}

// do does what a part wants.
func (m *app) do(intent part.Intent) tea.Cmd {
	defer m.leaveStalePage()
	switch w := intent.(type) {
	case part.Act:
		return m.common(keys.Action(w))
	case part.Copy:
		return m.do(m.clipboard.Copy(string(w)))
	case part.Insert:
		return m.do(m.clipboard.Read(w))
	case part.Say:
		return m.say(string(w))
	case part.Note:
		if w != "" {
			m.transcript.Note(word.LevelInfo, string(w))
			m.transcript.End()
		}
	case part.Fail:
		m.transcript.Note(word.LevelError, string(w))
		m.transcript.End()
	case part.Line:
		m.transcript.Note(w.Level, w.Text)
	case part.End:
		m.transcript.End()
	case part.Disarm:
		m.docks.Disarm()
	case clipboard.Text:
		m.composer.Paste(string(w))
	case message.Image:
		m.composer.Attach(m.images.Numbered(message.Message{Images: []message.Image{w}}).Images[0])
	case clipboard.Terminal:
		return tea.Raw(ansi.SetSystemClipboard(string(w)))
	case clipboard.Ended:
		return m.stir()
	case transcript.Inside:
		m.panel = reader.Helpers(w, 0, m.keys, m.canvas, outputs(m))
	case *undoing.Undone:
		m.transcript.Add(w)
	case part.Show:
		return m.showPanel(w.Overlay)
	case part.Quit:
		return tea.Quit
	case part.All:
		var cmd tea.Cmd
		for _, one := range w {
			cmd = tea.Batch(cmd, m.do(one))
		}
		return cmd
	case part.Idle:
		if hint := m.between(w.Name); hint != "" {
			return m.say(hint)
		}
		return m.do(w.Then)
	case part.Turn:
		return m.likeATurn(w)
	case then:
		return w(m)
	case part.Wait:
		return m.after(w.Pause, func(time.Time) tea.Msg {
			return then(func(m *app) tea.Cmd { return m.do(w.Then()) })
		})
	case part.Beside:
		return m.aside(func(ctx context.Context) then {
			next := w(ctx)
			return func(m *app) tea.Cmd { return m.do(next()) }
		})
	case part.Done:
		m.answer.follows = true
		m.docks.Remove(w.Dock)
		if w.Said != "" {
			m.transcript.Note(word.LevelInfo, w.Said)
		}
	case question.Answered:
		return answered(m, w)
	case modes.Asked:
		m.facts.Replan = m.facts.Replan && !w.Plan
		m.docks.Insert(w.Ask, m.setting())
		m.panel = nil // it would cover the question
		return m.stir()
	case rewind.Done:
		return rewound(m, w)
	case part.Ask:
		m.box.post(w)
	case part.Withdrawn:
		m.docks.Withdraw(w.Ask)
	case composer.Edge:
		m.edge(w)
	case message.Message:
		return m.submit(m.images.Numbered(w))
	case slash.Written:
		if m.composer.Set(w.Text); w.Send {
			return m.send()
		}
	case mention.Name:
		m.composer.Name(w.From, w.Path, w.Lines)
	case composer.Leave:
		return m.quit(m.keys.Name(keys.InComposer, keys.Leave))
	}
	return nil
}
