// Package rewind is the choice of an earlier message to edit and send again: which
// one, and what was edited. It removes nothing and performs no IO. Start with Rewind.
package rewind

import (
	"context"
	"fmt"
	"slices"
	"time"

	"codeagent/event/word"
	"codeagent/tui/message"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// Window is how soon the second press must follow that begins a choice.
const Window = 500 * time.Millisecond

// Past goes back to an earlier message of the person's.
type Past interface {
	// Messages returns the last messages, oldest first, and the number of the first one,
	// counted from 1. It changes nothing.
	Messages(ctx context.Context) (said []message.Message, first int, err error)
	// Back removes message n and all that followed. It is called while no turn runs.
	Back(ctx context.Context, n int) error
}

// Found are the messages that can be edited, for Begin; the person may do something else by now.
type Found struct {
	Said  []message.Message
	First int // the number of Said[0]
}

// Rewind is empty while nothing is chosen.
type Rewind struct {
	said  []message.Message // with what was edited
	sent  []string          // as they were sent
	first int               // the number of said[0]
	at    int
	since time.Time // of the first press
}

// Back takes a press of Esc. The second one in a row reads the messages, beside what the person does
// meanwhile.
func (r *Rewind) Back(now time.Time, past Past) part.Intent {
	if now.Sub(r.since) > Window {
		r.since = now
		return part.Say("Esc again edits an earlier message")
	}
	r.since = time.Time{}
	return part.Beside(func(ctx context.Context) func() part.Intent {
		said, first, err := past.Messages(ctx)
		return func() part.Intent {
			switch {
			case err != nil:
				return part.Line{Level: word.LevelError, Text: err.Error()}
			case len(said) == 0:
				return part.Say("there is no message to go back to")
			}
			return Found{said, first}
		}
	})
}

// Moved forgets a first press.
func (r *Rewind) Moved() { r.since = time.Time{} }

// Begin chooses the last of the messages.
func (r *Rewind) Begin(f Found) message.Message {
	*r = Rewind{said: slices.Clone(f.Said), first: f.First, at: len(f.Said) - 1}
	for _, s := range f.Said {
		r.sent = append(r.sent, s.Text)
	}
	return r.said[r.at]
}

// Active reports whether a message is chosen; End chooses none.
func (r *Rewind) Active() bool { return len(r.said) > 0 }
func (r *Rewind) End()         { *r = Rewind{} }

// Number is the chosen message's, and Sent are the texts of it and those after it, as
// they were sent.
func (r *Rewind) Number() int    { return r.first + r.at }
func (r *Rewind) Sent() []string { return r.sent[r.at:] }

// Step chooses an older message with -1, a newer one with +1. now is what the editor
// holds, which is kept. ok is false at either end.
func (r *Rewind) Step(by int, now message.Message) (next message.Message, ok bool) {
	to := r.at + by
	if to < 0 || to >= len(r.said) {
		return message.Message{}, false
	}
	r.said[r.at] = now
	r.at = to
	return r.said[to], true
}

// Hint says what is edited, and which keys do what: the longest form that fits.
func (r *Rewind) Hint(w int) []paint.Span {
	head := func(words string) []paint.Span {
		return []paint.Span{paint.Accent.Span("✎ "), paint.Text.Span(fmt.Sprintf(words, r.Number()))}
	}
	what := head("editing message %d")
	hint := func(key, does string) []paint.Span {
		return []paint.Span{paint.Accent.Span(key), paint.Dim.Span(" " + does)}
	}
	keys := [][]paint.Span{hint("Enter", "resends"), hint("Esc", "cancels")}
	if len(r.said) > 1 {
		keys = append(keys, hint("↑↓", "another"))
	}
	files := []paint.Span{paint.Dim.Span("files stay as they are")}
	for _, form := range [][][]paint.Span{
		slices.Concat([][]paint.Span{what}, keys, [][]paint.Span{files}), slices.Concat([][]paint.Span{what}, keys),
		{what, keys[0], keys[1]}, {head("editing %d"), hint("Enter", "sends"), keys[1]}, {head("%d"), keys[0], keys[1]}, {what, keys[0]},
	} {
		if out := paint.Joined(form...); paint.WidthOf(out) < w {
			return out
		}
	}
	return head("%d")
}
