//go:build linux

package linuxsandbox

import (
	"strconv"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Calls about two names: rename and link.

// moving is a rename or link whose names were found.
type moving struct {
	from, to spot
	// old is what stands at from, over what stands at to, if something does.
	old, over    unix.Stat_t
	there        bool
	flags        uint32
	fromIn, toIn bool // brokered
	// fromWhose and toWhose are who decides about each end.
	fromWhose, toWhose whose
}

// rename answers rename, renameat and renameat2.
func (b *broker) rename(n *notification, c *fileCall) reply {
	m := &moving{flags: c.flags(n)}
	if m.flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return failed(unix.EINVAL) // as on a file system without RENAME_WHITEOUT
	}
	one, err := c.first(n)
	if err != nil {
		return failed(b.unread(n, c.name, sandbox.KindWrite, err))
	}
	two, err := c.second(n)
	if err != nil {
		return failed(b.unread(n, c.name, sandbox.KindWrite, err))
	}
	if m.from, err = b.spot(n, one); err != nil {
		return b.unfound(n, c.name, one, err)
	}
	defer m.from.close()
	if m.to, err = b.spot(n, two); err != nil {
		return b.unfound(n, c.name, two, err)
	}
	defer m.to.close()
	m.fromWhose, m.toWhose = b.whoseEntry(m.from), b.whoseEntry(m.to)
	m.fromIn, m.toIn = m.fromWhose == brokers, m.toWhose == brokers
	switch {
	case m.from.odd() || m.to.odd():
		return b.rules.files.proceed()
	case m.fromWhose == nobodys || m.toWhose == nobodys:
		return b.refuseMove(n, c, m)
	case !m.fromIn && !m.toIn:
		return b.rules.files.proceed()
	case !b.protection.writable(m.from.full()) || !b.protection.writable(m.to.full()):
		return b.rules.files.proceed() // Landlock wants a right at both ends
	}
	if errno := m.look(); errno != 0 {
		return failed(errno)
	}
	return b.renameJudged(n, c, m)
}

// look finds out what stands at both ends.
func (m *moving) look() unix.Errno {
	var err error
	if m.old, err = m.from.stat(); err != nil {
		return errnoOf(err)
	}
	m.over, err = m.to.stat()
	if m.there = err == nil; !m.there && err != unix.ENOENT {
		return errnoOf(err)
	}
	return 0
}

func (m *moving) exchange() bool { return m.flags&unix.RENAME_EXCHANGE != 0 }

// folder reports whether a folder gets another name.
func (m *moving) folder() bool {
	return isFolder(&m.old) || m.exchange() && m.there && isFolder(&m.over)
}

// settled reports what a rename comes to that depends on what is there alone.
func (m *moving) settled() (errno unix.Errno, is bool) {
	switch exchange := m.exchange(); {
	case exchange && !m.there:
		return unix.ENOENT, true
	case m.flags == unix.RENAME_NOREPLACE && m.there:
		return unix.EEXIST, true
	case !isFolder(&m.old) && (m.from.slash || m.to.slash && !exchange), exchange && m.to.slash && !isFolder(&m.over):
		return unix.ENOTDIR, true
	case m.there && m.old.Dev == m.over.Dev && m.old.Ino == m.over.Ino && m.old.Nlink > 1 && !m.folder() && !exchange:
		return 0, true // two names of one file: nothing is to be done
	}
	return 0, false
}

func (b *broker) renameJudged(n *notification, c *fileCall, m *moving) reply {
	exchange := m.exchange()
	if errno, is := m.settled(); is {
		return failed(errno)
	}
	if b.unjudged(m) {
		return failed(unix.EXDEV) // mv copies then, one file after the other
	}
	if d := b.refusesRename(n, m, exchange); d != nil {
		return b.refuse(n, refusal{denial: d, call: c.name, errno: unix.EPERM, pins: []pin{m.from.pin(), m.to.pin()}})
	}
	if a, first := b.keepMove(m); first {
		return a
	}
	if !n.valid(b.listener) {
		return failed(unix.ESRCH)
	}
	err := unix.Renameat2(m.from.dir, m.from.last, m.to.dir, m.to.last, uint(m.flags))
	// A single file that was granted is a mount of its own, which holds its name.
	if err == unix.EXDEV || err == unix.EBUSY && b.granted(m.to.full()) {
		err = b.onHost(m, func(from, to int) error {
			return unix.Renameat2(from, m.from.last, to, m.to.last, uint(m.flags))
		})
	}
	if err != nil {
		return b.performed(n, c.name, m.to.full(), err)
	}
	b.held.renamed(m.from.full(), m.to.full())
	b.session.own.renamed(m.from.full(), m.to.full(), exchange)
	if m.there && !exchange {
		b.session.own.removed(&m.over)
		b.fresh.removed(&m.over)
	}
	// A folder that is called .git now is no repository of the session's making,
	// unless it was one before.
	if !m.there && !(isFolder(&m.old) && m.to.last == gitDir) {
		b.made(m.to)
	}
	return reply{}
}

// unjudged reports whether a folder comes to a place where names are protected from
// one where they are not: nobody has judged what it holds.
func (b *broker) unjudged(m *moving) bool {
	from, to := b.protection.isTemporary(m.from.full()), b.protection.isTemporary(m.to.full())
	return m.folder() && from != to && (from || m.exchange())
}

// refusesRename says why m may not be done, or nil.
func (b *broker) refusesRename(n *notification, m *moving, exchange bool) *sandbox.Denial {
	if d := b.refusesEntry(n, m.from, &m.old, exchange); d != nil {
		return d
	}
	if m.there {
		if d := b.refusesEntry(n, m.to, &m.over, true); d != nil {
			return d
		}
	} else if d := b.refusesPath(n, m.to.full()); d != nil {
		return d
	}
	if d := b.refusesArrival(m.from, &m.old, m.to.full()); d != nil || !exchange {
		return d
	}
	return b.refusesArrival(m.to, &m.over, m.from.full())
}

// refusesArrival says why what stands at s may not get the name to, or nil.
func (b *broker) refusesArrival(s spot, st *unix.Stat_t, to string) *sandbox.Denial {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return b.refusesMove(s, to)
	case unix.S_IFLNK:
		if b.protection.leads(to) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to}
		}
	}
	return nil
}

// link answers link and linkat. A second name is a second way to change a file,
// so what has one made must itself be open to change.
func (b *broker) link(n *notification, c *fileCall) reply {
	flags := c.flags(n)
	one, err := c.first(n)
	if err != nil {
		return failed(b.unread(n, c.name, sandbox.KindWrite, err))
	}
	two, err := c.second(n)
	if err != nil {
		return failed(b.unread(n, c.name, sandbox.KindWrite, err))
	}
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return failed(unix.EINVAL)
	}
	one.itself = one.path == "" && flags&unix.AT_EMPTY_PATH != 0
	t, err := b.source(n, one, flags&unix.AT_SYMLINK_FOLLOW != 0)
	if err != nil {
		return b.unfound(n, c.name, one, err)
	}
	defer t.close()
	if t.spot.slash && !(t.fd >= 0 && isFolder(&t.st)) {
		return b.rules.files.proceed() // not found, or no folder: the kernel tells before it looks at rights
	}
	to, err := b.spot(n, two)
	if err != nil {
		return b.unfound(n, c.name, two, err)
	}
	defer to.close()
	from, into := b.whoseFile(t), b.whoseEntry(to)
	switch {
	case to.odd() || to.slash:
		return b.rules.files.proceed()
	case from == nobodys || into == nobodys:
		return b.refuseLink(n, c, t, to, from, into)
	case from != brokers && into != brokers:
		return b.rules.files.proceed()
	}
	if t.fd < 0 {
		return failed(unix.ENOENT)
	}
	if kernelFile(t.fd) || b.protection.outside(t.path) || !b.protection.writable(to.full()) {
		return b.rules.files.proceed() // Landlock wants a right at both ends
	}
	if _, err := to.stat(); err == nil {
		return failed(unix.EEXIST)
	}
	if isFolder(&t.st) {
		return failed(unix.EPERM)
	}
	if d := b.refusesLink(n, t, to); d != nil {
		return b.refuse(n, refusal{denial: d, call: c.name, errno: unix.EPERM, pins: []pin{t.pin(), to.pin()}})
	}
	if a, first := b.keepLink(n, t, to); first {
		return a
	}
	if !n.valid(b.listener) {
		return failed(unix.ESRCH)
	}
	err = b.linkTo(t, to)
	if err == unix.EXDEV && t.spot.dir >= 0 {
		err = b.onHost(&moving{from: t.spot, to: to}, func(from, dir int) error {
			return b.linkHost(t, from, spot{dir: dir, last: to.last})
		})
	}
	if err != nil {
		return b.performed(n, c.name, to.full(), err)
	}
	b.made(to)
	return reply{}
}

// source finds the file that gets another name.
func (b *broker) source(n *notification, m name, follow bool) (*target, error) {
	if !m.itself {
		return b.target(n, m, follow)
	}
	t := &target{spot: spot{dir: -1}}
	var err error
	if t.fd, err = b.open(n, m); err != nil {
		return nil, err
	}
	if err = unix.Fstat(t.fd, &t.st); err != nil {
		t.close()
		return nil, err
	}
	t.path = b.view.policyPath(t.fd)
	return t, nil
}

func (b *broker) refusesLink(n *notification, t *target, to spot) *sandbox.Denial {
	if d := b.refusesFile(n, t.path, &t.st); d != nil {
		return d
	}
	if d := b.refusesPath(n, to.full()); d != nil {
		return d
	}
	return b.refusesArrival(t.spot, &t.st, to.full())
}

// linkTo gives the open file t the name to.
func (b *broker) linkTo(t *target, to spot) error {
	if t.st.Mode&unix.S_IFMT == unix.S_IFLNK {
		if t.spot.dir < 0 {
			return unix.EPERM
		}
		return unix.Linkat(t.spot.dir, t.spot.last, to.dir, to.last, 0)
	}
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(t.fd), to.dir, to.last, unix.AT_SYMLINK_FOLLOW)
}

// linkHost gives the file t, which the host has in the folder from, the name to.
func (b *broker) linkHost(t *target, from int, to spot) error {
	fd, err := openat2(from, t.spot.last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !sameFile(fd, t.fd) {
		return unix.EXDEV
	}
	host := *t
	host.fd, host.spot.dir = fd, from
	return b.linkTo(&host, to)
}

// onHost does what failed because two folders are on different mounts for the
// command, where each is a folder of the same name on the host too.
func (b *broker) onHost(m *moving, do func(from, to int) error) error {
	if b.mounts == nil {
		return unix.EXDEV
	}
	from, err := hostFolder(m.from)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, err := hostFolder(m.to)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return do(from, to)
}

// granted reports whether path is a write root itself.
func (b *broker) granted(path string) bool {
	root, _ := b.protection.judge(path)
	return root == path
}

// hostFolder opens the host's folder of the name of s, if it is the very same.
func hostFolder(s spot) (int, error) {
	fd, err := kernel.OpenPath(s.path)
	if err != nil {
		return -1, unix.EXDEV
	}
	if sameFile(fd, s.dir) {
		return fd, nil
	}
	unix.Close(fd)
	return -1, unix.EXDEV
}

func isFolder(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
