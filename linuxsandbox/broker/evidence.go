//go:build linux

package broker

import (
	"slices"
	"sync"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"
)

// How much of one command is looked at. Beyond, less is known of it, and its trace
// says so. Refusals are the same.
const (
	// MaxDenials bounds how many different refusals are kept.
	MaxDenials = 1000
	// MaxLooked bounds the refusals of which it is found out whether they
	// mattered, and whose they were.
	MaxLooked = 20000
)

// evidence gathers what the broker refused, counting what is alike, and how the
// processes of the command ended.
type evidence struct {
	// level is how much is looked at.
	level sandbox.EvidenceLevel
	// keeper is the process that the command's first one is a child of.
	keeper int
	walk   *pathwalk.Walker

	mu   sync.Mutex
	list []sandbox.Denial // written by the broker alone, under mu
	tids []uint32         // of each one's thread
	at   map[denialKey]int
	seen int
	lost bool
	// order is the number of the latest denial or exit.
	order   int
	exits   exitLog
	callers callerCache
}

// denialKey is what is alike in refusals that are counted together. One that
// mattered is no more of one that did not.
type denialKey struct {
	kind              sandbox.DenialKind
	operation, target string
	comm, file        string
	moot              bool
}

// sees reports whether calls are looked at that the kernel's layers refuse by
// themselves.
func (e *evidence) sees() bool {
	return e.level == sandbox.EvidenceFull || e.level == ""
}

// tired reports whether it is no longer found out whether refusals mattered.
func (e *evidence) tired() bool { return !e.sees() || e.seen >= MaxLooked }

// record takes up a refusal of the thread that n is from. A further one of
// another process counts as that one's: what a program did about the latest
// refusal says most about how it ended.
func (e *evidence) record(n *notify.Notification, d sandbox.Denial) {
	if e.seen++; e.seen > MaxLooked {
		e.lost = true
		e.again(n.TID, d)
		return
	}
	key := denialKey{d.Kind, d.Operation, d.Target, e.callers.of(n.TID).comm, e.callers.file, d.Moot}
	i, known := e.at[key]
	switch {
	case known && e.tids[i] == n.TID:
		e.mu.Lock()
		e.list[i].Count++
		e.mu.Unlock()
		return
	case !known && len(e.list) == MaxDenials:
		e.lost = true
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order++
	d = e.described(n, d)
	d.Order = e.order
	e.exits.witness(&d)
	if known {
		d.Count += e.list[i].Count
		e.list[i], e.tids[i] = d, n.TID
		return
	}
	if e.at == nil {
		e.at = map[denialKey]int{}
	}
	e.at[key] = len(e.list)
	e.list, e.tids = append(e.list, d), append(e.tids, n.TID)
}

// again counts a refusal of which no more is found out: the last one of its kind of
// the same thread.
func (e *evidence) again(tid uint32, d sandbox.Denial) {
	for i := range slices.Backward(e.list) {
		if one := &e.list[i]; e.tids[i] == tid && one.Kind == d.Kind && one.Operation == d.Operation && one.Target == d.Target {
			e.mu.Lock()
			one.Count++
			e.mu.Unlock()
			return
		}
	}
}

// described is d with what is known of the thread that n is from.
func (e *evidence) described(n *notify.Notification, d sandbox.Denial) sandbox.Denial {
	d.Evidence, d.Count = sandbox.EvidenceKernel, 1
	c := e.callers.of(n.TID)
	seen := e.walk.Look(n) == nil // without it no program can be examined
	d.Executable, d.Program, d.Comm = e.program(c, seen)
	d.PID, d.Chain = c.pid, e.chainOf(c, seen)
	return d
}

// refused is what was refused so far.
func (e *evidence) refused() []sandbox.Denial {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

// trace is what was seen, once the broker has ended. blind: there was more to see.
func (e *evidence) trace(blind bool) sandbox.Trace {
	t := sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: slices.Clone(e.list), Exits: slices.Clone(e.exits.list)}
	if e.lost || blind {
		t.Evidence = sandbox.EvidencePartial
	}
	if e.level == sandbox.EvidenceNothing || e.level == sandbox.EvidenceNetworkOnly && t.Evidence == sandbox.EvidenceFull {
		t.Evidence = e.level
	}
	return t
}
