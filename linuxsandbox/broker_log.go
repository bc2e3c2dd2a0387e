//go:build linux

package linuxsandbox

import (
	"slices"
	"sync"

	"codeagent/sandbox"
)

// evidenceOptions say what a broker is to see beside what it does itself.
type evidenceOptions struct {
	level sandbox.EvidenceLevel
	reach reach
	// keeper is the process that the command's first one is a child of.
	keeper int
}

// How much of one command is looked at. Beyond, less is known of it, and its trace
// says so. Refusals are the same.
const (
	// maxDenials bounds how many different refusals are kept.
	maxDenials = 1000
	// maxLooked bounds the refusals of which it is found out whether they
	// mattered, and whose they were.
	maxLooked = 20000
)

// denialLog gathers what the broker refused, counting what is alike.
type denialLog struct {
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
func (b *broker) sees() bool {
	return b.evidence.level == sandbox.EvidenceFull || b.evidence.level == ""
}

// tired reports whether it is no longer found out whether refusals mattered.
func (b *broker) tired() bool { return !b.sees() || b.log.seen >= maxLooked }

// record takes up a refusal of the thread that n is from. A further one of
// another process counts as that one's: what a program did about the latest
// refusal says most about how it ended.
func (b *broker) record(n *notification, d sandbox.Denial) {
	l := &b.log
	if l.seen++; l.seen > maxLooked {
		l.lost = true
		l.again(n.tid, d)
		return
	}
	key := denialKey{d.Kind, d.Operation, d.Target, l.callers.of(n.tid).comm, l.callers.file, d.Moot}
	i, known := l.at[key]
	switch {
	case known && l.tids[i] == n.tid:
		l.mu.Lock()
		l.list[i].Count++
		l.mu.Unlock()
		return
	case !known && len(l.list) == maxDenials:
		l.lost = true
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order++
	d = b.described(n, d)
	d.Order = l.order
	l.exits.witness(&d)
	if known {
		d.Count += l.list[i].Count
		l.list[i], l.tids[i] = d, n.tid
		return
	}
	if l.at == nil {
		l.at = map[denialKey]int{}
	}
	l.at[key] = len(l.list)
	l.list, l.tids = append(l.list, d), append(l.tids, n.tid)
}

// again counts a refusal of which no more is found out: the last one of its kind of
// the same thread.
func (l *denialLog) again(tid uint32, d sandbox.Denial) {
	for i := range slices.Backward(l.list) {
		if one := &l.list[i]; l.tids[i] == tid && one.Kind == d.Kind && one.Operation == d.Operation && one.Target == d.Target {
			l.mu.Lock()
			one.Count++
			l.mu.Unlock()
			return
		}
	}
}

// described is d with what is known of the thread that n is from.
func (b *broker) described(n *notification, d sandbox.Denial) sandbox.Denial {
	d.Evidence, d.Count = sandbox.EvidenceKernel, 1
	c := b.log.callers.of(n.tid)
	_ = b.look(n) // without it no program can be examined
	d.Executable, d.Program, d.Comm = b.view.program(c)
	d.PID, d.Chain = c.pid, b.view.chainOf(c, b.evidence.keeper)
	return d
}

// refused is what was refused so far.
func (b *broker) refused() []sandbox.Denial {
	if b == nil {
		return nil
	}
	b.log.mu.Lock()
	defer b.log.mu.Unlock()
	return slices.Clone(b.log.list)
}

// trace is what was seen; complete once the broker has ended.
func (b *broker) trace() sandbox.Trace {
	if b == nil {
		return sandbox.Trace{Evidence: sandbox.EvidenceNothing}
	}
	<-b.done
	t := sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: slices.Clone(b.log.list), Exits: slices.Clone(b.log.exits.list)}
	if b.log.lost || b.blindToNetwork() {
		t.Evidence = sandbox.EvidencePartial
	}
	switch level := b.evidence.level; {
	case level == sandbox.EvidenceNothing, level == sandbox.EvidenceNetworkOnly && t.Evidence == sandbox.EvidenceFull:
		t.Evidence = level
	}
	return t
}

// blindToNetwork reports whether the command has sockets of the session's network,
// about which the broker cannot be asked because it gets at none of them.
func (b *broker) blindToNetwork() bool { return b.inet && b.hostNet != 0 && b.takes != takesCopies }
