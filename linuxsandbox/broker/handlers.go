//go:build linux

package broker

import (
	"sync"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/processes"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/broker/terminal"
	"codeagent/linuxsandbox/broker/umask"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// handlers answer the calls of a command, each kind by a part that is given what it needs and
// cannot reach the rest. Only the broker's thread uses them until done is closed.
type handlers struct {
	opens     *opens
	entries   *entries
	moves     *moves
	reads     *reads
	metadata  *metadata
	files     *descriptors
	processes *processes.Calls
	terms     *terminal.Terminals
	masks     *umask.Masks
	sockets   *sockets.Sockets
	looks     *looks    // nil: nobody wants to know
	programs  *programs // nil: all may start

	rules notify.Rules
	judge interface{ Any() bool } // whether a path is brokered
	log   interface {
		Sees() bool
		Exit(n *notify.Notification)
	}
}

// fileCalls is what opens, entries and moves have in common.
type fileCalls struct {
	rules    notify.Rules
	walk     fileWalk
	judge    *judge.Judge
	observer *observer
	still    sync.Locker // held from the judgement to the change
	deny     *denials
	losses   *losses
	masks    *umask.Masks
	fresh    *freshFile
}

// fileWalk finds what a call names.
type fileWalk interface {
	socketWalk
	Spot(c pathwalk.Caller, m pathwalk.Name) (pathwalk.Spot, error)
	Target(c pathwalk.Caller, m pathwalk.Name, follow bool) (*pathwalk.Target, error)
	ScopedTarget(c pathwalk.Caller, m pathwalk.Name, follow bool, resolve uint64) (*pathwalk.Target, error)
	hostWalk
}

// hostWalk knows the host's file behind one of the command.
type hostWalk interface {
	PolicyPath(fd int) string
	AsHost(fd int, path string) int
}

// maxLookUps bounds the name service questions that wait for the broker's thread.
const maxLookUps = 256

// handlersFor makes the handlers of what b has.
func (b *Broker) handlersFor(o Options) handlers {
	walk, log, j, rights, watch := &b.walk, b.log, b.judge, &b.rights, &b.observer
	still, mounts, masks := b.session.Lock(), o.Order.Mounts, new(umask.Masks)
	deny := &denials{judge: j, rights: rights, walk: walk, log: log, hold: b.held.refuse}
	loss := &losses{to: o.Command.Observer, judge: j, refuse: deny.refuse}
	files := &fileCalls{rules: b.rules, walk: walk, judge: j, observer: watch, still: still, deny: deny, losses: loss, masks: masks, fresh: &b.fresh}
	terms := terminal.New(terminal.Options{
		OwnPTS: mounts != nil && mounts.Terminals, Mounted: mounts != nil, Command: o.Command, Taking: o.Taking,
		MayWrite: func(path string) bool { return !j.Shut(sandbox.KindWrite, path) }, Walk: walk, Log: log,
	})
	read := &reads{rules: b.rules, walk: walk, reading: readingOf(o.Order), judge: j, rights: rights, log: log, deny: deny, learn: o.Command.Learn}
	open := &opens{fileCalls: files, links: &b.links, tracked: &b.tracked, terms: terms, waiting: &b.waiting, reads: read, learns: o.Command.Learn != nil}
	read.openOld = open.openOld
	bound := &socketFiles{walk: walk, judge: j, observer: watch, still: still, deny: deny, full: b.session.sockets.Full}
	var programsOf *programs
	if o.Order.Programs {
		programsOf = &programs{walk: walk, allowed: b.held.law.Policy().Programs, log: log}
	}
	return handlers{
		looks: looksOf(o, walk), programs: programsOf,
		opens: open, reads: read, terms: terms, masks: masks,
		entries:   &entries{fileCalls: files, log: log},
		moves:     &moves{files},
		metadata:  &metadata{walk: walk, judge: j, rights: rights, observer: watch, fresh: &b.fresh, deny: deny, still: still},
		files:     &descriptors{walk: walk, judge: j, losses: loss, still: still, waiting: &b.waiting, log: log, refuse: deny.refuse},
		processes: processes.New(b.rules, o.Keeper, func() uint64 { return rights.dropped }, walk, log),
		sockets: sockets.New(sockets.Options{
			Policy: b.held.law.Policy(), Walk: walk, Record: log.Record, Refuse: b.held.refuseConnect, Unread: deny.unread, MakeFile: bound.make,
			Listens: listens(o.Command.Listens, log), Connected: log.Connected, Program: log.Program,
			LookUp: func(n *notify.Notification, client *netns.Client, q *netns.Question) bool {
				return b.posts.add(maxLookUps, func() { b.held.lookUp(n, client, q) })
			},
			Records: &b.session.sockets, Network: b.session.Net, Inet: o.Order.Network, AskInet: o.Order.AskNetwork, Datagrams: o.Order.Sends(), HostNet: o.Order.HostNet, Taking: o.Taking, Caps: rights.keep, Wake: b.wake,
		}),
		rules: b.rules, judge: j, log: log,
	}
}

// handle handles one call once.
func (h *handlers) handle(n *notify.Notification) notify.Reply {
	if h.programs != nil && (n.NR == unix.SYS_EXECVE || n.NR == unix.SYS_EXECVEAT) {
		if errno := h.programs.start(n, calls.LookupOf(n.NR)); errno != 0 {
			return notify.Failed(errno)
		}
		if h.looks == nil {
			return h.rules.Proceed(notify.ByCaller)
		}
	}
	if h.looks != nil {
		if rule := h.looks.note(n); rule != 0 {
			return h.rules.Proceed(rule)
		}
	}
	if c := calls.MetadataOf(n.NR); c != nil {
		return h.metadata.change(n, c)
	}
	if c := calls.FileOf(n.NR); c != nil {
		return h.changeFile(n, c)
	}
	if c := calls.RefusedOf(n.NR); c != nil {
		if h.rules.Has(notify.ByDomain) && h.processes.Traces(n) {
			return h.rules.Proceed(notify.ByDomain)
		}
		return h.processes.Refuse(n, sandbox.Denial{Kind: sandbox.KindSyscall, Operation: c.Name, Target: c.Name}, c.Needs(n))
	}
	if c := calls.ProcessOf(n.NR); c != nil {
		return h.processes.Limit(n, c)
	}
	switch n.NR {
	case unix.SYS_UMASK:
		if errno := h.masks.Add(n); errno != 0 {
			return notify.Failed(errno)
		}
		return h.rules.Proceed(notify.ByCaller)
	case unix.SYS_KILL, unix.SYS_PIDFD_OPEN:
		h.processes.NoteSignal(n, int(int32(n.Args[0])))
		return h.rules.Proceed(notify.BySignals)
	case unix.SYS_EXIT_GROUP:
		h.processes.NotePrivileges(n)
		h.log.Exit(n)
		return h.rules.Proceed(notify.ByCaller)
	case unix.SYS_IOCTL:
		return h.terms.Resize(n)
	case unix.SYS_FLOCK:
		return h.files.lock(n)
	case unix.SYS_FTRUNCATE:
		return h.files.shorten(n)
	case unix.SYS_CONNECT, unix.SYS_BIND:
		return h.sockets.Answer(n)
	case unix.SYS_LISTEN:
		if h.sockets.AskInet {
			return h.sockets.ListenBeside(n)
		}
		if a, answered := h.sockets.Listen(n); answered {
			return a
		}
		return h.rules.Proceed(notify.ByCaller)
	case unix.SYS_SETSOCKOPT:
		return h.sockets.Linger(n)
	case unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME:
		if errno, answered := h.sockets.Name(n); answered {
			return notify.Failed(errno)
		}
		return h.rules.Proceed(notify.ByCaller)
	case unix.SYS_SOCKET:
		return h.processes.Socket(n, "socket")
	case unix.SYS_SOCKETPAIR:
		return h.processes.Socket(n, "socketpair")
	case unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG:
		if a, answered := h.sockets.Receive(n); answered {
			return a
		}
		return h.rules.Proceed(notify.ByCaller)
	case unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG:
		return h.sockets.Send(n)
	}
	return notify.Failed(unix.ENOSYS)
}

// changeFile answers a call that opens, makes or removes a file.
func (h *handlers) changeFile(n *notify.Notification, c *calls.File) notify.Reply {
	return h.rules.Confine(h.judgeFile(n, c), c.Effect(n))
}

func (h *handlers) judgeFile(n *notify.Notification, c *calls.File) notify.Reply {
	if !h.judge.Any() && !h.log.Sees() && h.rules.Confines(notify.Changes) && c.Kind != calls.Access {
		return h.rules.Proceed(notify.ByLandlock) // no path is brokered
	}
	switch c.Kind {
	case calls.Open, calls.Creat, calls.Openat2:
		return h.opens.openFile(n, c)
	case calls.Access:
		return h.reads.access(n, c)
	case calls.Truncate:
		return h.opens.truncate(n, c)
	case calls.Rename:
		return h.moves.rename(n, c)
	case calls.Link:
		return h.moves.link(n, c)
	}
	return h.entries.entry(n, c)
}
