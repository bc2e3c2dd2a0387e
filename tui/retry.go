package tui

import (
	"fmt"
	"time"

	"codeagent/event"
)

// retry is a request that failed and is sent again. The time that is left moves
// while it waits, and only then.
type retry struct {
	told  event.Retrying
	until time.Time
	// over: it was sent again, and something came of it; early: the waiting was
	// interrupted.
	over, early bool
}

func (r *retry) draw(c canvas) []string {
	words := firstOf(r.told.Message, "the request failed")
	left := r.until.Sub(c.now)
	switch {
	case r.early:
		words += " · not tried again"
	case r.over:
		words += " · retried (" + r.told.Number() + ")"
	default:
		words += " · retry " + r.told.Number()
		if left > 0 {
			words += " in " + countdown(left)
		}
		if more := max(left, 0) + r.told.Left; r.told.Left > 0 {
			words += " · gives up in " + countdown(more) + " · Esc: stop now"
		}
	}
	return c.fold(c.hang(span{"▲", warn}, span{words, text}), 8, 0)
}

// countdown writes what is left of a time, up to the next second.
func countdown(left time.Duration) string {
	if left += time.Second - 1; left >= time.Minute {
		return clock(left)
	}
	return fmt.Sprintf("%d s", int(left.Seconds()))
}

// applyRetry takes back what was told of the answer that broke off.
func (m *app) applyRetry(e event.Retrying) {
	m.settle()
	m.transcript.drop(m.request, func(en *entry) bool {
		switch en.body.(type) {
		case *answer, *thought:
			return true
		}
		return false
	})
	r := &retry{told: e, until: m.now().Add(e.Delay)}
	// Tries in a row are one line.
	if m.retrying != nil && m.transcript.entries[len(m.transcript.entries)-1] == m.retrying {
		m.retrying.body = r
	} else {
		m.retried(event.RequestStarted{})
		m.retrying = m.transcript.add(r, false)
	}
	m.retrying.moving = true
	m.retrying.changed()
}

// retried ends the waiting when something comes of it.
func (m *app) retried(e event.Event) {
	if m.retrying == nil {
		return
	}
	switch e.(type) {
	case event.TextDelta, event.ReasoningDelta, event.MessageFinished, event.ReasoningFinished, event.ToolStarted, event.RequestStarted, event.TurnFinished, event.Compacted:
	default:
		return
	}
	r := m.retrying.body.(*retry)
	_, ended := e.(event.TurnFinished)
	r.over, r.early = true, ended && m.now().Before(r.until)
	m.retrying.moving = false
	m.retrying.changed()
	m.retrying = nil
}
