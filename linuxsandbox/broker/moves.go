//go:build linux

package broker

import (
	"os"
	"path/filepath"
	"strconv"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"golang.org/x/sys/unix"
)

// moves answers calls with two names: rename and link.
type moves struct{ *fileCalls }

// moveCall is a rename or link whose two names were walked.
type moveCall struct {
	from, to pathwalk.Spot
	// old is the file at from, over the file at to; there: it exists.
	old, over unix.Stat_t
	there     bool
	flags     uint32
	// fromWhose and toWhose say who decides about each end.
	fromWhose, toWhose whose
}

// rename answers rename, renameat and renameat2.
func (h *moves) rename(n *notify.Notification, c *calls.File) notify.Reply {
	h.still.Lock()
	defer h.still.Unlock()
	m := &moveCall{flags: c.Flags(n)}
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
	switch {
	case m.from.Odd() || m.to.Odd():
		return h.rules.Proceed(notify.ByLandlock)
	case m.fromWhose == brokers && m.fills() && h.judge.repos.granted(m.to.Full()):
		return h.renameJudged(n, c, m)
	case m.fromWhose == nobodys || m.toWhose == nobodys:
		return h.deny.refuseMove(n, c, m)
	case m.fromWhose != brokers && m.toWhose != brokers:
		return h.rules.Proceed(notify.ByLandlock)
	case !h.judge.protection.writable(m.from.Full()) || !h.judge.protection.writable(m.to.Full()):
		return h.rules.Proceed(notify.ByLandlock) // Landlock requires rights at both ends, so it denies this
	}
	if errno := m.look(); errno != 0 {
		return notify.Failed(errno)
	}
	return h.renameJudged(n, c, m)
}

// look reads what is at both ends.
func (m *moveCall) look() unix.Errno {
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

func (m *moveCall) exchange() bool { return m.flags&unix.RENAME_EXCHANGE != 0 }

// folder reports whether a folder is renamed.
func (m *moveCall) folder() bool {
	return kernel.IsFolder(&m.old) || m.exchange() && m.there && kernel.IsFolder(&m.over)
}

// settled returns the errno of a rename whose outcome depends only on what exists, and
// whether m is such a rename.
func (m *moveCall) settled() (errno unix.Errno, is bool) {
	switch exchange := m.exchange(); {
	case exchange && !m.there:
		return unix.ENOENT, true
	case m.flags == unix.RENAME_NOREPLACE && m.there:
		return unix.EEXIST, true
	case !kernel.IsFolder(&m.old) && (m.from.Slash || m.to.Slash && !exchange), exchange && m.to.Slash && !kernel.IsFolder(&m.over):
		return unix.ENOTDIR, true
	case m.there && m.old.Dev == m.over.Dev && m.old.Ino == m.over.Ino && m.old.Nlink > 1 && !m.folder() && !exchange:
		return 0, true // two names of one file: rename(2) does nothing
	}
	return 0, false
}

func (h *moves) renameJudged(n *notify.Notification, c *calls.File, m *moveCall) notify.Reply {
	exchange := m.exchange()
	if errno, is := m.settled(); is {
		return notify.Failed(errno)
	}
	if h.judge.unjudged(m) {
		return notify.Failed(unix.EXDEV) // mv then copies file by file
	}
	if h.copies(n, m) {
		return h.renameCopy(n, c, m)
	}
	d := h.judge.refusesRename(n, m, exchange)
	if len(h.judge.looks.due) > 0 {
		return notify.Reply{Again: true} // after the look through a large folder
	}
	if d != nil {
		return h.deny.refuse(n, c.Name, unix.EPERM, d, pinOf(m.from), pinOf(m.to))
	}
	if a, first := h.observer.beforeMove(m); first {
		return a
	}
	if h.losses.takesOut(m.from.Dir, m.from.Last, m.from.Full(), m.to.Full()) || exchange && h.losses.takesOut(m.to.Dir, m.to.Last, m.to.Full(), m.from.Full()) {
		return notify.Failed(unix.EXDEV)
	}
	if m.there && !exchange && !kernel.IsFolder(&m.old) {
		if a, stops := h.losses.losingEntry(n, c.Name, m.to, &m.over); stops {
			return a
		}
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	var err error
	if m.fills() {
		err = m.fill()
	} else {
		err = unix.Renameat2(m.from.Dir, m.from.Last, m.to.Dir, m.to.Last, uint(m.flags))
	}
	// A granted single file is a mount of its own, which keeps its name in place.
	if err == unix.EXDEV || err == unix.EBUSY && h.judge.repos.granted(m.to.Full()) {
		err = h.onHost(m, func(from, to int) error {
			return unix.Renameat2(from, m.from.Last, to, m.to.Last, uint(m.flags))
		})
	}
	if err != nil {
		return h.deny.performed(n, c.Name, m.to.Full(), err)
	}
	h.judge.moved(m)
	if m.there && !exchange {
		h.fresh.removed(&m.over)
	}
	return notify.Reply{}
}

// moved records that the broker performed m.
func (j *judge) moved(m *moveCall) {
	from, to := m.from.Full(), m.to.Full()
	j.session.changed(from, to)
	j.roots.replaced(&j.protection, from, to)
	j.session.own.renamed(from, to, m.exchange())
	if m.there && !m.exchange() {
		j.session.own.removed(&m.over)
	}
	// A folder that was renamed to .git is not a git directory that the session made, unless it
	// was one before. The same is true for other repositories.
	if !m.there && !(kernel.IsFolder(&m.old) && protect.IsRepository(m.to.Last)) {
		j.made(m.to)
	}
}

// unjudged reports whether m moves a folder to a place where more names are protected: nobody has
// judged the names in it.
func (j *judge) unjudged(m *moveCall) bool {
	from, to := j.protection.freedom(m.from.Full()), j.protection.freedom(m.to.Full())
	return m.folder() && from != to && (from > to || m.exchange())
}

// refusesRename returns the denial of m, or nil.
func (j *judge) refusesRename(n *notify.Notification, m *moveCall, exchange bool) *sandbox.Denial {
	if d := j.refusesEntry(n, m.from, &m.old, exchange); d != nil {
		return d
	}
	if m.there {
		if d := j.refusesEntry(n, m.to, &m.over, true); d != nil {
			return d
		}
	} else if d := j.refusesPath(n, m.to.Full()); d != nil {
		return d
	} else if d := j.repos.refusesMark(n, m.to); d != nil {
		return d
	}
	if d := j.refusesArrival(n, m.from, &m.old, m.to.Full()); d != nil || !exchange {
		return d
	}
	return j.refusesArrival(n, m.to, &m.over, m.from.Full())
}

// refusesArrival returns the denial of giving the entry at s the name to, or nil.
func (j *judge) refusesArrival(n *notify.Notification, s pathwalk.Spot, st *unix.Stat_t, to string) *sandbox.Denial {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if j.repos.refusesFolder(n, s.Full(), to, st) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to}
		}
		if !j.session.own.has(st) && j.repos.inForeignGit(n, to) && !j.repos.inForeignGit(n, s.Full()) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to} // it may contain links
		}
		if dir, _ := git.State(to); dir != "" && !j.protection.isTemporary(to) && j.repos.closed(n, dir) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to} // what it holds was not judged
		}
		return j.refusesMove(s, to)
	case unix.S_IFREG:
		if git.IsEntry(filepath.Base(to)) && !j.protection.isTemporary(to) && j.repos.belowForeign(n, filepath.Dir(to)) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to} // it may be written later
		}
	case unix.S_IFLNK:
		if text, err := s.Readlink(); err != nil || j.repos.linksAway(n, to, text) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to}
		}
	}
	return nil
}

// link answers link and linkat. Threat: a second name is a second way to change a file. So the
// command must be allowed to change the file itself.
func (h *moves) link(n *notify.Notification, c *calls.File) notify.Reply {
	h.still.Lock()
	defer h.still.Unlock()
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
		return h.rules.Proceed(notify.ByLandlock) // missing, or not a folder: the kernel fails before any check of rights
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
		return h.rules.Proceed(notify.ByLandlock) // Landlock requires rights at both ends, so it denies this
	}
	if _, err := to.Stat(); err == nil {
		return notify.Failed(unix.EEXIST)
	}
	if kernel.IsFolder(&t.Stat) {
		return notify.Failed(unix.EPERM)
	}
	if d := h.judge.refusesLink(n, t, to); d != nil {
		return h.deny.refuse(n, c.Name, unix.EPERM, d, pinOfTarget(t), pinOf(to))
	}
	if a, first := h.observer.beforeLink(n, t, to); first {
		return a
	}
	if h.losses.takesOut(t.FD, ".", t.Path, to.Full()) {
		return notify.Failed(unix.EXDEV)
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	err = h.linkTo(t, to)
	if err == unix.EXDEV && t.Spot.Dir >= 0 {
		err = h.onHost(&moveCall{from: t.Spot, to: to}, func(from, dir int) error {
			return h.linkHost(t, from, pathwalk.Spot{Dir: dir, Last: to.Last})
		})
	}
	if err != nil {
		return h.deny.performed(n, c.Name, to.Full(), err)
	}
	h.judge.made(to)
	return notify.Reply{}
}

// source finds the file that gets a second name.
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
	if d := j.repos.refusesMark(n, to); d != nil {
		return d
	}
	return j.refusesArrival(n, t.Spot, &t.Stat, to.Full())
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

// linkHost gives the file t the name to, where from is the host's folder of t.
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

// onHost retries on the host's folders a call that failed with EXDEV or EBUSY because the
// command's mounts separate what the host does not.
func (h *moves) onHost(m *moveCall, do func(from, to int) error) error {
	if h.walk.Mounts == nil {
		return unix.EXDEV
	}
	from, err := pathwalk.SameOnHost(m.from.Dir, m.from.Path)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, err := pathwalk.SameOnHost(m.to.Dir, m.to.Path)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return do(from, to)
}

// fills reports whether m replaces a single file of the host that the command is shown. That file is a mount: after a
// rename on the host the command would still see the old one. So it gets the content of the new one.
func (m *moveCall) fills() bool {
	return m.to.Shown && !m.exchange() && m.look() == 0 && m.there && m.old.Mode&unix.S_IFMT == unix.S_IFREG && m.over.Mode&unix.S_IFMT == unix.S_IFREG
}

// fill writes into the file at the end of m what the one at its beginning holds, and removes that one: its open
// descriptors and other names do not reach the host's file.
func (m *moveCall) fill() error {
	text, err := readOnce(m.from, &m.old, maxIndex)
	if err != nil {
		return err
	}
	shown, err := kernel.Openat2(m.to.Dir, m.to.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(shown)
	host, err := pathwalk.SameOnHost(shown, m.to.Full()) // the mount may be read-only
	if err != nil {
		return err
	}
	defer unix.Close(host)
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(host), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), m.to.Last)
	defer f.Close()
	// A full disk is met before anything of the old content is gone.
	if err = unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, int64(len(text))); err == unix.ENOSPC || err == unix.EDQUOT {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Truncate(int64(len(text)))
	}
	if err != nil {
		return err
	}
	return unix.Unlinkat(m.from.Dir, m.from.Last, 0)
}

// granted reports whether path is itself a write root.
func (r *repositories) granted(path string) bool {
	root, _ := r.protection.judge(path)
	return root == path
}
