//go:build linux

package broker

import (
	"slices"

	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/sandbox"
)

// Learning shows in one run all permissions that a command needs. Before the broker denies
// a call, its thread calls sandbox.Command.Learn, if set, and waits for it. If Learn grants
// what is missing, the broker handles the call again. The grant holds for that call alone:
// thousands of standing grants would slow down every judgement, and a standing grant would
// hide what the command does with the path later.

// lesson is the state of the call that Learn answers for.
type lesson struct {
	learn func(sandbox.Denial) (sandbox.Grant, bool) // nil: nothing is learned
	// asked are the keys granted to the call so far, each once: a rename has two ends.
	asked []judge.Request
	// before is the law before the first grant.
	before judge.State
}

// learn reports whether a call that is about to be denied must be handled again.
func (h *holding) learn(n *notify.Notification, pins []pin, d sandbox.Denial) bool {
	l, key := &h.learning, keyOf(&d)
	if l.learn == nil || slices.Contains(l.asked, key) || !h.askable(&d) || judge.AboutFile(d.Kind) && !h.learnable(n, d.Target, pins) {
		return false
	}
	grant, yes := l.learn(h.log.Described(n, d))
	if !yes {
		return false
	}
	if len(l.asked) == 0 {
		l.before = h.law.State()
	}
	l.asked = append(l.asked, key)
	return h.law.Widen(key, grant)
}

// learnable reports whether path may be granted although no person reads the question: it
// is not protected, and it is one of the files that the call names.
func (h *holding) learnable(n *notify.Notification, path string, pins []pin) bool {
	if !h.law.Learnable(n, path) {
		return false
	}
	shown := showFile(judge.Request{Kind: sandbox.KindWrite, Target: path})
	defer shown.close()
	return shown != nil && slices.ContainsFunc(pins, func(p pin) bool { is, err := p.identity(); return err == nil && is == shown.is })
}

// forget takes back what was granted to a call that is now answered.
func (h *holding) forget() {
	if l := &h.learning; len(l.asked) > 0 {
		h.law.Restore(l.before)
		l.asked = nil
	}
}
