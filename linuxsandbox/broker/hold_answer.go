//go:build linux

package broker

import (
	"slices"
	"time"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// What becomes of calls that wait: they are answered, their callers are gone, or
// a signal calls them away.

// tendHeld answers the calls whose question was answered, and lets go of those
// that nobody waits for any more. woken: an answer was left, perhaps to a question
// that is dropped by now; it is taken all the same, else the wake-up would stand.
func (h *holding) tend(woken bool) {
	if len(h.questions) == 0 && !woken {
		return
	}
	var count [8]byte
	_, _ = unix.Read(h.wake, count[:])
	for more := true; more; {
		select {
		case a := <-h.answers:
			h.settle(a)
		default:
			more = false
		}
	}
	if time.Since(h.looked) >= heldMillis*time.Millisecond {
		h.lookAtCallers()
		h.looked = time.Now()
	}
}

// settle does what an answer says.
func (h *holding) settle(a heldAnswer) {
	q := a.question
	if !h.drop(q) {
		return // nobody waits for it
	}
	defer q.shown.close()
	h.answered[q.key] = true
	// The grant is for what the question showed. Another file may have come to
	// stand in its place since, and a narrower grant may not reach it.
	if !a.yes || !q.shown.stands() || !h.judge.widen(q.key, a.grant) {
		if !a.yes {
			h.noes++
		}
		for _, c := range h.take(func(c *heldCall) bool { return c.key == q.key }) {
			h.deny(c)
		}
		h.ask()
		return
	}
	// It may open what others wait for, too.
	opened := h.take(func(c *heldCall) bool { return c.key == q.key || h.judge.allows(c.key) })
	for _, other := range slices.Clone(h.questions) {
		if h.judge.allows(other.key) {
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

// take removes calls from those that wait.
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

// drop forgets an open question, and reports whether it was one.
func (h *holding) drop(q *question) bool {
	i := slices.Index(h.questions, q)
	if i >= 0 {
		h.questions = slices.Delete(h.questions, i, i+1)
	}
	return i >= 0
}

// deny lets a call that waited fail, and writes that down.
func (h *holding) deny(c *heldCall) {
	if !c.waits() {
		c.leave() // the caller is gone: nothing was refused
		return
	}
	for _, d := range c.denials {
		h.log.record(&c.n, d)
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

// leave lets go of who carries the question of a caller that is gone.
func (c *heldCall) leave() {
	if c.lookup != nil {
		c.lookup(false)
	}
}

// resume handles a call again that was granted. It is never let go on by itself:
// what it names by now may not be what the person was shown, and the kernel would
// read it once more.
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

// lookAtCallers lets go of the calls that nobody waits for any more, and of the
// questions that then no call waits for.
func (h *holding) lookAtCallers() {
	h.take(func(c *heldCall) bool {
		if !c.waits() {
			c.leave()
			return true
		}
		if c.lookup != nil {
			return false // a signal takes the caller away without anybody's help
		}
		errno := c.signals.calledAway(c.n.TID)
		if errno == 0 {
			return false
		}
		for _, q := range h.questions {
			if q.key == c.key {
				q.calledAway = time.Now()
			}
		}
		return c.n.Answer(notify.Failed(errno)) == nil
	})
	for _, q := range slices.Clone(h.questions) {
		waits := slices.ContainsFunc(h.calls, func(c *heldCall) bool { return c.key == q.key })
		if !waits && time.Since(q.calledAway) > comesAgain {
			h.drop(q)
			q.cancel()
			q.shown.close()
		}
	}
	h.ask() // there may be room for those in line
}
