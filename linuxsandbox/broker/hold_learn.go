//go:build linux

package broker

import (
	"slices"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
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
	asked []heldKey
	// policy and protection are as before the first grant.
	policy     resolved.Policy
	protection Protection
	// roots is the number of granted roots before the first grant.
	roots int
}

// learn reports whether a call that is about to be denied must be handled again.
func (h *holding) learn(n *notify.Notification, pins []pin, d sandbox.Denial) bool {
	l, key := &h.learning, keyOf(&d)
	if l.learn == nil || slices.Contains(l.asked, key) || !h.askable(&d) || aboutFile(d.Kind) && !h.learnable(n, d.Target, pins) {
		return false
	}
	grant, yes := l.learn(h.log.Described(n, d))
	if !yes {
		return false
	}
	if len(l.asked) == 0 {
		l.policy, l.protection, l.roots = h.judge.policy, h.judge.protection, len(h.judge.roots.list)
	}
	l.asked = append(l.asked, key)
	return h.judge.widen(key, grant)
}

// learnable reports whether path may be granted although no person reads the question: it
// is not protected, and it is one of the files that the call names.
func (h *holding) learnable(n *notify.Notification, path string, pins []pin) bool {
	all := h.judge.policy.Plus([]string{"/"}, nil)
	if !all.JudgeWrite(path).Allowed || slices.ContainsFunc(gitFolders("/", path), func(dir string) bool { return h.judge.repos.foreignGit(n, dir) }) {
		return false
	}
	shown := showFile(heldKey{sandbox.KindWrite, path})
	defer shown.close()
	return shown != nil && slices.ContainsFunc(pins, func(p pin) bool { is, err := p.identity(); return err == nil && is == shown.is })
}

// forget takes back what was granted to a call that is now answered.
func (h *holding) forget() {
	l, j := &h.learning, h.judge
	if len(l.asked) == 0 {
		return
	}
	j.policy, j.protection, l.asked = l.policy, l.protection, nil
	j.roots.forgetFrom(l.roots)
}
