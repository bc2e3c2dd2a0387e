//go:build linux

package broker

import (
	"os"
	"strings"
	"sync"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/broker/umask"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// This file does what the sockets room leaves to the broker: it judges the file of a socket
// that is bound, and asks a person (hold.go).

// refuseConnect denies a connection or a message.
func (h *holding) refuseConnect(n *notify.Notification, r sockets.Refusal) notify.Reply {
	out := refusal{denials: []*sandbox.Denial{&r.Denial}, call: r.Call, errno: r.Errno, requested: r.Denial.Requested}
	if r.File >= 0 {
		out.pins = []pin{{fd: r.File, path: r.Denial.Target, asked: r.Asked}}
	}
	return h.refuse(n, out)
}

// lookUp answers a name service question of the command.
func (h *holding) lookUp(n *notify.Notification, client *netns.Client, q *netns.Question) {
	allowed := func(name string) bool { return netns.MayLookUp(h.law.Policy(), name) }
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "lookup", Target: q.Name}
	if j := h.law.Policy().JudgeHost(sandbox.HostPort{Host: q.Name}); j.Final {
		d.Why = j.Rule
	}
	switch {
	case allowed(q.Name):
		q.Answer()
	case !client.NewName(q.Name, allowed):
		q.Refuse()
	case h.learn(n, nil, d):
		h.forget()
		q.Answer()
	case q.Datagram && h.holds(n, &d):
		q.Shorten()
	case h.hold(&heldCall{n: *n, denials: []sandbox.Denial{d}, lookup: func(yes bool) {
		if yes {
			q.Answer()
		} else {
			q.Refuse()
		}
	}}):
	default:
		if client.Counts(q, n.TID) {
			h.log.Record(n, d)
		}
		q.Refuse()
	}
}

// listens passes a port on with the program that listens there. nil stays nil.
func listens(to func(sandbox.Listener), log interface {
	Described(n *notify.Notification, d sandbox.Denial) sandbox.Denial
}) func(n *notify.Notification, l sandbox.Listener) {
	if to == nil {
		return nil
	}
	return func(n *notify.Notification, l sandbox.Listener) {
		by := log.Described(n, sandbox.Denial{})
		l.Executable, l.Program = by.Executable, by.Program
		to(l)
	}
}

// socketFiles makes the files of sockets.
type socketFiles struct {
	walk     socketWalk
	judge    socketJudge
	observer interface {
		beforeEntries(entries ...pathwalk.Spot) (a notify.Reply, first bool)
	}
	still sync.Locker // held from the judgement to the change
	deny  *denials
	full  func() bool // the session can have no more
}

type socketWalk interface {
	Open(c pathwalk.Caller, m pathwalk.Name) (int, error)
	SpotIn(dir int, last string, slash bool) pathwalk.Spot
}

type socketJudge interface {
	RefusesSocket(n *notify.Notification, path string) *sandbox.Denial
	Changed(paths ...string) // something is made there
}

// make lets bind make the file of a socket at path, if the policy allows it.
func (h *socketFiles) make(n *notify.Notification, path string, bind func(at pathwalk.Spot, mask, own uint32) unix.Errno) notify.Reply {
	slash := strings.LastIndexByte(path, '/')
	folder, base := path[:slash+1], path[slash+1:]
	if base == "" {
		return notify.Failed(unix.ENOENT) // bind makes no folder
	}
	if base == "." || base == ".." {
		return notify.Failed(unix.EADDRINUSE)
	}
	if folder == "" {
		folder = "."
	}
	parent, err := h.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: folder})
	if err != nil {
		return notify.Failed(h.deny.unread(n, "bind", sandbox.KindSocket, err))
	}
	s := h.walk.SpotIn(parent, base, false)
	s.Asked = path
	defer s.Close()
	mask, err := umask.Of(n.Thread())
	if err != nil || !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	own, err := umask.Of(os.Getpid())
	if err != nil {
		own = 0
	}
	h.still.Lock()
	defer h.still.Unlock()
	target := s.Full()
	if d := h.judge.RefusesSocket(n, target); d != nil {
		return h.deny.refuse(n, "bind", unix.EPERM, d, pinOf(s))
	}
	if h.full() {
		return notify.Failed(unix.ENOSPC)
	}
	if a, first := h.observer.beforeEntries(s); first {
		return a
	}
	h.judge.Changed(target)
	return notify.Failed(bind(s, mask, own))
}
