//go:build linux

package broker

import (
	"slices"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/sandbox"
)

// The filter also asks about exit_group, which always proceeds: how the processes of a
// command ended shows whether a denial mattered. Nothing is examined before the first
// denial. A process that is killed by a signal makes no such call.
//
// This has a price. Until the broker has received the call, for some microseconds, a signal
// whose handler is set without SA_RESTART makes exit_group return EINTR, which it never does
// otherwise. C libraries then end the calling thread instead. For a process with one thread
// that is the same.

const (
	// maxExits is how many exits are kept beside those of witnesses.
	maxExits = 4096
	// maxWitnesses bounds the witnesses.
	maxWitnesses = 16384
)

// exitLog records how processes ended after the first denial.
type exitLog struct {
	list []sandbox.Exit
	// witnesses are the processes with a denied call, and their ancestors.
	witnesses map[int]bool
}

// witness adds the process of a denial and its ancestors.
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

// add adds an exit. Beyond the bound it drops old exits of other processes first, then the
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

// exit records an exit_group.
func (e *evidence) exit(n *notify.Notification) {
	if e.order == 0 || e.level == sandbox.EvidenceNothing {
		return
	}
	if c := callerOf(n.TID); c.pid != 0 {
		e.order++
		e.exits.add(sandbox.Exit{PID: c.pid, Parent: c.parent, Comm: c.comm, Status: int(n.Args[0] & 0xff), Order: e.order})
	}
}
