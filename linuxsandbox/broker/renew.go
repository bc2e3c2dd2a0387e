//go:build linux

package broker

import (
	"math"

	"codeagent/sandbox"
)

// Renew implements sandbox.Renewer. It returns when the next part has begun.
func (b *Broker) Renew() sandbox.Trace {
	if b == nil {
		return sandbox.Trace{Evidence: sandbox.EvidenceNothing}
	}
	done := make(chan sandbox.Trace, 1)
	if !b.posts.add(math.MaxInt, func() { done <- b.renew() }) {
		return b.Trace() // the command has ended
	}
	select {
	case t := <-done:
		return t
	case <-b.done:
		// The functions that were left run before done is closed.
		select {
		case t := <-done:
			return t
		default:
			return b.Trace()
		}
	}
}

// renew runs on the broker's thread. What was revoked stays refused by the narrower policy, and may
// be asked about again.
func (b *Broker) renew() sandbox.Trace {
	b.held.denyAll()
	t := b.log.trace(b.sockets.Blind())
	b.log.clear()
	h := b.held
	h.answered, h.noes, h.revoked = map[heldKey]bool{}, 0, nil
	b.judge.mayLose = false
	b.observer.reported = reportedPaths{}
	return t
}

// denyAll denies every held call: nobody answers its question any more.
func (h *holding) denyAll() {
	for _, q := range h.questions {
		q.cancel()
		q.shown.close()
	}
	h.questions = nil
	for _, c := range h.take(func(*heldCall) bool { return true }) {
		h.deny(c)
	}
}

// clear forgets the denials and exits. Their order goes on.
func (e *evidence) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list, e.tids, e.at, e.seen, e.lost = nil, nil, nil, 0, false
	e.exits = exitLog{}
}
