//go:build linux

package broker

import (
	"sync"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// metadata answers calls on the metadata of files.
type metadata struct {
	walk     metadataWalk
	judge    metadataJudge
	rights   *rights
	observer metadataObserver
	fresh    *freshFile
	deny     *denials
	still    sync.Locker // held while a denial is asked about
}

type metadataWalk interface {
	Open(c pathwalk.Caller, m pathwalk.Name) (int, error)
	PolicyPath(fd int) string
	AsHost(fd int, path string) int
}

type metadataJudge interface {
	InMemory(path string) string
	RefusesMetadata(n *notify.Notification, fd int, path string, st *unix.Stat_t) *sandbox.Denial
	AboveOwn(path string) bool // a mode there could open or shut codeagent's own files
	GrantedAt(path string) bool
}

type metadataObserver interface {
	note(path string)
	beforeMetadata(n *notify.Notification, do *calls.Change, fd int, path string) (a notify.Reply, first bool)
}

// change answers a call that changes mode, owner, times or attributes.
func (h *metadata) change(n *notify.Notification, c *calls.Metadata) notify.Reply {
	m, err := c.File(n)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	do, err := c.Read(n)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	m.Path = h.judge.InMemory(m.Path)
	fd, err := h.walk.Open(n, m)
	if err != nil {
		h.deny.noteHidden(n, c.Name, sandbox.KindMetadata, m, err)
		if err == unix.EACCES {
			h.still.Lock()
			defer h.still.Unlock()
			return h.deny.unfound(n, c.Name, m, err)
		}
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	if m.Itself {
		if a, done := h.ofFresh(n, c, do, fd); done {
			unix.Close(fd)
			return a
		}
	}
	path := h.walk.PolicyPath(fd)
	if h.judge.GrantedAt(path) {
		fd = h.walk.AsHost(fd, path)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH) // the caller is gone
	}
	d := h.judge.RefusesMetadata(n, fd, path, &st)
	if d == nil && do.Refused(&st) {
		d = &sandbox.Denial{Kind: sandbox.KindCapability, Target: path}
	}
	if d == nil && do.Admits(&st) && h.judge.AboveOwn(path) {
		d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
	}
	if d == nil {
		if a, first := h.observer.beforeMetadata(n, do, fd, path); first {
			return a
		}
		return h.deny.performed(n, c.Name, path, do.Apply(fd, &st))
	}
	errno := unix.EPERM
	if !d.Moot {
		errno = h.rights.weigh(d, h.rights.lacksChange(do, fd, path, &st), errno)
	}
	h.still.Lock()
	defer h.still.Unlock()
	return h.deny.refuse(n, c.Name, errno, d, pin{fd: fd, path: path, asked: m.Path})
}

// ofFresh answers a change by descriptor if the file is the fresh one. fd is the
// broker's own O_PATH descriptor of it.
func (h *metadata) ofFresh(n *notify.Notification, c *calls.Metadata, do *calls.Change, fd int) (a notify.Reply, done bool) {
	var st unix.Stat_t
	if !h.fresh.held || unix.Fstat(fd, &st) != nil || !h.fresh.is(&st) || do.Refused(&st) || !n.Waits() {
		return notify.Reply{}, false
	}
	h.observer.note(h.fresh.path)
	// The command may have opened it through a mount that is read-only for it.
	if err := do.Apply(h.fresh.fd, &st); err != nil {
		return h.deny.performed(n, c.Name, h.walk.PolicyPath(fd), err), true
	}
	return notify.Reply{}, true
}
