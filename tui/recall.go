package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/tui/part"
)

// recalled is what /again does after the answer of an earlier session was shown: it has the model answer after all.
type recalled struct {
	last string // the last message
	said string // the message that was answered so; "": there is none
}

// apply notes what an event says about it.
func (r *recalled) apply(e event.Event) {
	switch e := e.(type) {
	case event.TurnStarted:
		r.last, r.said = e.Text, ""
	case event.EarlierAnswer:
		r.said = r.last
	}
}

// again is /again.
func again(m *app, _ string) tea.Cmd {
	said, ask := m.recalled.said, m.offers.Again
	if said == "" {
		return m.do(part.Say("the model has answered; /again asks it in place of an answer of an earlier session"))
	}
	m.recalled.said = ""
	m.transcript.Rewind(m.transcript.Size(), []string{said})
	m.transcript.Show(said)
	return m.begin("", m.run(func(ctx context.Context) (then, error) { return nil, ask(ctx) }))
}
