//go:build linux

package broker

import (
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// metadataChanges answers calls that change metadata.
type metadataChanges struct{ *command }

// change answers a call that changes mode, owner, times or attributes.
func (h metadataChanges) change(n *notify.Notification, c *calls.Metadata) notify.Reply {
	m, err := c.File(n)
	if err != nil {
		return notify.Failed(h.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	do, err := c.Read(n)
	if err != nil {
		return notify.Failed(h.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	m.Path = h.judge.inMemory(m.Path)
	fd, err := h.walk.Open(n, m)
	if err != nil {
		h.noteHidden(n, c.Name, sandbox.KindMetadata, m, err)
		if err == unix.EACCES {
			h.session.mu.Lock()
			defer h.session.mu.Unlock()
			return h.unfound(n, c.Name, m, err)
		}
		return notify.Failed(h.unread(n, c.Name, sandbox.KindMetadata, err))
	}
	if m.Itself {
		if a, done := h.metadataOfFresh(n, c, do, fd); done {
			unix.Close(fd)
			return a
		}
	}
	path := h.walk.PolicyPath(fd)
	if h.judge.roots.opens(path) {
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
	d := h.judge.refusesMetadata(n, fd, path, &st)
	if d == nil && do.Refused(&st) {
		d = &sandbox.Denial{Kind: sandbox.KindCapability, Target: path}
	}
	if d == nil && do.Admits(&st) && h.judge.protection.above(path) {
		d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
	}
	if d == nil {
		if a, first := h.observer.beforeMetadata(n, do, fd); first {
			return a
		}
		return h.performed(n, c.Name, path, do.Apply(fd, &st))
	}
	errno := unix.EPERM
	if !d.Moot {
		errno = h.rights.weigh(d, h.rights.lacksChange(do, fd, path, &st), errno)
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return h.refuse(n, c.Name, errno, d, pin{fd: fd, path: path, asked: m.Path})
}

// metadataOfFresh answers a change by descriptor if the file is the fresh one. fd is the
// broker's own O_PATH descriptor of it.
func (h metadataChanges) metadataOfFresh(n *notify.Notification, c *calls.Metadata, do *calls.Change, fd int) (a notify.Reply, done bool) {
	var st unix.Stat_t
	if !h.fresh.held || unix.Fstat(fd, &st) != nil || !h.fresh.is(&st) || do.Refused(&st) || !n.Waits() {
		return notify.Reply{}, false
	}
	if err := do.Apply(fd, &st); err != nil {
		return h.performed(n, c.Name, h.walk.PolicyPath(fd), err), true
	}
	return notify.Reply{}, true
}
