package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/message"
	"codeagent/tui/rewind"
)

// pastMessages are the messages of a session; back notes which were removed.
type pastMessages struct {
	said  []string
	first int
	fails error
	back  []int
	notes func(event.Event)
}

func (p *pastMessages) Messages(context.Context) ([]message.Message, int, error) {
	var out []message.Message
	for _, s := range p.said {
		out = append(out, message.Message{Text: s})
	}
	return out, p.first, nil
}

func (p *pastMessages) Back(_ context.Context, n int) error {
	p.back = append(p.back, n)
	if p.fails == nil {
		p.said = p.said[:n-p.first]
	}
	if p.notes != nil {
		p.notes(event.Notice{Level: word.LevelInfo, Text: "that was before the summary"})
	}
	return p.fails
}

// talked is a screen with three messages and their answers.
func talked(t *testing.T) (*rig, *pastMessages) {
	r := newRig(t, 80, 24)
	past := &pastMessages{first: 1}
	r.app.offers.Rewind = past
	r.emit(event.SessionStarted{ID: "1"})
	for _, n := range []string{"first", "second", "third"} {
		past.said = append(past.said, n+" question")
		r.emit(event.TurnStarted{Text: n + " question"}, event.MessageFinished{Text: n + " answer"}, event.TurnFinished{Outcome: "done"})
	}
	return r, past
}

func (r *rig) escTwice() {
	r.t.Helper()
	r.press("esc")
	r.do(r.press("esc"))
}

func (r *rig) holds(want string) {
	r.t.Helper()
	if got := r.app.composer.Value(); got != want {
		r.t.Errorf("the editor holds %q, want %q", got, want)
	}
}

// Twice Esc takes nothing away: it shows which message is edited, and what the keys do.
func TestEscTwiceEditsAnEarlierMessage(t *testing.T) {
	r, past := talked(t)
	before := r.screen()
	r.press("esc")
	r.has("Esc again edits an earlier message")
	r.clock = r.clock.Add(rewind.Window)
	r.do(r.press("esc"))
	r.holds("third question")
	r.has("editing message 3 · Enter resends · Esc cancels · ↑↓ another", "third answer", "first answer")

	r.press("up")
	r.holds("second question")
	r.has("editing message 2")
	r.typeText(" of mine")
	r.press("up", "up", "up")
	r.has("editing message 1")
	r.press("down")
	r.holds("second question of mine") // what was edited is kept
	r.press("down", "down", "down")
	r.has("editing message 3")

	r.press("esc")
	if got := r.screen(); got != before || len(past.back) > 0 {
		t.Errorf("after Esc, removed %v:\n%s\nbefore:\n%s", past.back, got, before)
	}
	r.press("up") // the history is as it was
	r.holds("")
}

// Enter removes the message with what followed, and sends the edited one.
func TestAnEditedMessageIsSentAgain(t *testing.T) {
	r, past := talked(t)
	r.escTwice()
	r.press("up")
	r.typeText(" better")
	r.do(r.press("enter"))
	if !slices.Equal(past.back, []int{2}) || !slices.Equal(r.turns, []string{"second question better"}) {
		t.Errorf("went back to %v, sent %q", past.back, r.turns)
	}
	r.has("first answer", "┃ second question better")
	for _, gone := range []string{"second answer", "third", "editing"} {
		r.lacks(gone)
	}
	r.holds("")
}

func TestAMessageThatCannotBeSentAgainStays(t *testing.T) {
	r, past := talked(t)
	past.fails = errors.New("cannot save the rewind")
	r.escTwice()
	r.typeText(" better")
	r.do(r.press("enter"))
	r.has("third answer", "✗ cannot save the rewind")
	r.holds("third question better")
	if len(r.turns) > 0 {
		t.Errorf("sent %q", r.turns)
	}
}

func TestEscGoesBackOnlyWhereItHasNothingElseToDo(t *testing.T) {
	for what, do := range map[string]func(r *rig){
		"once": func(r *rig) { r.do(r.press("esc")) },
		"slowly": func(r *rig) {
			r.press("esc")
			r.clock = r.clock.Add(rewind.Window + time.Millisecond)
			r.do(r.press("esc"))
		},
		"another key between":   func(r *rig) { r.press("esc", "pgup"); r.do(r.press("esc")) },
		"a panel closed first":  func(r *rig) { r.typeText("/help"); r.press("enter", "esc"); r.do(r.press("esc")) },
		"text in the editor":    func(r *rig) { r.typeText("x"); r.escTwice() },
		"a turn that runs":      func(r *rig) { r.typeText("x"); r.press("enter"); r.escTwice() },
		"where it is not given": func(r *rig) { r.app.offers.Rewind = nil; r.escTwice() },
		"typed since": func(r *rig) {
			r.press("esc")
			cmd := r.press("esc")
			r.typeText("x")
			r.do(cmd)
		},
	} {
		r, past := talked(t)
		do(r)
		if r.lacks("editing message"); len(past.back) > 0 {
			t.Errorf("%s: it went back", what)
		}
	}
	r, past := talked(t)
	past.said = nil
	r.escTwice()
	r.has("there is no message to go back to", "third answer")
}

// While a message is being removed, which reads the disk, what is sent waits.
func TestWhatIsSentWhileGoingBackWaits(t *testing.T) {
	r, past := talked(t)
	r.escTwice()
	r.press("up")
	going := r.press("enter")
	r.has("Going back")
	r.typeText("a further one")
	r.press("enter")
	if len(r.turns) > 0 {
		t.Errorf("a turn began: %q", r.turns)
	}
	r.do(going)
	r.send(turnDoneMsg{})
	if want := []string{"second question", "a further one"}; !slices.Equal(r.turns, want) || !slices.Equal(past.back, []int{2}) {
		t.Errorf("sent %q, went back to %v", r.turns, past.back)
	}
}

// A resumed session shows only its end. Going back to a message before that removes
// all of it, and leaves the notices about it.
func TestGoingBackBeyondWhatIsShown(t *testing.T) {
	r := newRig(t, 80, 24)
	past := &pastMessages{said: []string{"the 7th question", "the 8th question"}, first: 7}
	past.notes = func(e event.Event) { r.app.box.post(e) }
	r.app.offers.Rewind = past
	r.emit(event.SessionStarted{ID: "1"}, event.Compacted{Summary: "what was said"}, event.MessageFinished{Text: "its last answer"})
	r.escTwice()
	r.press("up")
	r.has("editing message 7")
	r.do(r.press("enter"))
	r.has("that was before the summary", "┃ the 7th question")
	r.lacks("its last answer")
	r.lacks("Compacted")
}

// A message with images and a paste is edited with them.
func TestEarlierMessagesKeepTheirPastes(t *testing.T) {
	r, past := talked(t)
	past.said[2] = "look:\n" + strings.Repeat("pasted\n", 40) + "mend it"
	r.escTwice()
	r.holds(past.said[2])
	r.has("› look:", "[pasted 40 lines]", "mend it")
}

func TestRewindHintFits(t *testing.T) {
	for w := 10; w < 90; w += 7 {
		r := newRig(t, w, 15)
		r.app.offers.Rewind = &pastMessages{said: []string{"a", "b"}, first: 41}
		r.emit(session())
		r.escTwice()
		r.screen()
		if w > 30 {
			r.has("✎", "42")
		}
		if w > 35 {
			r.has("sends", "Esc cancels")
		}
	}
}

// Ctrl+C cancels as Esc does, and empties the editor.
func TestCtrlCCancelsEditing(t *testing.T) {
	r, past := talked(t)
	r.escTwice()
	if cmd := r.press("ctrl+c"); cmd != nil {
		if _, quits := cmd().(tea.QuitMsg); quits {
			t.Error("it quits")
		}
	}
	r.lacks("editing message")
	r.holds("")
	r.has(fmt.Sprint(past.said[2]))
}

// What only looks like a message does not count: the message that is edited is the one
// that is shown as edited, and the one that goes.
func TestGoingBackPassesOverCommands(t *testing.T) {
	r, past := talked(t)
	r.app.transcript.Show("! make")
	r.emit(event.MessageFinished{Text: "made"})
	r.escTwice()
	r.press("up")
	for row := range strings.SplitSeq(r.screen(), "\n") {
		if strings.Contains(row, "▎") != strings.Contains(row, "second question") && !strings.HasPrefix(row, "›") {
			t.Errorf("it is marked: %q", row)
		}
	}
	r.do(r.press("enter"))
	r.has("first answer", "second question")
	for _, gone := range []string{"second answer", "third", "! make", "made"} {
		r.lacks(gone)
	}
	if !slices.Equal(past.back, []int{2}) {
		t.Errorf("went back to %v", past.back)
	}
}
