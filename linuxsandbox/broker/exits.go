//go:build linux

package broker

import (
	"slices"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/sandbox"
)

// The filter asks about exit_group too, which always proceeds: from how the
// processes of a command ended one can tell whether a refusal mattered to it.
// Until something was refused nothing is looked at. A process that a signal ends
// does not ask.
//
// Asking has a price. In the microseconds until the broker has received the call a
// signal whose handler does not restart calls makes it return EINTR, which it never
// does otherwise. C libraries then end the calling thread instead, which is the same
// for a process that has no others.

const (
	// maxExits is how many exits are kept beside those of processes that matter.
	maxExits = 4096
	// maxWitnesses bounds the processes that matter.
	maxWitnesses = 16384
)

// exitLog is how processes ended since the first refusal.
type exitLog struct {
	list []sandbox.Exit
	// witnesses are the processes that were refused something, and their ancestors.
	witnesses map[int]bool
}

// witness takes up who saw a refusal.
func (l *exitLog) witness(d *sandbox.Denial) {
	if l.witnesses == nil {
		l.witnesses = map[int]bool{}
	}
	if len(l.witnesses) > maxWitnesses {
		return
	}
	l.witnesses[d.PID] = true
	for _, a := range d.Chain {
		l.witnesses[a.PID] = true
	}
}

// add takes up an exit. Old ones of other processes are forgotten, then the
// oldest of all.
func (l *exitLog) add(e sandbox.Exit) {
	l.list = append(l.list, e)
	if len(l.list) < 3*maxExits {
		return
	}
	old := len(l.list) - maxExits
	kept := slices.DeleteFunc(l.list[:old:old], func(e sandbox.Exit) bool { return !l.witnesses[e.PID] })
	kept = kept[max(0, len(kept)-maxExits):]
	l.list = slices.Concat(kept, l.list[old:])
}

// exit takes note of an exit_group.
func (e *evidence) exit(n *notify.Notification) {
	if e.order == 0 || e.level == sandbox.EvidenceNothing {
		return
	}
	if c := callerOf(n.TID); c.pid != 0 {
		e.order++
		e.exits.add(sandbox.Exit{PID: c.pid, Parent: c.parent, Comm: c.comm, Status: int(n.Args[0] & 0xff), Order: e.order})
	}
}
