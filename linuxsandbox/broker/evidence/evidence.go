//go:build linux

// Package evidence is the log of a command's denials, with the programs that met them and how they
// ended. It reads /proc and decides nothing. Start with Log.
package evidence

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
	"sync"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
)

// MaxDenials bounds how many different denials of a kind are kept for one command: the first half, and the
// latest. Beyond it the trace is incomplete and marked so. The bound does not change what is denied.
const MaxDenials = 1000

// Log collects the denials of a command, with a count of equal ones, and how its
// processes ended.
type Log struct {
	level  sandbox.EvidenceLevel
	reads  bool
	keeper int
	walk   *pathwalk.Walker

	mu   sync.Mutex
	kept map[denialKey]*sandbox.Denial // only the broker writes it, under mu
	// many counts the kept denials of each kind. half is the order of the denial with which a kind had half of
	// MaxDenials.
	many, half map[sandbox.DenialKind]int
	lost       bool
	// ended counts the processes that have ended.
	ended int
	// order is the number of the latest denial or exit.
	order   int
	exits   exitLog
	callers callerCache
	// connected are the connections that have ended; guarded by mu.
	connected sandbox.Connections
}

// New makes the log of one command. level is how much is examined, reads whether refused reads are
// seen too, and keeper the PID of the parent of the command's first process.
func New(level sandbox.EvidenceLevel, reads bool, keeper int, walk *pathwalk.Walker) *Log {
	return &Log{level: level, reads: reads, keeper: keeper, walk: walk}
}

// denialKey identifies denials that are counted together. A moot denial is not counted with
// one that mattered.
type denialKey struct {
	kind              sandbox.DenialKind
	operation, target string
	comm, file        string
	moot              bool
	unwritten         *sandbox.Unwritten
}

// Sees reports whether the broker also examines the calls that the kernel's layers deny
// without it.
func (e *Log) Sees() bool {
	return e.level == sandbox.EvidenceFull || e.level == ""
}

// Missed marks the trace as incomplete.
func (e *Log) Missed() { e.lost = true }

// Ends returns how many processes have ended.
func (e *Log) Ends() int { return e.ended }

// Record adds a denial of the thread that made n. When another process repeats an equal denial, the entry
// moves to that process, with the count of both: the latest denial says most about how its process ended.
func (e *Log) Record(n *notify.Notification, d sandbox.Denial) {
	key := denialKey{d.Kind, d.Operation, d.Target, e.callers.of(n.TID).comm, e.callers.file, d.Moot, d.Unwritten}
	known := e.kept[key]
	e.mu.Lock()
	defer e.mu.Unlock()
	if known != nil && known.PID == e.callers.last.pid {
		known.Count++
		return
	}
	e.order++
	d = e.Described(n, d)
	d.Order = e.order
	e.exits.witness(&d)
	switch {
	case e.kept == nil:
		e.kept, e.many, e.half = map[denialKey]*sandbox.Denial{}, map[sandbox.DenialKind]int{}, map[sandbox.DenialKind]int{}
	case known != nil:
		d.Count += known.Count
		*known = d
		return
	case e.many[d.Kind] == MaxDenials:
		e.makeRoom(d.Kind)
	}
	e.kept[key] = &d
	if e.many[d.Kind]++; e.many[d.Kind] == MaxDenials/2 {
		e.half[d.Kind] = e.order
	}
}

// makeRoom drops the oldest denial of the kind that is not one of the first half.
func (e *Log) makeRoom(kind sandbox.DenialKind) {
	var oldest denialKey
	order := e.order
	for key, d := range e.kept {
		if key.kind == kind && d.Order > e.half[kind] && d.Order < order {
			oldest, order = key, d.Order
		}
	}
	delete(e.kept, oldest)
	e.many[kind], e.lost = e.many[kind]-1, true
}

// Supersede drops what was not written at target: the command made or removed the entry again.
func (e *Log) Supersede(target string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range e.kept {
		if d.Unwritten != nil && d.Target == target {
			d.Unwritten = nil
		}
	}
}

// Connected adds a connection to a host. Any goroutine may call it.
func (e *Log) Connected(c sandbox.Connection) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.connected.Add(c)
}

// connections returns those to hosts, and those that were denied.
func (e *Log) connections(denials []sandbox.Denial) sandbox.Connections {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.connected.Clone()
	for _, d := range denials {
		to, err := sandbox.ParseHostPort(d.Target)
		if d.Kind != sandbox.KindNetwork || d.Operation == "bind" || err != nil {
			continue
		}
		c := sandbox.Connection{
			Host: to.Host, Port: to.Port, Executable: d.Executable, Program: cmp.Or(d.Program, d.Comm),
			Verdict: sandbox.ConnectionDenied, Traffic: sandbox.Traffic{Count: d.Count},
		}
		if at, err := netip.ParseAddrPort(d.Requested); err == nil {
			c.Address = at.Addr()
		} else if a, err := netip.ParseAddr(to.Host); err == nil {
			c.Host, c.Address = "", a
		}
		out.Add(c)
	}
	return out
}

// Described returns d with what is known about the thread that made n.
func (e *Log) Described(n *notify.Notification, d sandbox.Denial) sandbox.Denial {
	d.Evidence, d.Count = sandbox.EvidenceKernel, 1
	c := e.callers.of(n.TID)
	seen := e.walk.Look(n) == nil // otherwise no program can be examined
	d.Executable, d.Program, d.Comm = e.program(c, seen)
	d.PID, d.Chain, d.Used = c.pid, e.chainOf(c, seen), processorTime(c.pid)
	return d
}

// Refused returns the denials so far, in order.
func (e *Log) Refused() []sandbox.Denial {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []sandbox.Denial
	for _, d := range e.kept {
		list = append(list, *d)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Order < list[j].Order })
	return list
}

// Trace returns what was seen, once the broker has ended. blind: the broker missed
// something.
func (e *Log) Trace(blind bool) sandbox.Trace {
	t := sandbox.Trace{Evidence: sandbox.EvidenceFull, Reads: e.reads, Denials: e.Refused(), Exits: slices.Clone(e.exits.list)}
	t.Connections = e.connections(t.Denials)
	if e.lost || blind {
		t.Evidence = sandbox.EvidencePartial
	}
	if e.level == sandbox.EvidenceNothing || e.level == sandbox.EvidenceNetworkOnly && t.Evidence == sandbox.EvidenceFull {
		t.Evidence = e.level
	}
	return t
}

// The filter also asks about exit_group, which always proceeds: how the processes of a
// command ended shows whether a denial mattered. A process that is killed by a signal makes no
// such call.
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

// exitLog records how processes ended.
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

// Exit records an exit_group.
func (e *Log) Exit(n *notify.Notification) {
	e.ended++
	if e.level == sandbox.EvidenceNothing {
		return
	}
	c, _ := kernel.ReadProcess(kernel.ProcessOf(int(n.TID)))
	by, ok := kernel.ReadProcess(c.Parent)
	for ok && by.Forked {
		by, ok = kernel.ReadProcess(by.Parent)
	}
	if c.PID != 0 {
		e.order++
		e.exits.add(sandbox.Exit{PID: c.PID, Parent: c.Parent, By: by.PID, ByComm: by.Comm, Forked: c.Forked, Comm: c.Comm, Status: int(n.Args[0] & 0xff), Used: processorTime(c.PID), Order: e.order})
	}
}

// Clear forgets the denials and exits. Their order goes on.
func (e *Log) Clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept, e.lost = nil, false
	e.exits, e.connected = exitLog{}, sandbox.Connections{}
}
