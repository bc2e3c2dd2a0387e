package transcript

import (
	"cmp"
	"fmt"
	"time"

	"codeagent/event"
	"codeagent/tui/paint"
)

// retry is a failed request that is sent again. Its countdown runs only while it
// waits.
type retry struct {
	event event.Retrying
	until time.Time
	// over: it was sent again and something arrived; early: the wait was interrupted.
	over, early bool
}

func (r *retry) Draw(c Canvas) []string {
	words := cmp.Or(r.event.Message, "the request failed")
	left := r.until.Sub(c.Now)
	switch {
	case r.early:
		words += " · not retried"
	case r.over:
		words += " · retried (" + r.event.Number() + ")"
	default:
		words += " · retry " + r.event.Number()
		if left > 0 {
			words += " in " + countdown(left)
		}
		if more := max(left, 0) + r.event.Left; r.event.Left > 0 {
			words += " · gives up in " + countdown(more) + " · Esc: stop now"
		}
	}
	return c.Fold(c.Hang(paint.Warn.Span("▲"), paint.Text.Span(words)), 8, 0)
}

// countdown writes a remaining time, rounded up to a second.
func countdown(left time.Duration) string {
	if left += time.Second - 1; left >= time.Minute {
		return paint.Minutes(left)
	}
	return fmt.Sprintf("%d s", int(left.Seconds()))
}

// applyRetry removes the part of the answer that had arrived.
func (t *Transcript) applyRetry(e event.Retrying) {
	t.settle()
	t.drop(t.request, func(en *entry) bool {
		switch en.body.(type) {
		case *answer, *thought:
			return true
		}
		return false
	})
	r := &retry{event: e, until: t.now().Add(e.Delay)}
	// Tries in a row are one line.
	if t.retrying != nil && t.entries[len(t.entries)-1] == t.retrying {
		t.retrying.body = r
	} else {
		t.retried(event.RequestStarted{})
		t.retrying = t.add(r, false)
	}
	t.retrying.moving = true
	t.retrying.changed()
}

// retried ends the waiting once the request was sent again.
func (t *Transcript) retried(e event.Event) {
	if t.retrying == nil {
		return
	}
	switch e.(type) {
	case event.TextDelta, event.ReasoningDelta, event.MessageFinished, event.ReasoningFinished, event.ToolStarted, event.RequestStarted, event.TurnFinished, event.Compacted:
	default:
		return
	}
	r := t.retrying.body.(*retry)
	_, ended := e.(event.TurnFinished)
	r.over, r.early = true, ended && t.now().Before(r.until)
	t.retrying.moving = false
	t.retrying.changed()
	t.retrying = nil
}
