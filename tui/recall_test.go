package tui

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/message"
)

// TestAskAgain: under an earlier answer /again has the model answer, once.
func TestAskAgain(t *testing.T) {
	asked := 0
	answered := func() *rig {
		r := newRig(t, 100, 24)
		asked = 0
		r.app.offers.Again = func(context.Context) error { asked++; return nil }
		r.app.run = func(do func(context.Context) (then, error)) tea.Cmd {
			_, _ = do(t.Context())
			return nil
		}
		r.app.submit(message.Message{Text: "What is it?"})
		r.emit(session(), event.TurnStarted{Text: "What is it?"}, event.MessageFinished{Text: "It is a parser."},
			event.EarlierAnswer{At: time.Date(2026, 1, 2, 14, 2, 0, 0, time.Local), Score: 0.979, Files: 6}, event.TurnFinished{Outcome: word.TurnDone})
		r.send(turnDoneMsg{})
		r.has("It is a parser.", "answered from 14:02, score 0.97, 6 files unchanged · /again asks the model")
		return r
	}
	r := answered()
	r.slash("/again")
	if r.lacks("It is a parser."); asked != 1 || !r.app.work.running {
		t.Errorf("asked %d times", asked)
	}
	r.has("What is it?")
	r.send(turnDoneMsg{})
	r.slash("/again") // once
	r.has("the model has answered")
	r = answered()
	r.emit(event.TurnStarted{Text: "more"})
	r.slash("/again")
	if r.has("the model has answered"); asked != 0 {
		t.Error("another message was answered meanwhile")
	}
}
