//go:build linux

package broker

import (
	"encoding/binary"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/terminal"
	"codeagent/linuxsandbox/filter"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The filter asks about every open that may change something, and about every openat2, whose
// flags are in memory; reads.go says when it asks about all opens. A path in a write root (judge/protect.go) is judged, opened by the broker, and
// the descriptor is installed in the caller. A path outside all roots is denied (outside.go).
// The rest proceeds: the path may name another file when the kernel reads it, but none that
// Landlock would let the command write (notify/proceed.go).

// opens answers calls that open or truncate a file.
type opens struct {
	*fileCalls
	links   *gitlinks
	tracked *trackedFiles
	terms   *terminal.Terminals
	waiting *waitingCalls
	reads   *reads
	// learns: what is denied is granted for each call, by its name.
	learns bool
}

// openCall is an open whose arguments were read.
type openCall struct {
	call  string
	name  pathwalk.Name
	flags uint64
	mode  uint32
	// resolve are the RESOLVE_ flags of openat2.
	resolve uint64
}

// passedFlags are the open flags that belong to the open file. The broker passes them on.
const passedFlags = unix.O_ACCMODE | unix.O_APPEND | unix.O_ASYNC | unix.O_DIRECT | unix.O_DSYNC | unix.O_SYNC |
	unix.O_NOATIME | unix.O_NONBLOCK | unix.O_TRUNC

// openFile answers open, openat, openat2 and creat.
func (h *opens) openFile(n *notify.Notification, c *calls.File) notify.Reply {
	o, err := openingOf(n, c)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindWrite, err))
	}
	if o.flags&unix.O_PATH != 0 || o.flags&unix.O_ACCMODE == unix.O_RDONLY && o.flags&filter.WriteIntent == 0 {
		return h.reads.read(n, o)
	}
	h.still.Lock()
	defer h.still.Unlock()
	return h.openJudged(n, o)
}

// openingOf reads the arguments of an open.
func openingOf(n *notify.Notification, c *calls.File) (*openCall, error) {
	o := &openCall{call: c.Name}
	switch c.Kind {
	case calls.Creat:
		o.flags, o.mode = unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(n.Args[c.Arg])
	case calls.Openat2:
		// struct open_how may be longer on later kernels. What they add is unknown here.
		const size = 24
		if n.Args[c.Arg+1] < size {
			return nil, unix.EINVAL
		}
		raw, err := notify.ReadMemory(int(n.TID), n.Args[c.Arg], size)
		if err != nil {
			return nil, err
		}
		o.flags, o.mode = binary.NativeEndian.Uint64(raw), uint32(binary.NativeEndian.Uint64(raw[8:]))
		o.resolve = binary.NativeEndian.Uint64(raw[16:])
	default:
		o.flags, o.mode = uint64(uint32(n.Args[c.Arg])), uint32(n.Args[c.Arg+1])
	}
	var err error
	o.name, err = c.First(n)
	return o, err
}

// openJudged opens the file for the caller, or returns why not.
func (h *opens) openJudged(n *notify.Notification, o *openCall) notify.Reply {
	if o.resolve == 0 {
		if a, done := h.terms.Open(n, o.name.Path, o.flags); done {
			return a
		}
	}
	if o.flags&calls.Tmpfile != 0 {
		if o.flags&unix.O_TMPFILE != unix.O_TMPFILE || o.flags&unix.O_CREAT != 0 || o.flags&unix.O_ACCMODE == unix.O_RDONLY {
			return h.rules.Proceed(notify.ByLandlock) // invalid flags: the kernel fails with EINVAL
		}
		return h.openTemporary(n, o)
	}
	if strings.HasSuffix(o.name.Path, "/") {
		return h.rules.Proceed(notify.ByLandlock) // a folder's name: the kernel opens no folder for writing
	}
	exclusive := o.flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL
	follow := o.flags&unix.O_NOFOLLOW == 0 && !exclusive
	if exclusive && o.resolve == 0 {
		if a, done := h.openExclusive(n, o); done {
			return a
		}
	}
	// A program on the host may make the file between the look and the creation.
	for range 16 {
		t, err := h.openTarget(n, o, follow)
		if err != nil {
			h.deny.noteHidden(n, o.call, sandbox.KindWrite, o.name, err)
			return h.deny.unfound(n, o.call, o.name, err)
		}
		a, again := h.openThis(n, o, t, exclusive)
		t.Close()
		if !again {
			return a
		}
	}
	return notify.Failed(unix.EAGAIN)
}

func (h *opens) openTarget(n *notify.Notification, o *openCall, follow bool) (*pathwalk.Target, error) {
	if o.resolve != 0 {
		return h.walk.ScopedTarget(n, o.name, follow, o.resolve)
	}
	return h.walk.Target(n, o.name, follow)
}

// openThis opens the target. again: the file changed since it was found, so look again.
func (h *opens) openThis(n *notify.Notification, o *openCall, t *pathwalk.Target, exclusive bool) (a notify.Reply, again bool) {
	who := h.judge.WhoseFile(t)
	if who == judge.Kernels && t.FD >= 0 && !h.rules.Confines(notify.Changes) && (h.judge.Reaches(t.Path) && t.Stat.Rdev != ownTerminal || t.Stat.Dev == memory()) {
		return h.reopen(n, o, t), false
	}
	// The kernel fails these calls before it checks rights. A slash at the end, here in the
	// text of a link, means a folder.
	if who == judge.Kernels || t.Spot.Odd() || t.Spot.Slash || o.flags&unix.O_CREAT != 0 && o.flags&unix.O_DIRECTORY != 0 {
		return h.rules.Proceed(notify.ByLandlock), false
	}
	if t.FD < 0 {
		switch {
		case o.flags&unix.O_CREAT == 0:
			return notify.Failed(unix.ENOENT), false
		case who == judge.Nobodys:
			return h.deny.refuseNew(n, o.call, t.Spot, exclusive, lack{}), false
		}
		return h.openNew(n, o, t, exclusive)
	}
	if exclusive {
		return notify.Failed(unix.EEXIST), false
	}
	kind := t.Stat.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFLNK:
		return notify.Failed(unix.ELOOP), false
	case kind == unix.S_IFDIR:
		return notify.Failed(unix.EISDIR), false
	case o.flags&unix.O_DIRECTORY != 0:
		return notify.Failed(unix.ENOTDIR), false
	case kind == unix.S_IFSOCK:
		return notify.Failed(unix.ENXIO), false
	case kind == unix.S_IFIFO && h.judge.GrantedAt(t.Path):
		return notify.Failed(unix.EACCES), false // a program on the host may read the pipe
	case who == judge.Nobodys && o.access(kind)&unix.W_OK == 0:
		return h.reads.read(n, o), false // the file exists, and the call only reads it
	case who == judge.Nobodys:
		mode := o.access(kind)
		if o.flags&unix.O_TRUNC != 0 {
			mode = unix.W_OK // what it held is not wanted
		}
		return h.deny.refuseFile(n, o.call, t, mode), false
	case kind != unix.S_IFREG && kind != unix.S_IFIFO:
		return h.reads.read(n, o), false // a device, or what hides a file: Landlock or its mount denies it
	case kernelFile(t.FD):
		return h.rules.Proceed(notify.ByLandlock), false
	}
	refuses := h.judge.RefusesFile
	if h.judge.IsState(n, t.Path) {
		refuses = h.judge.RefusesRest // it gets a file in memory
	}
	if d := refuses(n, t.Path, &t.Stat); d != nil {
		errno := unix.EACCES
		if d.Why != "" {
			errno = unix.EPERM // no permission would help: the file worker renames then
		}
		return h.deny.refuse(n, o.call, errno, d, pinOfTarget(t)), false
	}
	return h.openOld(n, o, t), false
}

// ownTerminal is the device /dev/tty: the terminal of whoever opens it, and codeagent has another one than the caller.
const ownTerminal = 5 << 8

// memory is the device number of files in memory (memfd_create(2)), which have no name elsewhere.
var memory = sync.OnceValue(func() uint64 {
	var st unix.Stat_t
	fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC)
	if err != nil || unix.Fstat(fd, &st) != nil {
		st.Dev = ^uint64(0)
	}
	unix.Close(fd)
	return st.Dev
})

// openOld opens an existing file in a write root, or one that was granted.
func (h *opens) openOld(n *notify.Notification, o *openCall, t *pathwalk.Target) notify.Reply {
	if kind := t.Stat.Mode & unix.S_IFMT; kind == unix.S_IFREG && o.access(kind)&unix.W_OK != 0 {
		if a, first := h.observer.beforeTarget(n, t, o.flags&unix.O_TRUNC != 0); first {
			return a
		}
		if o.flags&unix.O_TRUNC != 0 {
			if a, stops := h.losses.losingTarget(n, o.call, t); stops {
				return a
			}
		}
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	if kind := t.Stat.Mode & unix.S_IFMT; kind == unix.S_IFREG && o.access(kind)&unix.W_OK != 0 {
		if s := (pathwalk.Spot{Path: filepath.Dir(t.Path), Last: filepath.Base(t.Path)}); h.judge.LeadsGit(n, s) {
			return h.rewriteLink(n, o, t, s)
		}
	}
	return h.reopen(n, o, t)
}

// reopen opens t for the caller. Without Landlock, where no open for writing proceeds, it opens devices too. It never
// blocks, neither on a lease nor on a pipe without a reader.
func (h *opens) reopen(n *notify.Notification, o *openCall, t *pathwalk.Target) notify.Reply {
	flags := int(o.flags&passedFlags) | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(t.FD), flags, 0)
	waits := o.flags&unix.O_NONBLOCK == 0
	if err == unix.ENXIO && waits && t.Stat.Mode&unix.S_IFMT == unix.S_IFIFO {
		return h.waitForReader(n, t, flags, o.cloexec())
	}
	if err != nil {
		return h.deny.performed(n, o.call, t.Path, err)
	}
	defer unix.Close(fd)
	if waits {
		if err := unix.SetNonblock(fd, false); err != nil {
			return notify.Failed(kernel.ErrnoOf(err))
		}
	}
	return n.Give(fd, o.cloexec())
}

// openNew makes the file and opens it.
func (h *opens) openNew(n *notify.Notification, o *openCall, t *pathwalk.Target, exclusive bool) (a notify.Reply, again bool) {
	if d := h.judge.RefusesNew(n, t.Spot); d != nil {
		return h.deny.refuse(n, o.call, unix.EACCES, d, pinOfTarget(t)), false
	}
	a = h.makeAndGive(n, o, t.Spot)
	return a, a.Errno == unix.EEXIST && !exclusive
}

// openExclusive makes a file that must not exist yet (O_EXCL). It skips the look for the file
// where nothing denies the call: the kernel fails if the file exists.
func (h *opens) openExclusive(n *notify.Notification, o *openCall) (a notify.Reply, done bool) {
	s, err := h.walk.Spot(n, o.name)
	if err != nil {
		return notify.Reply{}, false
	}
	defer s.Close()
	if s.Odd() || o.flags&unix.O_DIRECTORY != 0 || !h.judge.Brokered(s.Full()) {
		return notify.Reply{}, false
	}
	if d := h.judge.RefusesNew(n, s); d != nil && !judge.ItsLock(s, d) {
		if !h.judge.ChecksOut(n, s) {
			return notify.Reply{}, false
		}
		before, known := h.judge.Before(n, s)
		if !known {
			return notify.Reply{Again: true}, true
		}
		return h.makeTracked(n, o, s, before, d), true
	}
	return h.makeAndGive(n, o, s), true
}

// makeAndGive makes a new file at s and opens it for the caller.
func (h *opens) makeAndGive(n *notify.Notification, o *openCall, s pathwalk.Spot) notify.Reply {
	if a, first := h.observer.beforeEntries(s); first {
		return a
	}
	flags := int(o.flags&passedFlags)&^unix.O_TRUNC | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := h.masks.Create(n, s.Dir, s.Last, flags, o.mode)
	if err != nil {
		return h.deny.performed(n, o.call, s.Full(), err)
	}
	defer unix.Close(fd)
	h.judge.Made(s)
	if h.judge.LeadsGit(n, s) {
		return h.takeLink(n, o, fd, s, true)
	}
	h.fresh.take(fd, s.Full())
	return n.Give(fd, o.cloexec())
}

// rewriteLink lets the command write the file t at s, which concerns h.links.
func (h *opens) rewriteLink(n *notify.Notification, o *openCall, t *pathwalk.Target, s pathwalk.Spot) notify.Reply {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(t.FD), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return h.deny.performed(n, o.call, t.Path, err)
	}
	defer unix.Close(fd)
	return h.takeLink(n, o, fd, s, false)
}

// openTemporary makes a file without a name (O_TMPFILE).
func (h *opens) openTemporary(n *notify.Notification, o *openCall) notify.Reply {
	if o.resolve != 0 {
		return notify.Failed(unix.EOPNOTSUPP) // as on a file system without O_TMPFILE
	}
	o.name.NoFollow = o.flags&unix.O_NOFOLLOW != 0
	dir, err := h.walk.Open(n, o.name)
	if err != nil {
		return h.deny.unfound(n, o.call, o.name, err)
	}
	path := h.walk.PolicyPath(dir)
	if h.judge.GrantedAt(path) {
		dir = h.walk.AsHost(dir, path)
	}
	defer unix.Close(dir)
	switch h.judge.WhoseEntry(pathwalk.Spot{Dir: dir, Last: "-", Path: path}) {
	case judge.Kernels:
		return h.rules.Proceed(notify.ByLandlock)
	case judge.Nobodys:
		if h.learns {
			// As on a file system without O_TMPFILE. Programs then make a file with a
			// name, and the grant can name it.
			return notify.Failed(unix.EOPNOTSUPP)
		}
		return h.deny.refuseTemporary(n, o, dir, path)
	}
	if d := h.judge.RefusesPath(n, path); d != nil {
		return h.deny.refuse(n, o.call, unix.EACCES, d, pin{fd: dir, path: path, asked: o.name.Path})
	}
	flags := int(o.flags&(passedFlags|unix.O_EXCL)) | unix.O_TMPFILE | unix.O_CLOEXEC
	fd, err := h.masks.Create(n, dir, ".", flags, o.mode)
	if err != nil {
		return h.deny.performed(n, o.call, path, err)
	}
	defer unix.Close(fd)
	return n.Give(fd, o.cloexec())
}

// truncate answers truncate(2).
func (h *opens) truncate(n *notify.Notification, c *calls.File) notify.Reply {
	h.still.Lock()
	defer h.still.Unlock()
	m, err := c.First(n)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.Name, sandbox.KindWrite, err))
	}
	size := int64(n.Args[c.Arg])
	t, err := h.walk.Target(n, m, true)
	if err != nil {
		return h.deny.unfound(n, c.Name, m, err)
	}
	defer t.Close()
	who := h.judge.WhoseFile(t)
	switch {
	case t.Spot.Slash, t.Spot.Odd():
		return h.rules.Proceed(notify.ByLandlock)
	case t.FD < 0:
		return notify.Failed(unix.ENOENT)
	case who == judge.Kernels:
		return h.rules.Proceed(notify.ByLandlock)
	case t.Stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		return notify.Failed(unix.EISDIR)
	case t.Stat.Mode&unix.S_IFMT != unix.S_IFREG, size < 0:
		return notify.Failed(unix.EINVAL)
	case who == judge.Nobodys:
		return h.deny.refuseFile(n, c.Name, t, unix.W_OK)
	case kernelFile(t.FD):
		return h.rules.Proceed(notify.ByLandlock)
	}
	if d := h.judge.RefusesFile(n, t.Path, &t.Stat); d != nil {
		return h.deny.refuse(n, c.Name, unix.EACCES, d, pinOfTarget(t))
	}
	if most := h.judge.Longest(); most > 0 && size > most {
		return notify.Failed(unix.EFBIG)
	}
	if a, first := h.observer.beforeTarget(n, t, false); first {
		return a
	}
	if size < t.Stat.Size {
		if a, stops := h.losses.losingTarget(n, c.Name, t); stops {
			return a
		}
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(t.FD), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return h.deny.performed(n, c.Name, t.Path, err)
	}
	defer unix.Close(fd)
	return notify.Failed(kernel.ErrnoOf(unix.Ftruncate(fd, size)))
}

// access returns the mode that access(2) would test for the open of an existing file of that
// kind.
func (o *openCall) access(kind uint32) uint32 {
	mode := uint32(unix.R_OK | unix.W_OK)
	switch o.flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		mode = unix.R_OK
	case unix.O_WRONLY:
		mode = unix.W_OK
	}
	if o.flags&unix.O_TRUNC != 0 && kind != unix.S_IFIFO {
		mode |= unix.W_OK
	}
	return mode
}

func (o *openCall) cloexec() uint32 { return uint32(o.flags & unix.O_CLOEXEC) }

// kernelFile reports whether an open file is on a kernel file system. What an access to it does
// depends on who opened it. It is true where that is unknown.
func kernelFile(fd int) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil {
		return true
	}
	switch fs.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.SELINUX_MAGIC:
		return true
	}
	return false
}

// waitForReader postpones an open of a pipe for writing until the pipe has a reader. It takes
// ownership of t.FD. flags contain O_NONBLOCK.
func (h *opens) waitForReader(n *notify.Notification, t *pathwalk.Target, flags int, cloexec uint32) notify.Reply {
	w := &waitingCall{call: *n, fd: t.FD, try: func(w *waitingCall) (notify.Reply, bool) {
		fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(w.fd), flags, 0)
		if err != nil {
			return notify.Failed(kernel.ErrnoOf(err)), err != unix.ENXIO
		}
		defer unix.Close(fd)
		if err := unix.SetNonblock(fd, false); err != nil {
			return notify.Failed(kernel.ErrnoOf(err)), true
		}
		return w.call.Give(fd, cloexec), true
	}}
	t.FD = -1
	return h.waiting.wait(w, unix.EAGAIN)
}
