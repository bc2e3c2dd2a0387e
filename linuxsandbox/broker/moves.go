//go:build linux

package broker

import (
	"os"
	"strconv"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// moves answers calls with two names: rename and link.
type moves struct{ *fileCalls }

// moveCall is a rename or link whose two names were walked.
type moveCall struct {
	judge.Move
	// fromWhose and toWhose say who decides about each end.
	fromWhose, toWhose judge.Whose
}

// rename answers rename, renameat and renameat2.
func (h *moves) rename(n *notify.Notification, c *calls.File) notify.Reply {
	h.still.Lock()
	defer h.still.Unlock()
	m := &moveCall{Move: judge.Move{Flags: c.Flags(n)}}
	if m.Flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
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
	if m.From, err = h.walk.Spot(n, one); err != nil {
		return h.deny.unfound(n, c.Name, one, err)
	}
	defer m.From.Close()
	if m.To, err = h.walk.Spot(n, two); err != nil {
		return h.deny.unfound(n, c.Name, two, err)
	}
	defer m.To.Close()
	m.fromWhose, m.toWhose = h.judge.WhoseEntry(m.From), h.judge.WhoseEntry(m.To)
	switch {
	case m.From.Odd() || m.To.Odd():
		return h.rules.Proceed(notify.ByLandlock)
	case m.fromWhose == judge.Brokers && m.fills() && h.judge.Granted(m.To.Full()):
		return h.renameJudged(n, c, m)
	case m.fromWhose == judge.Nobodys || m.toWhose == judge.Nobodys:
		return h.deny.refuseMove(n, c, m)
	case m.fromWhose != judge.Brokers && m.toWhose != judge.Brokers:
		return h.rules.Proceed(notify.ByLandlock)
	case !h.judge.Writable(m.From.Full()) || !h.judge.Writable(m.To.Full()):
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
	if m.Old, err = m.From.Stat(); err != nil {
		return kernel.ErrnoOf(err)
	}
	m.Over, err = m.To.Stat()
	if m.There = err == nil; !m.There && err != unix.ENOENT {
		return kernel.ErrnoOf(err)
	}
	return 0
}

// settled returns the errno of a rename whose outcome depends only on what exists, and
// whether m is such a rename.
func (m *moveCall) settled() (errno unix.Errno, is bool) {
	switch exchange := m.Exchange(); {
	case exchange && !m.There:
		return unix.ENOENT, true
	case m.Flags == unix.RENAME_NOREPLACE && m.There:
		return unix.EEXIST, true
	case !kernel.IsFolder(&m.Old) && (m.From.Slash || m.To.Slash && !exchange), exchange && m.To.Slash && !kernel.IsFolder(&m.Over):
		return unix.ENOTDIR, true
	case m.There && m.Old.Dev == m.Over.Dev && m.Old.Ino == m.Over.Ino && m.Old.Nlink > 1 && !m.Folder() && !exchange:
		return 0, true // two names of one file: rename(2) does nothing
	}
	return 0, false
}

func (h *moves) renameJudged(n *notify.Notification, c *calls.File, m *moveCall) notify.Reply {
	exchange := m.Exchange()
	if errno, is := m.settled(); is {
		return notify.Failed(errno)
	}
	if h.judge.Unjudged(&m.Move) {
		return notify.Failed(unix.EXDEV) // mv then copies file by file
	}
	if h.judge.Copies(n, &m.Move) {
		return h.renameCopy(n, c, m)
	}
	d := h.judge.RefusesRename(n, &m.Move, exchange)
	if h.judge.LooksDue() {
		return notify.Reply{Again: true} // after the look through a large folder
	}
	if d != nil {
		return h.deny.refuse(n, c.Name, unix.EPERM, d, pinOf(m.From), pinOf(m.To))
	}
	if a, first := h.observer.beforeMove(m); first {
		return a
	}
	if h.losses.takesOut(m.From.Dir, m.From.Last, m.From.Full(), m.To.Full()) || exchange && h.losses.takesOut(m.To.Dir, m.To.Last, m.To.Full(), m.From.Full()) {
		return notify.Failed(unix.EXDEV)
	}
	if m.There && !exchange && !kernel.IsFolder(&m.Old) {
		if a, stops := h.losses.losingEntry(n, c.Name, m.To, &m.Over); stops {
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
		err = unix.Renameat2(m.From.Dir, m.From.Last, m.To.Dir, m.To.Last, uint(m.Flags))
	}
	if err == unix.EXDEV && h.observer.draft != nil {
		err = m.renameOnDraft(h.observer)
	}
	// A granted single file is a mount of its own, which keeps its name in place.
	if err == unix.EXDEV || err == unix.EBUSY && h.judge.Granted(m.To.Full()) {
		err = h.onHost(&m.Move, func(from, to int) error {
			return unix.Renameat2(from, m.From.Last, to, m.To.Last, uint(m.Flags))
		})
	}
	if err != nil {
		return h.failed(n, c.Name, m.To.Full(), err)
	}
	h.judge.Moved(&m.Move)
	if m.There && !exchange {
		h.fresh.removed(&m.Over)
	}
	return notify.Reply{}
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
	from, into := h.judge.WhoseFile(t), h.judge.WhoseEntry(to)
	switch {
	case to.Odd() || to.Slash:
		return h.rules.Proceed(notify.ByLandlock)
	case from == judge.Nobodys || into == judge.Nobodys:
		return h.deny.refuseLink(n, c, t, to, from, into)
	case from != judge.Brokers && into != judge.Brokers:
		return h.rules.Proceed(notify.ByLandlock)
	}
	if t.FD < 0 {
		return notify.Failed(unix.ENOENT)
	}
	if kernelFile(t.FD) || h.judge.Outside(t.Path) || !h.judge.Writable(to.Full()) {
		return h.rules.Proceed(notify.ByLandlock) // Landlock requires rights at both ends, so it denies this
	}
	if _, err := to.Stat(); err == nil {
		return notify.Failed(unix.EEXIST)
	}
	if kernel.IsFolder(&t.Stat) {
		return notify.Failed(unix.EPERM)
	}
	if d := h.judge.RefusesLink(n, t, to); d != nil {
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
		err = h.onHost(&judge.Move{From: t.Spot, To: to}, func(from, dir int) error {
			return h.linkHost(t, from, pathwalk.Spot{Dir: dir, Last: to.Last})
		})
	}
	if err != nil {
		return h.failed(n, c.Name, to.Full(), err)
	}
	h.judge.Made(to)
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
// command's mounts separate what the host does not. What a command does on a draft changes nothing there.
func (h *moves) onHost(m *judge.Move, do func(from, to int) error) error {
	if !h.deny.rights.mounted || h.observer.draft != nil {
		return unix.EXDEV
	}
	from, err := pathwalk.SameOnHost(m.From.Dir, m.From.Path)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, err := pathwalk.SameOnHost(m.To.Dir, m.To.Path)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return do(from, to)
}

// fills reports whether m replaces a single file of the host that the command is shown. That file is a mount: after a
// rename on the host the command would still see the old one. So it gets the content of the new one.
func (m *moveCall) fills() bool {
	return m.To.Shown && !m.Exchange() && m.look() == 0 && m.There && m.Old.Mode&unix.S_IFMT == unix.S_IFREG && m.Over.Mode&unix.S_IFMT == unix.S_IFREG
}

// fill writes into the file at the end of m what the one at its beginning holds, and removes that one: its open
// descriptors and other names do not reach the host's file.
func (m *moveCall) fill() error {
	text, err := kernel.ReadOnce(m.From.Dir, m.From.Last, &m.Old, judge.MaxIndex)
	if err != nil {
		return err
	}
	shown, err := kernel.Openat2(m.To.Dir, m.To.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(shown)
	host, err := pathwalk.SameOnHost(shown, m.To.Full()) // the mount may be read-only
	if err != nil {
		return err
	}
	defer unix.Close(host)
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(host), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), m.To.Last)
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
	return unix.Unlinkat(m.From.Dir, m.From.Last, 0)
}
