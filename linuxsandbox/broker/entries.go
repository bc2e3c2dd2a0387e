//go:build linux

package broker

import (
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// entries answers calls on one entry of a folder: mkdir, rmdir, unlink, symlink, mknod.
type entries struct {
	*fileCalls
	log interface{ Supersede(target string) }
}

func (h *entries) entry(n *notify.Notification, c *calls.File) notify.Reply {
	h.still.Lock()
	defer h.still.Unlock()
	m, err := c.First(n)
	text := ""
	if c.Kind == calls.Symlink && err == nil {
		text = m.Path
		m, err = c.Second(n)
	}
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindWrite, err))
	}
	s, err := h.walk.Spot(n, m)
	if err != nil {
		h.deny.noteHidden(n, c.Name, sandbox.KindWrite, m, err)
		return h.deny.unfound(n, c.Name, m, err)
	}
	defer s.Close()
	folder := c.Kind == calls.Mkdir || c.Kind == calls.Rmdir || c.Kind == calls.Unlink && c.Flags(n)&unix.AT_REMOVEDIR != 0
	who := h.judge.WhoseEntry(s)
	removal := c.Kind == calls.Rmdir || c.Kind == calls.Unlink
	switch {
	case s.Odd() || who == judge.Kernels || who == judge.Brokers && s.Slash && !folder:
		return h.rules.Proceed(notify.ByLandlock)
	case s.Slash && !folder:
		return notify.Failed(slashed(s, removal))
	case removal:
		return h.remove(n, c, s, who)
	}
	return h.add(n, c, s, text, who)
}

func (h *entries) remove(n *notify.Notification, c *calls.File, s pathwalk.Spot, who judge.Whose) notify.Reply {
	flags := int(c.Flags(n))
	if c.Kind == calls.Rmdir {
		flags = unix.AT_REMOVEDIR
	}
	if flags&^unix.AT_REMOVEDIR != 0 {
		return notify.Failed(unix.EINVAL)
	}
	st, err := s.Stat()
	if err == unix.EACCES && who == judge.Nobodys {
		return h.deny.refuseNew(n, c.Name, s, false, lack{}) // the folder has no search permission
	}
	if err != nil {
		h.log.Supersede(s.Full())
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if who == judge.Nobodys {
		return h.deny.refuseRemoval(n, c.Name, s, &st, flags)
	}
	if d := h.judge.RefusesEntry(n, s, &st, false); d != nil {
		switch restores, known := h.judge.Restores(n, s, &st); {
		case !known:
			return notify.Reply{Again: true}
		case !restores:
			if h.judge.ChecksOut(n, s) {
				d.Unwritten = &sandbox.Unwritten{} // git continues without it
			}
			return h.deny.refuse(n, c.Name, unix.EPERM, d, pinOf(s))
		}
		if s, err = hostSpot(h.walk, s); err != nil {
			return notify.Failed(kernel.ErrnoOf(err))
		}
		defer s.Close()
	}
	if a, first := h.observer.beforeRemoval(s, &st, flags == unix.AT_REMOVEDIR); first {
		return a
	}
	if flags == 0 {
		if a, stops := h.losses.losingEntry(n, c.Name, s, &st); stops {
			return a
		}
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	if err = unix.Unlinkat(s.Dir, s.Last, flags); err == nil {
		h.judge.Removed(s.Full(), &st)
		h.fresh.removed(&st)
	}
	return h.deny.performed(n, c.Name, s.Full(), err)
}

// add makes an entry. EEXIST comes before a denial, because mkdir -p relies on it.
func (h *entries) add(n *notify.Notification, c *calls.File, s pathwalk.Spot, text string, who judge.Whose) notify.Reply {
	_, err := s.Stat()
	if err == nil {
		return notify.Failed(unix.EEXIST)
	}
	if who == judge.Nobodys {
		if err != unix.ENOENT && err != unix.EACCES {
			return notify.Failed(kernel.ErrnoOf(err))
		}
		return h.deny.refuseNew(n, c.Name, s, false, h.lacksNode(n, c))
	}
	d, brings := h.judge.RefusesPlace(n, s.Full(), c.Kind == calls.Mkdir), false
	if d != nil && c.Kind == calls.Mkdir {
		before, known := h.judge.Before(n, s)
		if !known {
			return notify.Reply{Again: true}
		}
		if brings = before.Folder || h.judge.ChecksOut(n, s); brings {
			d = nil
			if s, err = hostSpot(h.walk, s); err != nil {
				return notify.Failed(kernel.ErrnoOf(err))
			}
			defer s.Close()
		}
	}
	if d == nil && c.Kind == calls.Symlink && h.judge.LinksAway(n, s.Full(), text) {
		d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.Full()}
	}
	if d == nil {
		d = h.judge.RefusesMark(n, s)
	}
	if d != nil {
		return h.deny.refuse(n, c.Name, unix.EPERM, d, pinOf(s))
	}
	if a, first := h.observer.beforeEntries(s); first {
		return a
	}
	if err = h.make(n, c, s, text); err == nil {
		h.judge.Made(s)
		if c.Kind == calls.Mkdir {
			h.judge.MadeFolder(s, brings)
		}
	}
	return h.deny.performed(n, c.Name, s.Full(), err)
}

func (h *entries) make(n *notify.Notification, c *calls.File, s pathwalk.Spot, text string) error {
	if c.Kind == calls.Symlink {
		if !n.Waits() {
			return unix.ESRCH
		}
		return unix.Symlinkat(text, s.Dir, s.Last)
	}
	m, err := h.masks.For(n, c.Flags(n))
	if err != nil {
		return err
	}
	if c.Kind == calls.Mkdir {
		err = unix.Mkdirat(s.Dir, s.Last, m.Bits)
	} else {
		err = makeNode(s, c.Flags(n)&unix.S_IFMT, m.Bits)
	}
	if err != nil {
		return err
	}
	return m.Complete(s)
}

// makeNode makes a regular file, a pipe or a socket.
func makeNode(s pathwalk.Spot, kind, mode uint32) error {
	switch kind {
	case 0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK:
		return unix.Mknodat(s.Dir, s.Last, kind|mode, 0)
	case unix.S_IFCHR, unix.S_IFBLK:
		return unix.EPERM // device nodes are never made
	}
	return unix.EINVAL
}

// lacksNode returns the capability that the making of a device needs, if c makes one.
func (h *entries) lacksNode(n *notify.Notification, c *calls.File) lack {
	if kind := c.Flags(n) & unix.S_IFMT; c.Kind == calls.Mknod && (kind == unix.S_IFCHR || kind == unix.S_IFBLK) {
		return lack{errno: unix.EPERM, caps: 1 << unix.CAP_MKNOD}
	}
	return lack{}
}
