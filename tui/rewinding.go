package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/message"
)

// Twice Esc, with nothing else to do, puts an earlier message into the editor. Nothing
// is removed before it is sent again.

func editEarlier(m *app, said message.Message) {
	m.composer.Restore(m.images.Numbered(said))
	m.transcript.ChooseSaid(m.canvas(), m.rewind.Sent())
}

// cancelRewind leaves the conversation as it is.
func cancelRewind(m *app) {
	if m.rewind.Active() {
		m.rewind.End()
		m.transcript.Unchoose()
		m.transcript.End()
		m.composer.Set("")
	}
}

// resend removes the chosen message with all that followed, and sends the edited one.
func resend(m *app) tea.Cmd {
	if hint := m.between("sending again"); hint != "" {
		return m.say(hint)
	}
	if m.clipboard.Reading() {
		return m.say(stillRead)
	}
	n, sent, shown := m.rewind.Number(), m.rewind.Sent(), m.transcript.Size()
	edited, keep := take(m)
	offered := m.offers.Rewind
	m.rewind.End()
	m.transcript.Unchoose()
	// It runs like a turn: what is sent meanwhile waits.
	return tea.Batch(keep, m.begin("Going back", m.run(func(ctx context.Context) (then, error) {
		err := offered.Back(ctx, n)
		return func(m *app) tea.Cmd {
			if err != nil {
				m.composer.TakeBack(edited)
				return nil
			}
			m.transcript.Rewind(shown, sent)
			return m.startTurn(edited)
		}, err
	})))
}
