//go:build linux

package broker

import (
	"slices"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/sandbox"
)

// sandbox.Command.Learn is called on the broker's own thread, which waits for it, and the call
// is handled again at once. What it grants holds for that call alone: thousands
// of grants would make every judgement slower, and one that stands would hide
// what the command does with it later.

// learning is the call that Learn answers for.
type learning struct {
	learn func(sandbox.Denial) (sandbox.Grant, bool) // nil: nothing is learned
	// asked is what was granted to the call already, each once: a rename has two ends.
	asked []heldKey
	// policy and protection are what they were before.
	policy     sandbox.Policy
	protection Protection
	// roots is how many were granted before.
	roots int
}

// learn reports whether a call that is about to be refused is to be handled again.
func (h *holding) learn(n *notify.Notification, pins []pin, d sandbox.Denial) bool {
	l, key := &h.learning, keyOf(&d)
	if l.learn == nil || slices.Contains(l.asked, key) || !h.askable(&d) || aboutFile(d.Kind) && !h.learnable(n, d.Target, pins) {
		return false
	}
	grant, yes := l.learn(h.log.described(n, d))
	if !yes {
		return false
	}
	if len(l.asked) == 0 {
		l.policy, l.protection, l.roots = h.judge.policy, h.judge.protection, len(h.judge.roots.list)
	}
	l.asked = append(l.asked, key)
	return h.judge.widen(key, grant)
}

// learnable reports whether path is nothing that is protected, wherever it lies:
// what a person may grant by name after reading it is not granted unread.
func (h *holding) learnable(n *notify.Notification, path string, pins []pin) bool {
	all := h.judge.policy
	all.Write = []sandbox.Root{{Path: "/"}}
	if !all.JudgeWrite(path).Allowed || slices.ContainsFunc(gitFolders("/", path), func(dir string) bool { return h.judge.foreignGit(n, dir) }) {
		return false
	}
	shown := showFile(heldKey{sandbox.KindWrite, path})
	defer shown.close()
	return shown != nil && slices.ContainsFunc(pins, func(p pin) bool { is, err := p.identity(); return err == nil && is == shown.is })
}

// forget takes back what was granted to a call that is answered now.
func (h *holding) forget() {
	l, j := &h.learning, h.judge
	if len(l.asked) == 0 {
		return
	}
	j.policy, j.protection, l.asked = l.policy, l.protection, nil
	j.roots.forgetFrom(l.roots)
}
