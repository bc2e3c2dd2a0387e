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

// TestAskAgain: under an earlier answer r has the model answer, unless it begins a word or something else is in front.
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
		r.has("It is a parser.", "answered from 14:02, score 0.97, 6 files unchanged · r asks again")
		return r
	}
	r := answered()
	r.typeText("r")
	if r.holds(""); asked != 0 {
		t.Error("asked before it was clear that nothing follows")
	}
	r.send(againMsg{r.app.recalled.number})
	if r.lacks("It is a parser."); asked != 1 || !r.app.work.running {
		t.Errorf("asked %d times", asked)
	}
	r.has("What is it?")
	r.send(turnDoneMsg{})
	r.typeText("r")
	r.holds("r") // once

	r = answered()
	r.typeText("run")
	r.send(againMsg{r.app.recalled.number})
	r.holds("run")
	for name, c := range map[string]struct {
		do    func(r *rig)
		holds string
		asked int
	}{
		"Enter confirms":       {func(r *rig) { r.typeText("r"); r.press("enter") }, "", 1},
		"Esc takes it back":    {func(r *rig) { r.typeText("r"); r.press("esc") }, "", 0},
		"in a message":         {func(r *rig) { r.typeText("ar") }, "ar", 0},
		"a panel is open":      {func(r *rig) { r.slash("/help"); r.typeText("r") }, "", 0},
		"another turn":         {func(r *rig) { r.emit(event.TurnStarted{Text: "more"}); r.typeText("r") }, "r", 0},
		"a line of a dumb one": {func(r *rig) { r.app.composer.Typed("r"); r.press("enter") }, "", 1},
	} {
		r := answered()
		c.do(r)
		r.send(againMsg{r.app.recalled.number})
		if r.holds(c.holds); asked != c.asked {
			t.Errorf("%s: asked %d times", name, asked)
		}
	}
}
