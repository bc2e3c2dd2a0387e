//go:build linux

package linuxsandbox

import (
	"codeagent/sandbox"

	"codeagent/linuxsandbox/kernel"

	"codeagent/linuxsandbox/broker/pathwalk"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// Calls about one entry of a folder: mkdir, rmdir, unlink, symlink, mknod.

// entries answers them.
type entries struct {
	rules    notify.Rules
	walk     *pathwalk.Walker
	judge    *judge
	deny     *refuser
	held     *holding
	observer *observer
	masks    *masks
	fresh    *freshFile
	session  *brokerSession
}

// entry answers one of them.
func (h *entries) entry(n *notify.Notification, c *fileCall) notify.Reply {
	m, err := c.first(n)
	text := ""
	if c.kind == kindSymlink && err == nil {
		text = m.Path
		m, err = c.second(n)
	}
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.name, sandbox.KindWrite, err))
	}
	s, err := h.walk.Spot(n, m)
	if err != nil {
		h.deny.noteHidden(n, c.name, sandbox.KindWrite, m, err)
		return h.deny.unfound(n, c.name, m, err)
	}
	defer s.Close()
	folder := c.kind == kindMkdir || c.kind == kindRmdir || c.kind == kindUnlink && c.flags(n)&unix.AT_REMOVEDIR != 0
	who := h.judge.whoseEntry(s)
	removal := c.kind == kindRmdir || c.kind == kindUnlink
	switch {
	case s.Odd() || who == kernels || who == brokers && s.Slash && !folder:
		return h.rules.Proceed(notify.ByLandlock)
	case s.Slash && !folder:
		return notify.Failed(slashed(s, removal))
	case removal:
		return h.remove(n, c, s, who)
	}
	return h.add(n, c, s, text, who)
}

// remove takes an entry away.
func (h *entries) remove(n *notify.Notification, c *fileCall, s pathwalk.Spot, who whose) notify.Reply {
	flags := 0
	if c.kind == kindRmdir {
		flags = unix.AT_REMOVEDIR
	} else if f := c.flags(n); f == unix.AT_REMOVEDIR {
		flags = unix.AT_REMOVEDIR
	} else if f != 0 {
		return notify.Failed(unix.EINVAL)
	}
	st, err := s.Stat()
	if err == unix.EACCES && who == nobodys {
		return h.deny.refuseNew(n, c.name, s, lack{}) // nothing can be looked up in it
	}
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if who == nobodys {
		return h.deny.refuseRemoval(n, c.name, s, &st, flags)
	}
	if d := h.judge.refusesEntry(n, s, &st, false); d != nil {
		return h.held.refuse(n, refusal{denial: d, call: c.name, errno: unix.EPERM, pins: []pin{pinOf(s)}})
	}
	if a, first := h.observer.keepRemoval(s, &st, flags == unix.AT_REMOVEDIR); first {
		return a
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	if err = unix.Unlinkat(s.Dir, s.Last, flags); err == nil {
		h.session.own.removed(&st)
		h.fresh.removed(&st)
	}
	return h.deny.performed(n, c.name, s.Full(), err)
}

// add makes an entry. What is there already is told before what is protected, as
// mkdir -p needs it.
func (h *entries) add(n *notify.Notification, c *fileCall, s pathwalk.Spot, text string, who whose) notify.Reply {
	_, err := s.Stat()
	if err == nil {
		return notify.Failed(unix.EEXIST)
	}
	if who == nobodys {
		if err != unix.ENOENT && err != unix.EACCES {
			return notify.Failed(kernel.ErrnoOf(err))
		}
		return h.deny.refuseNew(n, c.name, s, h.lacksNode(n, c))
	}
	d := h.judge.refusesPath(n, s.Full())
	if d == nil && c.kind == kindSymlink && h.judge.protection.leads(s.Full()) {
		d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full()}
	}
	if d != nil {
		return h.held.refuse(n, refusal{denial: d, call: c.name, errno: unix.EPERM, pins: []pin{pinOf(s)}})
	}
	if a, first := h.observer.keepEntries(s); first {
		return a
	}
	if err = h.make(n, c, s, text); err == nil {
		h.judge.made(s)
	}
	return h.deny.performed(n, c.name, s.Full(), err)
}

func (h *entries) make(n *notify.Notification, c *fileCall, s pathwalk.Spot, text string) error {
	if c.kind == kindSymlink {
		if !n.Waits() {
			return unix.ESRCH
		}
		return unix.Symlinkat(text, s.Dir, s.Last)
	}
	m, err := h.masks.modeFor(n, c.flags(n))
	if err != nil {
		return err
	}
	if c.kind == kindMkdir {
		err = unix.Mkdirat(s.Dir, s.Last, m.mode)
	} else {
		err = makeNode(s, c.flags(n)&unix.S_IFMT, m.mode)
	}
	if err != nil {
		return err
	}
	return m.complete(s)
}

// makeNode makes what is no folder and no link.
func makeNode(s pathwalk.Spot, kind, mode uint32) error {
	switch kind {
	case 0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK:
		return unix.Mknodat(s.Dir, s.Last, kind|mode, 0)
	case unix.S_IFCHR, unix.S_IFBLK:
		return unix.EPERM // nothing needs device nodes
	}
	return unix.EINVAL
}

// lacksNode asks for what making a device takes.
func (h *entries) lacksNode(n *notify.Notification, c *fileCall) lack {
	if kind := c.flags(n) & unix.S_IFMT; c.kind == kindMknod && (kind == unix.S_IFCHR || kind == unix.S_IFBLK) {
		return lack{errno: unix.EPERM, caps: 1 << unix.CAP_MKNOD}
	}
	return lack{}
}
