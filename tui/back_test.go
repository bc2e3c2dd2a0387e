package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/message"
	"codeagent/tui/rewind"
	"codeagent/tui/undoing"
)

// pastMessages are the messages of a session; back notes what was gone back to.
type pastMessages struct {
	said  []string
	look  undoing.Preview
	fails error
	back  []string
	notes func(event.Event)
}

func (p *pastMessages) Messages(context.Context) (out []rewind.Said, _ error) {
	for i, s := range p.said {
		out = append(out, rewind.Said{N: i + 1, Text: strings.Join(strings.Fields(s), " ")})
	}
	return out, nil
}

func (p *pastMessages) Look(context.Context, int) (undoing.Preview, error) { return p.look, nil }

func (p *pastMessages) Back(_ context.Context, n int, talk, files bool) (out rewind.Result, err error) {
	p.back = append(p.back, fmt.Sprint(n, talk, files))
	if p.notes != nil {
		p.notes(event.Notice{Level: word.LevelInfo, Text: "that was before the summary"})
	}
	if files {
		out.Done = p.look.Files
	}
	if talk && p.fails == nil {
		for _, s := range p.said[n-1:] {
			out.Gone = append(out.Gone, message.Message{Text: s})
		}
		p.said = p.said[:n-1]
	}
	return out, p.fails
}

func (p *pastMessages) Redo(context.Context) (out rewind.Result, err error) {
	if len(p.back) == 0 {
		return out, errors.New("nothing to redo")
	}
	out.Done = p.look.Files
	return out, nil
}

// talked is a screen with three messages and their answers.
func talked(t *testing.T) (*rig, *pastMessages) {
	r := newRig(t, 80, 24)
	past := &pastMessages{}
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

// goBack goes back by the list to the message so many above the last one, by the choice in that row.
func (r *rig) goBack(up, row int) {
	r.t.Helper()
	r.escTwice()
	for range up {
		r.press("up")
	}
	r.do(r.press("enter"))
	for range row {
		r.press("down")
	}
	r.do(r.press("enter"))
}

// Twice Esc shows the messages, and takes nothing away.
func TestEscTwiceShowsTheMessages(t *testing.T) {
	r, past := talked(t)
	before := r.screen()
	r.press("esc")
	r.has("Esc again goes back to an earlier message")
	r.clock = r.clock.Add(rewind.Window)
	r.do(r.press("esc"))
	r.has("Go back to before a message", "1  first question", "› 3  third question")
	r.typeText("sec")
	r.has("› 2  second question")
	r.lacks("3  third question")
	r.do(r.press("enter"))
	r.has("Before “second question”", "Conversation: 2 messages and what followed", "No file was changed since")
	r.do(r.press("esc"))
	r.has("Go back to before a message", "Esc closes")
	r.press("esc")
	if got := r.screen(); got != before || len(past.back) > 0 {
		t.Errorf("after Esc, removed %v:\n%s\nbefore:\n%s", past.back, got, before)
	}
}

// The conversation goes back, and the message returns to the editor, where it is edited and sent again.
func TestAnEarlierMessageIsSentAgain(t *testing.T) {
	r, past := talked(t)
	r.goBack(1, 0)
	if !slices.Equal(past.back, []string{"2 true false"}) {
		t.Errorf("went back to %v", past.back)
	}
	r.has("first answer", "/redo takes it back")
	for _, gone := range []string{"second answer", "third"} {
		r.lacks(gone)
	}
	r.holds("second question")
	r.typeText(" better")
	r.do(r.press("enter"))
	if !slices.Equal(r.turns, []string{"second question better"}) {
		t.Errorf("sent %q", r.turns)
	}
}

// Files go back alone or with the conversation, after a preview; /redo brings them back.
func TestFilesGoBack(t *testing.T) {
	for row, want := range map[int]string{1: "3 false true", 2: "3 true true"} {
		r, past := talked(t)
		past.look = undoing.Preview{Message: "third question", Files: []undoing.File{{Path: "/home/ada/src/app/a.go", Does: "restore"}}}
		r.goBack(0, row)
		r.has("Restores 1 file", "restore  ")
		r.do(r.press("enter"))
		r.has("restored: 1 file")
		if !slices.Equal(past.back, []string{want}) {
			t.Errorf("went back to %v", past.back)
		}
		if row == 2 {
			r.lacks("third answer")
			r.holds("third question")
			r.press("ctrl+c")
		} else {
			r.has("third answer")
		}
		r.send(turnDoneMsg{})
		r.slash("/redo")
		r.has("redone: 1 file")
	}
	r, _ := talked(t)
	r.slash("/redo")
	r.has("✗ nothing to redo")
}

func TestAMessageThatCannotGoStays(t *testing.T) {
	r, past := talked(t)
	past.fails = errors.New("cannot save the rewind")
	r.goBack(0, 0)
	r.has("third answer", "✗ cannot save the rewind")
	r.holds("")
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
	} {
		r, past := talked(t)
		do(r)
		if r.lacks("Go back to before"); len(past.back) > 0 {
			t.Errorf("%s: it went back", what)
		}
	}
	r, past := talked(t)
	past.said = nil
	r.escTwice()
	r.has("there is no message to go back to")
}

// While messages are being removed, which reads the disk, what is sent waits.
func TestWhatIsSentWhileGoingBackWaits(t *testing.T) {
	r, past := talked(t)
	r.escTwice()
	r.press("up")
	r.do(r.press("enter"))
	going := r.press("enter")
	r.has("Going back")
	r.typeText("a further one")
	r.press("enter")
	if len(r.turns) > 0 {
		t.Errorf("a turn began: %q", r.turns)
	}
	r.do(going)
	if want := []string{"a further one"}; !slices.Equal(r.turns, want) || !slices.Equal(past.back, []string{"2 true false"}) {
		t.Errorf("sent %q, went back to %v", r.turns, past.back)
	}
	r.holds("second question")
}

// A resumed session shows only its end. Going back to a message before that removes
// all of it, and leaves the notices about it.
func TestGoingBackBeyondWhatIsShown(t *testing.T) {
	r := newRig(t, 80, 24)
	past := &pastMessages{said: []string{"the 1st question", "the 2nd question"}}
	past.notes = func(e event.Event) { r.app.box.post(e) }
	r.app.offers.Rewind = past
	r.emit(event.SessionStarted{ID: "1"}, event.Compacted{Summary: "what was said"}, event.MessageFinished{Text: "its last answer"})
	r.goBack(1, 0)
	r.has("that was before the summary", "› the 1st question")
	r.lacks("its last answer")
	r.lacks("Compacted")
}

// A message with images and a paste is edited with them.
func TestEarlierMessagesKeepTheirPastes(t *testing.T) {
	r, past := talked(t)
	past.said[2] = "look:\n" + strings.Repeat("pasted\n", 40) + "mend it"
	want := past.said[2]
	r.goBack(0, 0)
	r.holds(want)
	r.has("› look:", "[pasted 40 lines]", "mend it")
}

// What only looks like a message does not count.
func TestGoingBackPassesOverCommands(t *testing.T) {
	r, past := talked(t)
	r.app.transcript.Show("! make")
	r.emit(event.MessageFinished{Text: "made"})
	r.goBack(1, 0)
	r.has("first answer", "second question")
	for _, gone := range []string{"second answer", "third", "! make", "made"} {
		r.lacks(gone)
	}
	if !slices.Equal(past.back, []string{"2 true false"}) {
		t.Errorf("went back to %v", past.back)
	}
}

// rewindLook is a preview of files with every part.
func rewindLook() undoing.Preview {
	return undoing.Preview{
		Message: "first question", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Turns: 2,
		Files:     []undoing.File{{Path: "/home/ada/src/app/main.go", Does: "restore"}, {Path: "/home/ada/src/app/new", Does: "remove", Why: "folder, with 2 in it", Of: 3}},
		Conflicts: []undoing.File{{Path: "/home/ada/src/app/go.mod", Why: "it was changed after the turn"}},
	}
}

// editEarlier puts a message back into the editor, as going back does.
func editEarlier(m *app, said message.Message) {
	m.composer.Set("")
	m.do(rewind.Done{Result: rewind.Result{Gone: []message.Message{said}}})
}

// TestEscForAPanelAnswersNoQuestion: a second, quick Esc on a panel neither denies the question that waits below
// it nor ends the turn.
func TestEscForAPanelAnswersNoQuestion(t *testing.T) {
	for _, pause := range []time.Duration{grace / 2, 2 * grace} {
		r := newRig(t, 80, 20)
		r.typeText("work")
		r.press("enter")
		r.typeText("/help")
		r.press("enter")
		r.has("── Help")
		r.press("esc")
		r.clock = r.clock.Add(pause)
		r.press("esc")
		if interrupted := r.stops > 0; interrupted != (pause > grace) {
			t.Errorf("an Esc %s after the panel's: interrupted %t", pause, interrupted)
		}
	}
}
