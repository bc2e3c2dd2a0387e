package rewind

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"codeagent/event/word"
	"codeagent/tui/message"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

type past struct {
	said []message.Message
	err  error
}

func (p *past) Messages(context.Context) ([]message.Message, int, error) { return p.said, 41, p.err }
func (p *past) Back(context.Context, int) error                          { return nil }

// TestRewind: two presses read the messages; what was edited is kept while others are chosen.
func TestRewind(t *testing.T) {
	var r Rewind
	now := time.Unix(99, 0)
	p := &past{said: []message.Message{{Text: "a"}, {Text: "b"}}}
	press := func(after time.Duration) part.Intent {
		now = now.Add(after)
		intent := r.Back(now, p)
		if work, ok := intent.(part.Beside); ok {
			return work(t.Context())()
		}
		return intent
	}
	once := part.Say("Esc again edits an earlier message")
	if press(0) != once || press(Window+1) != once {
		t.Error("one press goes back")
	}
	if r.Moved(); press(1) != once {
		t.Error("another key between them is passed over")
	}
	found, ok := press(Window).(Found)
	if !ok || r.Active() || r.Begin(found).Text != "b" || r.Number() != 42 || !r.Active() {
		t.Fatalf("found %v, message %d", found, r.Number())
	}
	if older, ok := r.Step(-1, message.Message{Text: "b!"}); !ok || older.Text != "a" || strings.Join(r.Sent(), "") != "ab" {
		t.Errorf("the older one is %q, sent were %q", older.Text, r.Sent())
	}
	if _, ok := r.Step(-1, message.Message{}); ok {
		t.Error("there is one before the first")
	}
	if newer, _ := r.Step(1, message.Message{Text: "a"}); newer.Text != "b!" {
		t.Errorf("what was edited is gone: %q", newer.Text)
	}
	if hint := r.Hint(40); paint.WidthOf(hint) > 40 || !strings.Contains(paint.New(true).Row(40, hint...), "42") {
		t.Errorf("the hint is %v", hint)
	}
	r.End()
	p.said = nil
	press(time.Hour)
	if got := press(1); got != part.Say("there is no message to go back to") {
		t.Errorf("without messages: %v", got)
	}
	p.err = errors.New("the log is gone")
	press(time.Hour)
	if got := press(1); got != (part.Line{Level: word.LevelError, Text: "the log is gone"}) {
		t.Errorf("an error: %v", got)
	}
}
