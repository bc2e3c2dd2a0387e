//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/filter"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The filter asks about every open that may change something, and about every
// openat2, whose flags lie in memory. What lies in a write root (protect.go) is
// judged, opened by the broker and handed in. What lies outside of all roots is
// refused (outside.go). The rest proceeds: the path may name another file by the
// time the kernel reads it, but none that Landlock would let it write (proceed.go).

// opening is an open whose arguments were read.
type opening struct {
	call  string
	name  name
	flags uint64
	mode  uint32
	// resolve are openat2's limits on where the name may lead.
	resolve uint64
}

// openTmpfile is the bit of its own that O_TMPFILE has.
const openTmpfile = 0o20000000

// Flags of an open that are its file's own, and so the broker's to pass on.
const passedFlags = unix.O_ACCMODE | unix.O_APPEND | unix.O_ASYNC | unix.O_DIRECT | unix.O_DSYNC | unix.O_SYNC |
	unix.O_NOATIME | unix.O_NONBLOCK | unix.O_TRUNC

// openFile answers open, openat, openat2 and creat.
func (b *broker) openFile(n *notification, c *fileCall) reply {
	o, err := openingOf(n, c)
	if err != nil {
		return failed(b.unread(n, c.name, sandbox.KindWrite, err))
	}
	if o.flags&unix.O_PATH != 0 || o.flags&unix.O_ACCMODE == unix.O_RDONLY && o.flags&filter.WriteIntent == 0 {
		return b.rules.files.proceed() // it only reads, and what may be read Landlock knows
	}
	return b.openJudged(n, o)
}

// openingOf reads the arguments of an open.
func openingOf(n *notification, c *fileCall) (*opening, error) {
	o := &opening{call: c.name}
	switch c.kind {
	case kindCreat:
		o.flags, o.mode = unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(n.args[c.arg])
	case kindOpenat2:
		// A later kernel's struct open_how is longer; what it adds is unknown here.
		const size = 24
		if n.args[c.arg+1] < size {
			return nil, unix.EINVAL
		}
		raw, err := readMemory(int(n.tid), n.args[c.arg], size)
		if err != nil {
			return nil, err
		}
		o.flags, o.mode = binary.NativeEndian.Uint64(raw), uint32(binary.NativeEndian.Uint64(raw[8:]))
		o.resolve = binary.NativeEndian.Uint64(raw[16:])
	default:
		o.flags, o.mode = uint64(uint32(n.args[c.arg])), uint32(n.args[c.arg+1])
	}
	var err error
	o.name, err = c.first(n)
	return o, err
}

// openJudged opens what o means, or says what becomes of the call.
func (b *broker) openJudged(n *notification, o *opening) reply {
	if a, done := b.openTerminal(n, o); done {
		return a
	}
	if o.flags&openTmpfile != 0 {
		if o.flags&unix.O_TMPFILE != unix.O_TMPFILE || o.flags&unix.O_CREAT != 0 || o.flags&unix.O_ACCMODE == unix.O_RDONLY {
			return b.rules.files.proceed() // no such open: EINVAL
		}
		return b.openTemporary(n, o)
	}
	if strings.HasSuffix(o.name.path, "/") {
		return b.rules.files.proceed() // a folder's name: the kernel opens none for writing
	}
	exclusive := o.flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL
	follow := o.flags&unix.O_NOFOLLOW == 0 && !exclusive
	if exclusive && o.resolve == 0 {
		if a, done := b.openExclusive(n, o); done {
			return a
		}
	}
	// The host may make the file between the look and the creation.
	for range 16 {
		t, err := b.openTarget(n, o, follow)
		if err != nil {
			b.tellHidden(n, o.call, sandbox.KindWrite, o.name, err)
			return b.unfound(n, o.call, o.name, err)
		}
		a, again := b.openThis(n, o, t, exclusive)
		t.close()
		if !again {
			return a
		}
	}
	return failed(unix.EAGAIN)
}

func (b *broker) openTarget(n *notification, o *opening, follow bool) (*target, error) {
	if o.resolve != 0 {
		return b.scopedTarget(n, o.name, follow, o.resolve)
	}
	return b.target(n, o.name, follow)
}

// openThis opens the target. again: it is not what it was any more.
func (b *broker) openThis(n *notification, o *opening, t *target, exclusive bool) (a reply, again bool) {
	who := b.whoseFile(t)
	// The kernel refuses these before any look at rights. With a slash at the end,
	// here of a link's text, it is a folder's name.
	if who == kernels || t.spot.odd() || t.spot.slash || o.flags&unix.O_CREAT != 0 && o.flags&unix.O_DIRECTORY != 0 {
		return b.rules.files.proceed(), false
	}
	if t.fd < 0 {
		switch {
		case o.flags&unix.O_CREAT == 0:
			return failed(unix.ENOENT), false
		case who == nobodys:
			return b.refuseNew(n, o.call, t.spot, lack{}), false
		}
		return b.openNew(n, o, t, exclusive)
	}
	if exclusive {
		return failed(unix.EEXIST), false
	}
	kind := t.st.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFLNK:
		return failed(unix.ELOOP), false
	case kind == unix.S_IFDIR:
		return failed(unix.EISDIR), false
	case o.flags&unix.O_DIRECTORY != 0:
		return failed(unix.ENOTDIR), false
	case kind == unix.S_IFSOCK:
		return failed(unix.ENXIO), false
	case kind == unix.S_IFIFO && b.held.opens(t.path):
		return failed(unix.EACCES), false // a program of the host may listen to it
	case who == nobodys && o.access(kind)&unix.W_OK == 0:
		return b.rules.files.proceed(), false // it is there, and only to be read
	case who == nobodys:
		return b.refuseFile(n, o.call, t, o.access(kind)), false
	case kind != unix.S_IFREG && kind != unix.S_IFIFO:
		return b.rules.files.proceed(), false // a device: Landlock refuses it
	case kernelFile(t.fd):
		return b.rules.files.proceed(), false
	}
	if d := b.refusesFile(n, t.path, &t.st); d != nil {
		return b.refuse(n, refusal{denial: d, call: o.call, errno: unix.EACCES, pins: []pin{t.pin()}}), false
	}
	return b.openOld(n, o, t), false
}

// openOld opens a file that is there. It never waits: a file may be held up by a
// lease, a pipe by the lack of a reader.
func (b *broker) openOld(n *notification, o *opening, t *target) reply {
	flags := int(o.flags&passedFlags) | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if kind := t.st.Mode & unix.S_IFMT; kind == unix.S_IFREG && o.access(kind)&unix.W_OK != 0 {
		if a, first := b.keepTarget(n, t); first {
			return a
		}
	}
	if !n.valid(b.listener) {
		return failed(unix.ESRCH)
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(t.fd), flags, 0)
	waits := o.flags&unix.O_NONBLOCK == 0
	if err == unix.ENXIO && waits && t.st.Mode&unix.S_IFMT == unix.S_IFIFO {
		return b.waitForReader(n, t, flags, o.cloexec())
	}
	if err != nil {
		return b.performed(n, o.call, t.path, err)
	}
	defer unix.Close(fd)
	if waits {
		if err := setBlocking(fd); err != nil {
			return failed(errnoOf(err))
		}
	}
	return n.give(b.listener, fd, o.cloexec())
}

// openNew makes the file.
func (b *broker) openNew(n *notification, o *opening, t *target, exclusive bool) (a reply, again bool) {
	if d := b.refusesPath(n, t.path); d != nil {
		return b.refuse(n, refusal{denial: d, call: o.call, errno: unix.EACCES, pins: []pin{t.pin()}}), false
	}
	a = b.makeAndGive(n, o, t.spot)
	return a, a.errno == unix.EEXIST && !exclusive
}

// openExclusive makes a file that must not be there, if nothing is to be said
// about that but by the kernel: then nobody need look for the file first.
func (b *broker) openExclusive(n *notification, o *opening) (a reply, done bool) {
	s, err := b.spot(n, o.name)
	if err != nil {
		return reply{}, false
	}
	defer s.close()
	if path := s.full(); s.odd() || o.flags&unix.O_DIRECTORY != 0 || !b.protection.brokered(path) || b.refusesPath(n, path) != nil {
		return reply{}, false
	}
	return b.makeAndGive(n, o, s), true
}

// makeAndGive makes a file at s, where none is, and opens it for the caller.
func (b *broker) makeAndGive(n *notification, o *opening, s spot) reply {
	if a, first := b.keepEntries(s); first {
		return a
	}
	flags := int(o.flags&passedFlags)&^unix.O_TRUNC | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := b.create(n, s.dir, s.last, flags, o.mode)
	if err != nil {
		return b.performed(n, o.call, s.full(), err)
	}
	defer unix.Close(fd)
	b.made(s)
	b.fresh.take(fd)
	return n.give(b.listener, fd, o.cloexec())
}

// openTemporary makes a file without a name (O_TMPFILE).
func (b *broker) openTemporary(n *notification, o *opening) reply {
	if o.resolve != 0 {
		return failed(unix.EOPNOTSUPP) // as on a file system that has none
	}
	o.name.noFollow = o.flags&unix.O_NOFOLLOW != 0
	dir, err := b.open(n, o.name)
	if err != nil {
		return b.unfound(n, o.call, o.name, err)
	}
	path := b.view.policyPath(dir)
	if b.held.opens(path) {
		dir = b.asHost(dir, path)
	}
	defer unix.Close(dir)
	switch b.whoseEntry(spot{dir: dir, last: "-", path: path}) {
	case kernels:
		return b.rules.files.proceed()
	case nobodys:
		if b.held.learning.learner != nil {
			// As on a file system that has none: programs then make one with a name,
			// and what it is granted for can be told.
			return failed(unix.EOPNOTSUPP)
		}
		return b.refuseTemporary(n, o, dir, path)
	}
	if d := b.refusesPath(n, path); d != nil {
		return b.refuse(n, refusal{denial: d, call: o.call, errno: unix.EACCES, pins: []pin{{fd: dir, path: path, asked: o.name.path}}})
	}
	flags := int(o.flags&(passedFlags|unix.O_EXCL)) | unix.O_TMPFILE | unix.O_CLOEXEC
	fd, err := b.create(n, dir, ".", flags, o.mode)
	if err != nil {
		return b.performed(n, o.call, path, err)
	}
	defer unix.Close(fd)
	return n.give(b.listener, fd, o.cloexec())
}

// truncate answers truncate.
func (b *broker) truncate(n *notification, c *fileCall) reply {
	m, err := c.first(n)
	if err != nil {
		return failed(b.unread(n, c.name, sandbox.KindWrite, err))
	}
	size := int64(n.args[c.arg])
	t, err := b.target(n, m, true)
	if err != nil {
		return b.unfound(n, c.name, m, err)
	}
	defer t.close()
	who := b.whoseFile(t)
	switch {
	case t.spot.slash, t.spot.odd():
		return b.rules.files.proceed()
	case t.fd < 0:
		return failed(unix.ENOENT)
	case who == kernels:
		return b.rules.files.proceed()
	case t.st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return failed(unix.EISDIR)
	case t.st.Mode&unix.S_IFMT != unix.S_IFREG, size < 0:
		return failed(unix.EINVAL)
	case who == nobodys:
		return b.refuseFile(n, c.name, t, unix.W_OK)
	case kernelFile(t.fd):
		return b.rules.files.proceed()
	}
	if d := b.refusesFile(n, t.path, &t.st); d != nil {
		return b.refuse(n, refusal{denial: d, call: c.name, errno: unix.EACCES, pins: []pin{t.pin()}})
	}
	if most := b.policy.Limits.FileSize; most > 0 && size > most {
		return failed(unix.EFBIG)
	}
	if a, first := b.keepTarget(n, t); first {
		return a
	}
	if !n.valid(b.listener) {
		return failed(unix.ESRCH)
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(t.fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return b.performed(n, c.name, t.path, err)
	}
	defer unix.Close(fd)
	return failed(errnoOf(unix.Ftruncate(fd, size)))
}

// access is what access(2) would be asked for before the open of a file of that
// kind that is there.
func (o *opening) access(kind uint32) uint32 {
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

func (o *opening) cloexec() uint32 { return uint32(o.flags & unix.O_CLOEXEC) }

// setBlocking undoes O_NONBLOCK.
func setBlocking(fd int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^unix.O_NONBLOCK)
	}
	return err
}

// kernelFile reports whether an open file is the kernel's own and only looks
// like one: what it does depends on who opens it.
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
