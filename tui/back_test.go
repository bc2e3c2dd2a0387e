package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/message"
)

// talked is a screen with two messages and their answers, and what taking back
// returns.
func talked(t *testing.T, last func() (message.Message, bool)) *rig {
	r := newRig(t, 80, 24)
	r.app.offers.Back = last
	r.emit(event.SessionStarted{ID: "1"}, event.TurnStarted{Text: "first question"}, event.MessageFinished{Text: "first answer"}, event.TurnFinished{Outcome: "done"},
		event.TurnStarted{Text: "second question"}, event.MessageFinished{Text: "second answer"}, event.TurnFinished{Outcome: "done"})
	return r
}

// Twice Esc with nothing else to do takes the last message into the editor.
func TestEscTwiceGoesBack(t *testing.T) {
	taken := 0
	r := talked(t, func() (message.Message, bool) { taken++; return message.Message{Text: "second question"}, true })
	if cmd := r.press("esc"); cmd == nil || !strings.Contains(r.screen(), "Esc again edits your last message") {
		t.Errorf("nothing says what a second Esc would do:\n%s", r.screen())
	}
	r.clock = r.clock.Add(escWindow)
	r.do(r.press("esc"))
	screen := r.screen()
	if taken != 1 || r.app.composer.Value() != "second question" || strings.Contains(screen, "second answer") || !strings.Contains(screen, "first answer") {
		t.Errorf("%d taken, the editor holds %q:\n%s", taken, r.app.composer.Value(), screen)
	}
	// The text is there now: Esc leaves it alone.
	r.press("esc", "esc")
	if taken != 1 || r.app.composer.Value() != "second question" {
		t.Errorf("%d taken, %q", taken, r.app.composer.Value())
	}
}

func TestEscGoesBackOnlyWhereItHasNothingElseToDo(t *testing.T) {
	taken := 0
	take := func() (message.Message, bool) { taken++; return message.Message{}, false }
	for what, do := range map[string]func(r *rig){
		"once":                  func(r *rig) { r.press("esc") },
		"slowly":                func(r *rig) { r.press("esc"); r.clock = r.clock.Add(escWindow + time.Millisecond); r.press("esc") },
		"another key between":   func(r *rig) { r.press("esc", "pgup", "esc") },
		"a panel closed first":  func(r *rig) { r.typeText("/help"); r.press("enter", "esc", "esc") },
		"text in the editor":    func(r *rig) { r.typeText("x"); r.press("esc", "esc") },
		"a turn that runs":      func(r *rig) { r.typeText("x"); r.press("enter", "esc", "esc") },
		"where it is not given": func(r *rig) { r.app.offers.Back = nil; r.press("esc", "esc") },
	} {
		r := talked(t, take)
		do(r)
		if !strings.Contains(r.screen(), "second answer") && what != "a turn that runs" || taken > 0 {
			t.Errorf("%s: it went back\n%s", what, r.screen())
		}
	}
	r := talked(t, take)
	r.press("esc")
	r.do(r.press("esc"))
	if !strings.Contains(r.screen(), "there is no message to go back to") || !strings.Contains(r.screen(), "second answer") {
		t.Errorf("%s", r.screen())
	}
}

// While a message is taken back, which reads the disk, further Escs take back no
// second one, and what is sent waits.
func TestEscWhileGoingBack(t *testing.T) {
	taken := 0
	r := talked(t, func() (message.Message, bool) { taken++; return message.Message{Text: "second question"}, true })
	r.press("esc")
	first := r.press("esc")
	var more []tea.Cmd
	for range 4 {
		more = append(more, r.press("esc"))
	}
	r.typeText("third question")
	more = append(more, r.press("enter"))
	if len(r.turns) > 0 {
		t.Errorf("a turn began while a message was undone: %q", r.turns)
	}
	r.has("Going back", "third question")
	r.do(first)
	for _, cmd := range more {
		r.do(cmd)
	}
	if taken != 1 || len(r.turns) != 1 || r.turns[0] != "third question" || r.app.composer.Value() != "second question" {
		t.Errorf("%d taken, sent %q, the editor holds %q", taken, r.turns, r.app.composer.Value())
	}
	r.lacks("second answer")
}

// Notices about going back follow the entries that are left.
func TestWhatGoingBackTells(t *testing.T) {
	var r *rig
	r = talked(t, func() (message.Message, bool) {
		r.app.box.post(event.Notice{Level: word.LevelError, Text: "it cannot be saved"})
		return message.Message{Text: "second question"}, true
	})
	r.press("esc")
	r.do(r.press("esc"))
	r.has("first answer", "✗ it cannot be saved")
	r.lacks("second answer")
	if r.app.composer.Value() != "second question" {
		t.Errorf("the editor holds %q", r.app.composer.Value())
	}
}

// A resumed session shows only its end. Going back to a message before that removes
// all of it, and leaves the notices about it.
func TestGoingBackBeyondWhatIsShown(t *testing.T) {
	r := newRig(t, 80, 24)
	r.app.offers.Back = func() (message.Message, bool) {
		r.app.box.post(event.Notice{Level: word.LevelInfo, Text: "that was before the summary"})
		return message.Message{Text: "the first question"}, true
	}
	r.emit(event.SessionStarted{ID: "1"}, event.Compacted{Summary: "what was said"}, event.MessageFinished{Text: "its last answer"})
	r.press("esc")
	r.do(r.press("esc"))
	r.has("that was before the summary")
	r.lacks("its last answer")
	r.lacks("Compacted")
	if r.app.composer.Value() != "the first question" {
		t.Errorf("the editor holds %q", r.app.composer.Value())
	}
}
