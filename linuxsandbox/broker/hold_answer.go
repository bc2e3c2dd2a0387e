//go:build linux

package broker

import (
	"slices"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A held call ends in one of three ways: it is answered, its caller is gone, or a signal
// interrupts it.

// settle applies the answer to a question.
func (h *holding) settle(q *question, grant sandbox.Grant, yes bool) {
	if h.ctx.Err() != nil || !h.drop(q) {
		return // the command has ended, or no call waits for the answer
	}
	defer q.shown.close()
	h.answered[q.key] = true
	// The grant is for the file that the question showed. Another file may have taken its
	// place since, or the person may have given a narrower grant that does not reach it.
	if !yes || h.wasRevoked(&sandbox.Denial{Kind: q.key.Kind, Target: q.key.Target}) || !q.shown.stands() || h.enter(grant.Write) != nil || !h.law.Widen(q.key, grant) {
		if !yes {
			h.noes++
		}
		for _, c := range h.take(func(c *heldCall) bool { return c.key == q.key }) {
			h.deny(c)
		}
		h.ask()
		return
	}
	// The grant may cover other held calls too.
	opened := h.take(func(c *heldCall) bool { return c.key == q.key || h.law.Allows(c.key) })
	for _, other := range slices.Clone(h.questions) {
		if h.law.Allows(other.key) {
			h.drop(other)
			other.cancel()
			other.shown.close()
		}
	}
	for _, c := range opened {
		h.resume(c)
	}
	h.ask()
}

// take removes the chosen calls from the held ones and returns them.
func (h *holding) take(which func(*heldCall) bool) (taken []*heldCall) {
	h.calls = slices.DeleteFunc(h.calls, func(c *heldCall) bool {
		if which(c) {
			taken = append(taken, c)
			return true
		}
		return false
	})
	return taken
}

// drop removes a question, and reports whether it was still open.
func (h *holding) drop(q *question) bool {
	i := slices.Index(h.questions, q)
	if i >= 0 {
		h.questions = slices.Delete(h.questions, i, i+1)
	}
	return i >= 0
}

// deny makes a held call fail and records the denials.
func (h *holding) deny(c *heldCall) {
	if !c.waits() {
		c.leave() // the caller is gone, so nothing was denied
		return
	}
	for _, d := range c.denials {
		h.log.Record(&c.n, d)
	}
	if c.lookup != nil {
		c.lookup(false)
		return
	}
	_ = c.n.Answer(notify.Failed(c.errno))
}

// waits reports whether the caller is still there.
func (c *heldCall) waits() bool {
	if c.lookup == nil {
		return c.n.Waits()
	}
	return unix.Kill(int(c.n.TID), 0) != unix.ESRCH
}

// leave refuses a name service question that nobody answers any more.
func (c *heldCall) leave() {
	if c.lookup != nil {
		c.lookup(false)
	}
}

// resume handles a granted call again. It never lets the call proceed: the kernel would
// read the arguments once more, and they may by then name another file than the person
// was shown.
func (h *holding) resume(c *heldCall) {
	if !c.waits() {
		c.leave()
		return
	}
	if c.lookup != nil {
		c.lookup(true)
		return
	}
	a := h.handle(&c.n)
	if a.Proceeds() {
		h.deny(c)
		return
	}
	_ = c.n.Answer(a)
}

// lookAtCallers drops the calls whose caller is gone, answers the calls that a signal
// interrupts, and drops the questions that no call waits for any more.
func (h *holding) lookAtCallers() {
	if len(h.questions) == 0 || time.Since(h.looked) < heldMillis*time.Millisecond {
		return
	}
	h.looked = time.Now()
	h.take(func(c *heldCall) bool {
		if !c.waits() {
			c.leave()
			return true
		}
		if c.lookup != nil {
			return false // a signal interrupts this caller without our help
		}
		errno := c.signals.interrupt(c.n.TID)
		if errno == 0 {
			return false
		}
		for _, q := range h.questions {
			if q.key == c.key {
				q.interrupted = time.Now()
			}
		}
		return c.n.Answer(notify.Failed(errno)) == nil
	})
	for _, q := range slices.Clone(h.questions) {
		waits := slices.ContainsFunc(h.calls, func(c *heldCall) bool { return c.key == q.key })
		if !waits && time.Since(q.interrupted) > comesAgain {
			h.drop(q)
			q.cancel()
			q.shown.close()
		}
	}
	h.ask() // there may be room for calls in line
}
