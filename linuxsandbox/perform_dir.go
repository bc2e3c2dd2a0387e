//go:build linux

package linuxsandbox

import (
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Calls about one entry of a folder: mkdir, rmdir, unlink, symlink, mknod.

// entry answers them.
func (b *broker) entry(n *notification, c *fileCall) reply {
	m, err := c.first(n)
	text := ""
	if c.kind == kindSymlink && err == nil {
		text = m.path
		m, err = c.second(n)
	}
	if err != nil {
		return failed(b.unread(n, c.name, sandbox.KindWrite, err))
	}
	s, err := b.spot(n, m)
	if err != nil {
		b.tellHidden(n, c.name, sandbox.KindWrite, m, err)
		return b.unfound(n, c.name, m, err)
	}
	defer s.close()
	folder := c.kind == kindMkdir || c.kind == kindRmdir || c.kind == kindUnlink && c.flags(n)&unix.AT_REMOVEDIR != 0
	who := b.whoseEntry(s)
	removal := c.kind == kindRmdir || c.kind == kindUnlink
	switch {
	case s.odd() || who == kernels || who == brokers && s.slash && !folder:
		return b.rules.files.proceed()
	case s.slash && !folder:
		return failed(s.slashed(removal))
	case removal:
		return b.remove(n, c, s, who)
	}
	return b.add(n, c, s, text, who)
}

// remove takes an entry away.
func (b *broker) remove(n *notification, c *fileCall, s spot, who whose) reply {
	flags := 0
	if c.kind == kindRmdir {
		flags = unix.AT_REMOVEDIR
	} else if f := c.flags(n); f == unix.AT_REMOVEDIR {
		flags = unix.AT_REMOVEDIR
	} else if f != 0 {
		return failed(unix.EINVAL)
	}
	st, err := s.stat()
	if err == unix.EACCES && who == nobodys {
		return b.refuseNew(n, c.name, s, lack{}) // nothing can be looked up in it
	}
	if err != nil {
		return failed(errnoOf(err))
	}
	if who == nobodys {
		return b.refuseRemoval(n, c.name, s, &st, flags)
	}
	if d := b.refusesEntry(n, s, &st, false); d != nil {
		return b.refuse(n, refusal{denial: d, call: c.name, errno: unix.EPERM, pins: []pin{s.pin()}})
	}
	if a, first := b.keepRemoval(s, &st, flags == unix.AT_REMOVEDIR); first {
		return a
	}
	if !n.valid(b.listener) {
		return failed(unix.ESRCH)
	}
	if err = unix.Unlinkat(s.dir, s.last, flags); err == nil {
		b.session.own.removed(&st)
		b.fresh.removed(&st)
	}
	return b.performed(n, c.name, s.full(), err)
}

// add makes an entry. What is there already is told before what is protected, as
// mkdir -p needs it.
func (b *broker) add(n *notification, c *fileCall, s spot, text string, who whose) reply {
	_, err := s.stat()
	if err == nil {
		return failed(unix.EEXIST)
	}
	if who == nobodys {
		if err != unix.ENOENT && err != unix.EACCES {
			return failed(errnoOf(err))
		}
		return b.refuseNew(n, c.name, s, b.lacksNode(n, c))
	}
	d := b.refusesPath(n, s.full())
	if d == nil && c.kind == kindSymlink && b.protection.leads(s.full()) {
		d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: s.full()}
	}
	if d != nil {
		return b.refuse(n, refusal{denial: d, call: c.name, errno: unix.EPERM, pins: []pin{s.pin()}})
	}
	if a, first := b.keepEntries(s); first {
		return a
	}
	if err = b.make(n, c, s, text); err == nil {
		b.made(s)
	}
	return b.performed(n, c.name, s.full(), err)
}

func (b *broker) make(n *notification, c *fileCall, s spot, text string) error {
	if c.kind == kindSymlink {
		if !n.valid(b.listener) {
			return unix.ESRCH
		}
		return unix.Symlinkat(text, s.dir, s.last)
	}
	m, err := b.modeFor(n, c.flags(n))
	if err != nil {
		return err
	}
	if c.kind == kindMkdir {
		err = unix.Mkdirat(s.dir, s.last, m.mode)
	} else {
		err = makeNode(s, c.flags(n)&unix.S_IFMT, m.mode)
	}
	if err != nil {
		return err
	}
	return m.complete(s)
}

// makeNode makes what is no folder and no link.
func makeNode(s spot, kind, mode uint32) error {
	switch kind {
	case 0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK:
		return unix.Mknodat(s.dir, s.last, kind|mode, 0)
	case unix.S_IFCHR, unix.S_IFBLK:
		return unix.EPERM // nothing needs device nodes
	}
	return unix.EINVAL
}

// lacksNode asks for what making a device takes.
func (b *broker) lacksNode(n *notification, c *fileCall) lack {
	if kind := c.flags(n) & unix.S_IFMT; c.kind == kindMknod && (kind == unix.S_IFCHR || kind == unix.S_IFBLK) {
		return lack{errno: unix.EPERM, caps: 1 << unix.CAP_MKNOD}
	}
	return lack{}
}

// stat looks at the entry itself.
func (s spot) stat() (st unix.Stat_t, err error) {
	err = unix.Fstatat(s.dir, s.last, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}
