package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/tui/message"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/trying"
)

// What the editor of the message does beside editing: the history that outlasts the run,
// and the person's own editor.

// loadHistory puts the messages of earlier runs before those of this one.
func loadHistory(m *app) tea.Cmd {
	kept := m.offers.Writing.History
	if kept == nil {
		return nil
	}
	return m.aside(func(ctx context.Context) then {
		said, err := kept.Load(ctx)
		return func(m *app) tea.Cmd {
			m.composer.Recall(said)
			if err != nil {
				m.transcript.Note(word.LevelWarning, err.Error())
			}
			return nil
		}
	})
}

// take empties the editor. The command keeps the message for later runs.
func take(m *app) (message.Message, tea.Cmd) {
	said := m.composer.Take()
	kept := m.offers.Writing.History
	if kept == nil || said.Empty() {
		return said, nil
	}
	return said, m.aside(func(ctx context.Context) then {
		if err := kept.Add(ctx, said); err != nil {
			return func(m *app) tea.Cmd { return m.say(err.Error()) }
		}
		return nil
	})
}

// showEarlier is the search of the history; what is written is the filter.
func showEarlier(m *app) tea.Cmd {
	p := picker.New(m.keys, "Earlier messages")
	p.None, p.Enter = "no message was sent from this folder yet", "edits it"
	said := m.composer.Earlier()
	p.Choose = func(r picker.Row) part.Intent {
		return then(func(m *app) tea.Cmd {
			m.panel = nil
			for _, s := range said {
				if s.Text == r.Id {
					m.composer.Restore(m.images.Numbered(s))
					break
				}
			}
			return nil
		})
	}
	var rows []picker.Row
	for _, s := range slices.Backward(said) {
		line := strings.Join(strings.Fields(short.Cut(s.Text, 1000)), " ")
		about := ""
		if n := strings.Count(s.Text, "\n") + 1; n > 1 {
			about = short.Count(n, "line")
		}
		rows = append(rows, picker.Row{Id: s.Text, Text: line, About: about})
	}
	p.Fill(rows)
	p.Paste(m.composer.Value())
	return open(m, p)
}

// openEditor gives the terminal to the person's editor, with the message as it is.
func openEditor(m *app) tea.Cmd {
	if m.offers.Writing.Edit == nil {
		return nil
	}
	was := m.composer.Message()
	text, err := was.Text, error(nil)
	// Bubble Tea gives the next message to the screen after the editor has ended.
	return tea.Sequence(m.away(func() { text, err = m.offers.Writing.Edit(was.Text) }), func() tea.Msg {
		return then(func(m *app) tea.Cmd {
			if err != nil {
				m.transcript.Note(word.LevelError, err.Error())
				return nil
			}
			said := message.Message{Text: strings.TrimRight(text, "\n"), Pastes: was.Pastes}
			for _, i := range was.Images { // one whose label was deleted is gone
				if strings.Contains(text, i.Label()) {
					said.Images = append(said.Images, i)
				}
			}
			m.composer.Restore(said)
			return nil
		})
	})
}

// runCommand runs a command of the person's; the model gets it with the next message.
func runCommand(m *app, command string) tea.Cmd {
	if command == "" {
		return m.say("! and a command runs it in the sandbox, and shows it to the model")
	}
	m.transcript.End()
	m.transcript.Show("! " + command)
	run := m.offers.Writing.Run
	return m.begin("Running", m.run(func(ctx context.Context) (then, error) { return nil, run(ctx, command) }))
}

// tryCommand runs a command of the person's on a draft, and shows what it changed; without one it shows what is
// not decided. What opens by itself takes no keys from a person who writes, or is asked something.
func tryCommand(m *app, command string) tea.Cmd {
	drafts, s := m.offers.Writing.Drafts, trying.Screen{Setting: m.setting()}
	if command == "" {
		return m.do(trying.Again(s, drafts))
	}
	m.transcript.End()
	m.transcript.Show(trying.Name + " " + command)
	return m.begin("Trying", m.run(func(ctx context.Context) (then, error) {
		x, err := drafts.Try(ctx, command)
		if x == nil || err != nil {
			return nil, err
		}
		return func(m *app) tea.Cmd {
			cmd := m.do(s.Told(x))
			if len(x.Changes) > 0 && m.panel == nil && m.composer.Empty() && m.docks.Front() == nil && len(m.work.queued) == 0 {
				cmd = tea.Batch(cmd, m.do(s.Show(x)))
			}
			return cmd
		}, nil
	}))
}

// ownCommands says in /help how the person runs commands.
func (m *app) ownCommands() (out [][2]string) {
	if m.offers.Writing.Run != nil {
		out = append(out, [2]string{"!command", "run a command in the sandbox, and show it to the model"})
	}
	if m.offers.Writing.Drafts != nil {
		out = append(out, [2]string{"!!command", "run it on a draft, then choose which of its changes to keep"})
	}
	return out
}
