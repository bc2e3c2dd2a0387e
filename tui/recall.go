package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/tui/keys"
)

// The answer of an earlier session was shown: a key has the model answer after all. It is a letter, so it waits, like an
// answer to a question: what is typed right after it shows that it began a message.

// recalled is that offer.
type recalled struct {
	last   string // the last message
	said   string // the message that was answered so; "": there is no offer
	held   string // the letter that waits; "": none does
	number int    // of that one
}

// apply notes what an event says about the offer.
func (r *recalled) apply(e event.Event) {
	switch e := e.(type) {
	case event.TurnStarted:
		r.last, r.said = e.Text, ""
	case event.EarlierAnswer:
		r.said = r.last
	}
}

// againMsg ends the wait of letter number at.
type againMsg struct{ at int }

// asksAgain reports whether text is the letter of the offer.
func (m *app) asksAgain(text string) bool {
	typed := []rune(text)
	return m.offers.Again != nil && m.recalled.said != "" && !m.work.running && len(typed) == 1 && m.keys.Find(tea.Key{Code: typed[0]}, keys.InComposer) == keys.Again
}

// holdAgain takes the letter of the offer, and the key after it.
func holdAgain(m *app, k tea.Key) (tea.Cmd, bool) {
	r := &m.recalled
	switch {
	case r.held != "" && k.Code == tea.KeyEnter:
		return m.again(), true
	case r.held != "":
		dropped := k.Code == tea.KeyEscape || k.Code == tea.KeyBackspace || m.keys.Find(k, keys.Everywhere) == keys.Interrupt
		if !dropped {
			m.composer.Typed(r.held)
		}
		r.held = ""
		return nil, dropped
	case m.panel != nil || m.docks.Front() != nil || !m.composer.Empty() || !m.asksAgain(keys.Typed(k)):
		return nil, false
	}
	r.held, r.number = keys.Typed(k), r.number+1
	at := r.number
	return m.after(answerHold, func(time.Time) tea.Msg { return againMsg{at} }), true
}

// again has the model answer the message.
func (m *app) again() tea.Cmd {
	said, ask := m.recalled.said, m.offers.Again
	m.recalled.said, m.recalled.held = "", ""
	m.transcript.Rewind(m.transcript.Size(), []string{said})
	m.transcript.Show(said)
	return m.begin("", m.run(func(ctx context.Context) (then, error) { return nil, ask(ctx) }))
}
