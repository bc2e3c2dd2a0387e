package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/message"
)

// work is the turn that runs, or what runs like one.
type work struct {
	running bool
	doing   string // what runs, where it is not a turn
	since   time.Time
	outcome word.TurnOutcome  // how it ended; "" while it runs
	queued  []message.Message // for after the turn
}

// apply takes the outcome that an event reports.
func (w *work) apply(e event.Event) {
	switch e := e.(type) {
	case event.TurnFinished:
		w.outcome = cmp.Or(e.Outcome, word.TurnDone)
	case event.Compacted:
		if e.Err != "" && e.Reason == word.CompactAsked {
			w.outcome = word.TurnFailed // the transcript shows the error
		}
	}
}

// submit sends a message: it starts a turn or steers the one that runs.
func (m *app) submit(s message.Message) tea.Cmd {
	m.transcript.End()
	if m.work.running {
		m.box.steer(s)
		return nil
	}
	return m.startTurn(s)
}

func (m *app) startTurn(s message.Message) tea.Cmd {
	m.do(m.modes.ForgetPlan())
	m.transcript.Show(s.Shown())
	return m.begin("", m.turn(s))
}

// begin starts a turn, or work that runs like one.
func (m *app) begin(doing string, work tea.Cmd) tea.Cmd {
	m.work.running, m.work.doing, m.work.since, m.work.outcome = true, doing, m.now(), ""
	return tea.Batch(work, m.startTicking())
}

// turnDone closes what the turn left open and sends the next message that waits.
// After an interrupted or failed turn waiting messages return to the editor: the
// person decides.
func (m *app) turnDone(msg turnDoneMsg) tea.Cmd {
	m.work.running = false
	m.transcript.Interrupt()
	if m.work.outcome == "" {
		m.work.outcome = word.TurnDone
		switch {
		case errors.Is(msg.err, ErrInterrupted):
			m.work.outcome = word.TurnInterrupted
			m.transcript.Note(word.LevelInfo, "Interrupted.")
		case msg.err != nil:
			m.work.outcome = word.TurnFailed
			m.transcript.Note(word.LevelError, msg.err.Error())
		}
	}
	var cmd tea.Cmd
	if msg.next != nil {
		if cmd = msg.next(m); m.work.running {
			return cmd // what waits is for the turn that began
		}
	}
	return tea.Batch(cmd, m.sendWaiting(), m.lookForEnds(), m.lookAround())
}

// sendWaiting sends what waited for the end of the turn, or gives it back.
func (m *app) sendWaiting() tea.Cmd {
	waiting := m.box.unsteer()
	if m.work.outcome == word.TurnDone {
		if len(waiting) > 0 {
			return m.startTurn(message.Join(waiting))
		}
		if len(m.work.queued) > 0 {
			next := m.work.queued[0]
			m.work.queued = m.work.queued[1:]
			run, stays := deedOf(m, next)
			if run == nil {
				return m.startTurn(next)
			}
			if stays {
				m.work.queued = slices.Insert(m.work.queued, 0, next)
			}
			cmd := run()
			if !m.work.running { // the person decides about what comes after it
				giveBack(m, m.work.queued)
				m.work.queued = nil
			}
			return cmd
		}
		if m.modes.Plans() && m.facts.Replan {
			return m.do(m.modes.AskPlan())
		}
		return nil
	}
	giveBack(m, append(waiting, m.work.queued...))
	m.work.queued = nil
	return nil
}

// giveBack puts messages that waited before the text in the editor.
func giveBack(m *app, waiting []message.Message) {
	if len(waiting) == 0 {
		return
	}
	m.transcript.Note(word.LevelInfo, short.Count(len(waiting), "waiting message")+" returned to the editor, not sent")
	if !m.composer.Empty() {
		waiting = append(waiting, m.composer.Message())
	}
	m.composer.Restore(message.Join(waiting))
}

// takeBackWaiting moves the newest message that waits into the editor; false: none
// waits.
func takeBackWaiting(m *app) bool {
	if n := len(m.work.queued); n > 0 {
		m.composer.TakeBack(m.work.queued[n-1])
		m.work.queued = m.work.queued[:n-1]
		return true
	}
	s, ok := m.box.unsteerLast()
	if ok {
		m.composer.TakeBack(s)
	}
	return ok
}

// between is "" while no turn runs, else a hint what to do first. The key comes
// first in it, because a narrow screen cuts the end off.
func (m *app) between(what string) string {
	if m.work.running {
		return m.keys.Name(keys.Everywhere, keys.Back) + " interrupts the turn; " + what + " works only between turns"
	}
	return ""
}

// compact is /compact: it runs as a turn does.
func compact(m *app, focus string) tea.Cmd {
	m.transcript.End()
	shorten := m.offers.Compact
	return m.begin("Compacting", m.run(func(ctx context.Context) (then, error) { return nil, shorten(ctx, focus) }))
}
