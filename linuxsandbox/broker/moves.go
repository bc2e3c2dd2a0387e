//go:build linux

package broker

import (
	"strconv"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Calls about two names: rename and link.

// moves answers them.
type moves struct {
	rules    notify.Rules
	walk     *pathwalk.Walker
	judge    *judge
	deny     *refuser
	held     *holding
	observer *observer
	fresh    *freshFile
	session  *Session
}

// moving is a rename or link whose names were found.
type moving struct {
	from, to pathwalk.Spot
	// old is what stands at from, over what stands at to, if something does.
	old, over    unix.Stat_t
	there        bool
	flags        uint32
	fromIn, toIn bool // brokered
	// fromWhose and toWhose are who decides about each end.
	fromWhose, toWhose whose
}

// rename answers rename, renameat and renameat2.
func (h *moves) rename(n *notify.Notification, c *calls.File) notify.Reply {
	m := &moving{flags: c.Flags(n)}
	if m.flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return notify.Failed(unix.EINVAL) // as on a file system without RENAME_WHITEOUT
	}
	one, err := c.First(n)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindWrite, err))
	}
	two, err := c.Second(n)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindWrite, err))
	}
	if m.from, err = h.walk.Spot(n, one); err != nil {
		return h.deny.unfound(n, c.Name, one, err)
	}
	defer m.from.Close()
	if m.to, err = h.walk.Spot(n, two); err != nil {
		return h.deny.unfound(n, c.Name, two, err)
	}
	defer m.to.Close()
	m.fromWhose, m.toWhose = h.judge.whoseEntry(m.from), h.judge.whoseEntry(m.to)
	m.fromIn, m.toIn = m.fromWhose == brokers, m.toWhose == brokers
	switch {
	case m.from.Odd() || m.to.Odd():
		return h.rules.Proceed(notify.ByLandlock)
	case m.fromWhose == nobodys || m.toWhose == nobodys:
		return h.deny.refuseMove(n, c, m)
	case !m.fromIn && !m.toIn:
		return h.rules.Proceed(notify.ByLandlock)
	case !h.judge.protection.writable(m.from.Full()) || !h.judge.protection.writable(m.to.Full()):
		return h.rules.Proceed(notify.ByLandlock) // Landlock wants a right at both ends
	}
	if errno := m.look(); errno != 0 {
		return notify.Failed(errno)
	}
	return h.renameJudged(n, c, m)
}

// look finds out what stands at both ends.
func (m *moving) look() unix.Errno {
	var err error
	if m.old, err = m.from.Stat(); err != nil {
		return kernel.ErrnoOf(err)
	}
	m.over, err = m.to.Stat()
	if m.there = err == nil; !m.there && err != unix.ENOENT {
		return kernel.ErrnoOf(err)
	}
	return 0
}

func (m *moving) exchange() bool { return m.flags&unix.RENAME_EXCHANGE != 0 }

// folder reports whether a folder gets another name.
func (m *moving) folder() bool {
	return kernel.IsFolder(&m.old) || m.exchange() && m.there && kernel.IsFolder(&m.over)
}

// settled reports what a rename comes to that depends on what is there alone.
func (m *moving) settled() (errno unix.Errno, is bool) {
	switch exchange := m.exchange(); {
	case exchange && !m.there:
		return unix.ENOENT, true
	case m.flags == unix.RENAME_NOREPLACE && m.there:
		return unix.EEXIST, true
	case !kernel.IsFolder(&m.old) && (m.from.Slash || m.to.Slash && !exchange), exchange && m.to.Slash && !kernel.IsFolder(&m.over):
		return unix.ENOTDIR, true
	case m.there && m.old.Dev == m.over.Dev && m.old.Ino == m.over.Ino && m.old.Nlink > 1 && !m.folder() && !exchange:
		return 0, true // two names of one file: nothing is to be done
	}
	return 0, false
}

func (h *moves) renameJudged(n *notify.Notification, c *calls.File, m *moving) notify.Reply {
	exchange := m.exchange()
	if errno, is := m.settled(); is {
		return notify.Failed(errno)
	}
	if h.judge.unjudged(m) {
		return notify.Failed(unix.EXDEV) // mv copies then, one file after the other
	}
	d := h.judge.refusesRename(n, m, exchange)
	if len(h.judge.looks.due) > 0 {
		return notify.Reply{Again: true} // once a large folder is looked through
	}
	if d != nil {
		return h.held.refuse(n, refusal{denial: d, call: c.Name, errno: unix.EPERM, pins: []pin{pinOf(m.from), pinOf(m.to)}})
	}
	if a, first := h.observer.beforeMove(m); first {
		return a
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	err := unix.Renameat2(m.from.Dir, m.from.Last, m.to.Dir, m.to.Last, uint(m.flags))
	// A single file that was granted is a mount of its own, which holds its name.
	if err == unix.EXDEV || err == unix.EBUSY && h.judge.granted(m.to.Full()) {
		err = h.onHost(m, func(from, to int) error {
			return unix.Renameat2(from, m.from.Last, to, m.to.Last, uint(m.flags))
		})
	}
	if err != nil {
		return h.deny.performed(n, c.Name, m.to.Full(), err)
	}
	h.session.changed(m.from.Full(), m.to.Full())
	h.judge.roots.renamed(m.from.Full(), m.to.Full())
	h.session.own.renamed(m.from.Full(), m.to.Full(), exchange)
	if m.there && !exchange {
		h.session.own.removed(&m.over)
		h.fresh.removed(&m.over)
	}
	// A folder that is called .git now is no repository of the session's making,
	// unless it was one before.
	if !m.there && !(kernel.IsFolder(&m.old) && m.to.Last == gitDir) {
		h.judge.made(m.to)
	}
	return notify.Reply{}
}

// unjudged reports whether a folder comes to a place where names are protected from
// one where they are not: nobody has judged what it holds.
func (j *judge) unjudged(m *moving) bool {
	from, to := j.protection.isTemporary(m.from.Full()), j.protection.isTemporary(m.to.Full())
	return m.folder() && from != to && (from || m.exchange())
}

// refusesRename says why m may not be done, or nil.
func (j *judge) refusesRename(n *notify.Notification, m *moving, exchange bool) *sandbox.Denial {
	if d := j.refusesEntry(n, m.from, &m.old, exchange); d != nil {
		return d
	}
	if m.there {
		if d := j.refusesEntry(n, m.to, &m.over, true); d != nil {
			return d
		}
	} else if d := j.refusesPath(n, m.to.Full()); d != nil {
		return d
	}
	if d := j.refusesArrival(m.from, &m.old, m.to.Full()); d != nil || !exchange {
		return d
	}
	return j.refusesArrival(m.to, &m.over, m.from.Full())
}

// refusesArrival says why what stands at s may not get the name to, or nil.
func (j *judge) refusesArrival(s pathwalk.Spot, st *unix.Stat_t, to string) *sandbox.Denial {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return j.refusesMove(s, to)
	case unix.S_IFLNK:
		if j.protection.leads(to) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to}
		}
	}
	return nil
}

// link answers link and linkat. A second name is a second way to change a file,
// so what has one made must itself be open to change.
func (h *moves) link(n *notify.Notification, c *calls.File) notify.Reply {
	flags := c.Flags(n)
	one, err := c.First(n)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindWrite, err))
	}
	two, err := c.Second(n)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindWrite, err))
	}
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return notify.Failed(unix.EINVAL)
	}
	one.Itself = one.Path == "" && flags&unix.AT_EMPTY_PATH != 0
	t, err := h.source(n, one, flags&unix.AT_SYMLINK_FOLLOW != 0)
	if err != nil {
		return h.deny.unfound(n, c.Name, one, err)
	}
	defer t.Close()
	if t.Spot.Slash && !(t.FD >= 0 && kernel.IsFolder(&t.Stat)) {
		return h.rules.Proceed(notify.ByLandlock) // not found, or no folder: the kernel tells before it looks at rights
	}
	to, err := h.walk.Spot(n, two)
	if err != nil {
		return h.deny.unfound(n, c.Name, two, err)
	}
	defer to.Close()
	from, into := h.judge.whoseFile(t), h.judge.whoseEntry(to)
	switch {
	case to.Odd() || to.Slash:
		return h.rules.Proceed(notify.ByLandlock)
	case from == nobodys || into == nobodys:
		return h.deny.refuseLink(n, c, t, to, from, into)
	case from != brokers && into != brokers:
		return h.rules.Proceed(notify.ByLandlock)
	}
	if t.FD < 0 {
		return notify.Failed(unix.ENOENT)
	}
	if kernelFile(t.FD) || h.judge.protection.outside(t.Path) || !h.judge.protection.writable(to.Full()) {
		return h.rules.Proceed(notify.ByLandlock) // Landlock wants a right at both ends
	}
	if _, err := to.Stat(); err == nil {
		return notify.Failed(unix.EEXIST)
	}
	if kernel.IsFolder(&t.Stat) {
		return notify.Failed(unix.EPERM)
	}
	if d := h.judge.refusesLink(n, t, to); d != nil {
		return h.held.refuse(n, refusal{denial: d, call: c.Name, errno: unix.EPERM, pins: []pin{pinOfTarget(t), pinOf(to)}})
	}
	if a, first := h.observer.beforeLink(n, t, to); first {
		return a
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	err = h.linkTo(t, to)
	if err == unix.EXDEV && t.Spot.Dir >= 0 {
		err = h.onHost(&moving{from: t.Spot, to: to}, func(from, dir int) error {
			return h.linkHost(t, from, pathwalk.Spot{Dir: dir, Last: to.Last})
		})
	}
	if err != nil {
		return h.deny.performed(n, c.Name, to.Full(), err)
	}
	h.judge.made(to)
	return notify.Reply{}
}

// source finds the file that gets another name.
func (h *moves) source(n *notify.Notification, m pathwalk.Name, follow bool) (*pathwalk.Target, error) {
	if !m.Itself {
		return h.walk.Target(n, m, follow)
	}
	t := &pathwalk.Target{Spot: pathwalk.Spot{Dir: -1}}
	var err error
	if t.FD, err = h.walk.Open(n, m); err != nil {
		return nil, err
	}
	if err = unix.Fstat(t.FD, &t.Stat); err != nil {
		t.Close()
		return nil, err
	}
	t.Path = h.walk.PolicyPath(t.FD)
	return t, nil
}

func (j *judge) refusesLink(n *notify.Notification, t *pathwalk.Target, to pathwalk.Spot) *sandbox.Denial {
	if d := j.refusesFile(n, t.Path, &t.Stat); d != nil {
		return d
	}
	if d := j.refusesPath(n, to.Full()); d != nil {
		return d
	}
	return j.refusesArrival(t.Spot, &t.Stat, to.Full())
}

// linkTo gives the open file t the name to.
func (h *moves) linkTo(t *pathwalk.Target, to pathwalk.Spot) error {
	if t.Stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		if t.Spot.Dir < 0 {
			return unix.EPERM
		}
		return unix.Linkat(t.Spot.Dir, t.Spot.Last, to.Dir, to.Last, 0)
	}
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(t.FD), to.Dir, to.Last, unix.AT_SYMLINK_FOLLOW)
}

// linkHost gives the file t, which the host has in the folder from, the name to.
func (h *moves) linkHost(t *pathwalk.Target, from int, to pathwalk.Spot) error {
	fd, err := kernel.Openat2(from, t.Spot.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !kernel.SameFile(fd, t.FD) {
		return unix.EXDEV
	}
	host := *t
	host.FD, host.Spot.Dir = fd, from
	return h.linkTo(&host, to)
}

// onHost does what failed because two folders are on different mounts for the
// command, where each is a folder of the same name on the host too.
func (h *moves) onHost(m *moving, do func(from, to int) error) error {
	if h.walk.Mounts == nil {
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
func (j *judge) granted(path string) bool {
	root, _ := j.protection.judge(path)
	return root == path
}

// hostFolder opens the host's folder of the name of s, if it is the very same.
func hostFolder(s pathwalk.Spot) (int, error) {
	fd, err := kernel.OpenPath(s.Path)
	if err != nil {
		return -1, unix.EXDEV
	}
	if kernel.SameFile(fd, s.Dir) {
		return fd, nil
	}
	unix.Close(fd)
	return -1, unix.EXDEV
}
