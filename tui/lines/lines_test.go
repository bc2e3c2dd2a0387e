package lines

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/question"
	"codeagent/tui/slash"
	"codeagent/tui/transcript"
)

// TestTake: a line is for the list that was written, for the question that takes an answer, or for the model.
func TestTake(t *testing.T) {
	now := func() time.Time { return time.Unix(0, 0) }
	message := func(text string) part.Intent {
		return part.All{slash.Written{Text: text, Send: true}, slash.Written{}}
	}
	list := picker.New(keys.Standard(), "Models")
	list.Enter, list.Choose = "uses it", func(r picker.Row) part.Intent { return part.Say(r.Id) }
	list.Fill([]picker.Row{{Id: "one", Text: "One"}, {Id: "two", Text: "Two", Mark: true}})
	asks := (&question.Ask{Reply: make(chan approvals.Answer, 1), Request: approvals.Request{Title: "make wants to leave", Action: approvals.Action{Kind: word.KindCommand, Command: "make"}, Preview: func() (approvals.Tried, error) { panic("no screen shows it") }, Options: []approvals.Option{{Key: "1", Label: "this once", Decision: approvals.Once}}}}).Dock(part.Setting{Keys: keys.Standard(), Now: now})
	for _, c := range []struct {
		name, line string
		scene      Scene
		waited     bool
		want       part.Intent
		writes     string // at least
	}{
		{name: "a message", line: " hello ", want: message("hello"), writes: "> "},
		{name: "nothing", line: "", writes: "> "},
		{name: "more", line: "/more", writes: "message: hi"},
		{name: "a list", line: "2", scene: Scene{Panel: list}, want: part.All{part.Show{}, part.Say("two")}, writes: "2: Two (in use)\nA number uses it; an empty line closes the list.\n"},
		{name: "beside the list", line: "hello", scene: Scene{Panel: list}, want: part.All{part.Show{}, message("hello")}},
		{name: "a picture", line: "hello", scene: Scene{Panel: &question.Page{}}, want: message("hello"), writes: "this needs a screen\n"},
		{name: "too early", line: "1", scene: Scene{Front: asks}, want: message("1"), writes: "The question still waits"},
		{name: "a preview", line: "t", scene: Scene{Front: asks}, waited: true, want: message("t"), writes: "The question still waits"},
		{name: "an answer", line: "1", scene: Scene{Front: asks}, waited: true, want: "answered", writes: "make wants to leave"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			tr := transcript.New(now)
			tr.Apply(event.TurnStarted{Text: "hi"})
			c.scene.Transcript, c.scene.Ready = &tr, true
			c.scene.Canvas = transcript.Canvas{Theme: paint.New(true), Width: 60}
			f := New(&out, func() Scene { return c.scene }, 0)
			for _, wants := range f.Write().(part.All) {
				if w, ok := wants.(part.Wait); ok && c.waited {
					w.Then()
				}
			}
			got := f.Take(c.line)
			if _, ok := got.(question.Answered); ok {
				got = "answered"
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%#v, want %#v", got, c.want)
			}
			if !strings.Contains(out.String(), c.writes) {
				t.Errorf("no %q in\n%s", c.writes, out.String())
			}
		})
	}
}
