//go:build linux

package linuxsandbox

import (
	"io"
	"os"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Here calls are refused that nothing lets happen (reach.go). The order of errors
// is the kernel's without a sandbox: first what is there and what is not, then the
// user's own permissions, then the policy. What fails before the permissions is
// no refusal, and nothing is written down of it.

// refuseFile answers for the content of a file that is there. mode is what
// access(2) would be asked for.
func (b *broker) refuseFile(n *notification, call string, t *target, mode uint32) reply {
	d := b.denial(t.path)
	errno := b.weigh(d, b.lacksAccess(t.fd, t.path, mode), unix.EACCES)
	return b.refuse(n, refusal{denial: d, call: call, errno: errno, pins: []pin{t.pin()}})
}

// refuseNew answers for an entry to be made. besides is a right that it takes
// beside those on its folder.
func (b *broker) refuseNew(n *notification, call string, s spot, besides lack) reply {
	if s.gone() || onProc(s.dir) {
		return failed(unix.ENOENT)
	}
	d := b.denial(s.full())
	errno := b.weigh(d, firstLack(b.lacksEntry(s, nil), besides), unix.EACCES)
	return b.refuse(n, refusal{denial: d, call: call, errno: errno, pins: []pin{s.pin()}})
}

// refuseTemporary answers for a file without a name in the folder dir.
func (b *broker) refuseTemporary(n *notification, o *opening, dir int, path string) reply {
	var st unix.Stat_t
	switch err := unix.Fstat(dir, &st); {
	case err != nil:
		return failed(errnoOf(err))
	case !isFolder(&st):
		return failed(unix.ENOTDIR)
	}
	d := b.denial(path)
	errno := b.weigh(d, b.lacksAccess(dir, path, unix.W_OK|unix.X_OK), unix.EACCES)
	return b.refuse(n, refusal{denial: d, call: o.call, errno: errno, pins: []pin{{fd: dir, path: path, asked: o.name.path}}})
}

// refuseRemoval answers for an entry to be taken away. flags are unlinkat's.
func (b *broker) refuseRemoval(n *notification, call string, s spot, st *unix.Stat_t, flags int) reply {
	d := b.denial(s.full())
	l := b.lacksEntry(s, st)
	if l.errno == 0 {
		if errno := b.unremovable(s, st, flags == unix.AT_REMOVEDIR); errno != 0 {
			return failed(errno)
		}
	}
	return b.refuse(n, refusal{denial: d, call: call, errno: b.weigh(d, l, unix.EACCES), pins: []pin{s.pin()}})
}

// unremovable says why what stands at s cannot be taken away by anybody.
func (b *broker) unremovable(s spot, st *unix.Stat_t, folder bool) unix.Errno {
	switch {
	case folder && !isFolder(st):
		return unix.ENOTDIR
	case !folder && isFolder(st):
		return unix.EISDIR
	case folder && b.filled(s):
		return unix.ENOTEMPTY
	}
	return 0
}

// filled reports whether the folder at s has entries. What must not be read is
// not looked at.
func (b *broker) filled(s spot) bool {
	if !b.policy.JudgeRead(s.full()).Allowed {
		return false
	}
	fd, err := openat2(s.dir, s.last, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), s.last)
	defer f.Close()
	_, err = f.ReadDir(1)
	return err != io.EOF
}

// slashed is what a call about an entry that is no folder's comes to when a slash
// follows its name.
func (s spot) slashed(removal bool) unix.Errno {
	st, err := s.stat()
	switch {
	case err != nil:
		return errnoOf(err)
	case !removal:
		return unix.EEXIST
	case isFolder(&st):
		return unix.EISDIR
	}
	return unix.ENOTDIR
}

// gone reports whether the folder of s has been removed.
func (s spot) gone() bool {
	var st unix.Stat_t
	return unix.Fstat(s.dir, &st) == nil && st.Nlink == 0
}

// refuseMove answers for a rename of which at least one end is nobody's.
func (b *broker) refuseMove(n *notification, c *fileCall, m *moving) reply {
	if m.to.gone() {
		return failed(unix.ENOENT)
	}
	if errno := m.look(); errno == unix.EACCES {
		return b.refuseShut(n, c, m)
	} else if errno != 0 {
		return failed(errno)
	}
	// Two names of one file are refused by Landlock too, though nothing is to be done.
	if errno, is := m.settled(); is && errno != 0 {
		return failed(errno)
	}
	switch {
	case onOther(m.old.Dev, m.to):
		return failed(unix.EXDEV)
	case isFolder(&m.old) && sandbox.Covers(m.from.full(), m.to.path):
		return failed(unix.EINVAL) // into itself
	case sandbox.Covers(m.to.full(), m.from.path) && m.exchange():
		return failed(unix.EINVAL)
	case sandbox.Covers(m.to.full(), m.from.path):
		return failed(unix.ENOTEMPTY) // over what it stands in
	}
	var over *unix.Stat_t
	if m.there {
		over = &m.over
	}
	l := firstLack(b.lacksEntry(m.from, &m.old), b.lacksEntry(m.to, over))
	if l.errno == 0 && m.there && !m.exchange() && m.old.Ino != m.over.Ino {
		if errno := b.unremovable(m.to, over, isFolder(&m.old)); errno != 0 {
			return failed(errno)
		}
	}
	r := refusal{call: c.name, pins: []pin{m.to.pin(), m.from.pin()}}
	if m.toWhose == nobodys {
		r.denial = b.denial(m.to.full())
	}
	if m.fromWhose == nobodys {
		r.add(b.denial(m.from.full()))
	}
	r.errno = b.weigh(r.denial, l, unix.EACCES)
	if r.also != nil {
		b.weigh(r.also, l, unix.EACCES)
	}
	return b.refuse(n, r)
}

// refuseShut answers for a rename in or to a folder in which nothing can be
// looked up.
func (b *broker) refuseShut(n *notification, c *fileCall, m *moving) reply {
	s := m.to
	if _, err := m.from.stat(); err == unix.EACCES {
		s = m.from
	}
	return b.refuseNew(n, c.name, s, lack{})
}

// refuseLink answers for a second name of which at least one end is nobody's.
func (b *broker) refuseLink(n *notification, c *fileCall, t *target, to spot, from, into whose) reply {
	switch {
	case t.fd < 0, to.gone():
		return failed(unix.ENOENT)
	case onOther(t.st.Dev, to):
		return failed(unix.EXDEV)
	}
	if _, err := to.stat(); err == nil {
		return failed(unix.EEXIST)
	}
	if isFolder(&t.st) {
		return failed(unix.EPERM)
	}
	l := firstLack(b.lacksSource(t), b.lacksEntry(to, nil))
	// Out of what may only be read, a link is refused as one to another file
	// system: programs make a copy then.
	r, errno := refusal{call: c.name, pins: []pin{to.pin(), t.pin()}}, unix.EXDEV
	if into == nobodys {
		r.denial, errno = b.denial(to.full()), unix.EACCES
	}
	if from == nobodys {
		r.add(b.denial(t.path))
	}
	r.errno = b.weigh(r.denial, l, errno)
	if r.also != nil {
		b.weigh(r.also, l, errno)
	}
	return b.refuse(n, r)
}

// add takes up the denial of the other end.
func (r *refusal) add(d *sandbox.Denial) {
	if r.denial == nil {
		r.denial = d
	} else {
		r.also = d
	}
}

// onOther reports whether the folder of s is on another file system.
func onOther(dev uint64, s spot) bool {
	var st unix.Stat_t
	return unix.Fstat(s.dir, &st) == nil && st.Dev != dev
}

// unfound answers a call whose file the broker could not get to. Where a folder
// on the way cannot be passed, that is the user's own permissions, or the want of
// a capability; where the file is to be is then known from its name alone.
func (b *broker) unfound(n *notification, call string, m name, err error) reply {
	path := m.written(int(n.tid))
	kind := sandbox.KindWrite
	if metadataCallOf(n.nr) != nil {
		kind = sandbox.KindMetadata
	}
	if err != unix.EACCES || path == "" || !b.sees() {
		return failed(b.unread(n, call, kind, err))
	}
	d := &sandbox.Denial{Kind: kind, Target: path}
	errno := b.weigh(d, lack{errno: unix.EACCES, caps: capsAccess}, unix.EACCES)
	return b.refuse(n, refusal{denial: d, call: call, errno: errno, pins: []pin{{fd: -1, path: path, asked: m.path}}})
}
