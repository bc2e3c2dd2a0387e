// Package rewind is the choice of an earlier message to edit and send again: which
// one, and what was edited. It removes nothing and performs no IO. Start with Rewind.
package rewind

import (
	"fmt"
	"slices"
	"time"

	"codeagent/tui/message"
	"codeagent/tui/paint"
)

// Window is how soon the second press must follow that begins a choice.
const Window = 500 * time.Millisecond

// Rewind is empty while nothing is chosen.
type Rewind struct {
	said  []message.Message // with what was edited
	sent  []string          // as they were sent
	first int               // the number of said[0]
	at    int
	since time.Time // of the first press
}

// Pressed notes the first press, and reports whether this was the second one. Moved
// forgets the first.
func (r *Rewind) Pressed(now time.Time) (second bool) {
	since := r.since
	if second = now.Sub(since) <= Window; second {
		r.since = time.Time{}
		return true
	}
	r.since = now
	return false
}

// Moved forgets a first press.
func (r *Rewind) Moved() { r.since = time.Time{} }

// Begin chooses the last of these messages; the first of them has number first.
func (r *Rewind) Begin(said []message.Message, first int) message.Message {
	*r = Rewind{said: slices.Clone(said), first: first, at: len(said) - 1}
	for _, s := range said {
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
