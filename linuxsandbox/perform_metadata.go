//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"strconv"
	"strings"

	"codeagent/sandbox"

	"codeagent/linuxsandbox/kernel"

	"codeagent/linuxsandbox/broker/pathwalk"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// metadataChanges answers calls that change metadata.
type metadataChanges struct {
	walk     *pathwalk.Walker
	judge    *judge
	rights   *rights
	deny     *refuser
	held     *holding
	observer *observer
	fresh    *freshFile
	session  *brokerSession
}

// change answers a call that changes mode, owner, times or attributes.
func (h *metadataChanges) change(n *notify.Notification, c *metadataCall) notify.Reply {
	m, err := fileOf(n, c)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.name, sandbox.KindMetadata, err))
	}
	do, err := changeOf(n, c)
	if err != nil {
		return notify.Failed(h.deny.unread(n, c.name, sandbox.KindMetadata, err))
	}
	m.Path = h.judge.inMemory(m.Path)
	fd, err := h.walk.Open(n, m)
	if err != nil {
		h.deny.noteHidden(n, c.name, sandbox.KindMetadata, m, err)
		if err == unix.EACCES {
			h.session.mu.Lock()
			defer h.session.mu.Unlock()
			return h.deny.unfound(n, c.name, m, err)
		}
		return notify.Failed(h.deny.unread(n, c.name, sandbox.KindMetadata, err))
	}
	if m.Itself {
		if a, done := h.metadataOfFresh(n, c, do, fd); done {
			unix.Close(fd)
			return a
		}
	}
	path := h.walk.PolicyPath(fd)
	if h.judge.roots.opens(path) {
		fd = h.walk.AsHost(fd, path)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH) // nobody is left to read it
	}
	d := h.judge.refusesMetadata(n, fd, path, &st)
	if d == nil && do.refused(&st) {
		d = &sandbox.Denial{Kind: sandbox.KindCapability, Target: path}
	}
	if d == nil && do.admits(&st) && h.judge.protection.above(path) {
		d = &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
	}
	if d == nil {
		if a, first := h.observer.keepMetadata(n, do, fd); first {
			return a
		}
		return h.deny.performed(n, c.name, path, do.perform(fd, &st))
	}
	errno := unix.EPERM
	if !d.Moot {
		errno = h.rights.weigh(d, h.rights.lacksChange(do, fd, path, &st), errno)
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return h.held.refuse(n, refusal{denial: d, call: c.name, errno: errno, pins: []pin{{fd: fd, path: path, asked: m.Path}}})
}

// metadataOfFresh answers a change by descriptor, if the file is the fresh one; fd
// is the broker's own reference to it.
func (h *metadataChanges) metadataOfFresh(n *notify.Notification, c *metadataCall, do *changing, fd int) (a notify.Reply, done bool) {
	var st unix.Stat_t
	if !h.fresh.held || unix.Fstat(fd, &st) != nil || !h.fresh.is(&st) || do.refused(&st) || !n.Waits() {
		return notify.Reply{}, false
	}
	if err := do.perform(fd, &st); err != nil {
		return h.deny.performed(n, c.name, h.walk.PolicyPath(fd), err), true
	}
	return notify.Reply{}, true
}

// fileOf reads which file a call is about.
func fileOf(n *notify.Notification, c *metadataCall) (pathwalk.Name, error) {
	m := pathwalk.Name{Dir: unix.AT_FDCWD, NoFollow: c.noFollow}
	if c.dir != none {
		m.Dir = int32(n.Args[c.dir])
	}
	flags := uint32(0)
	if c.flags != none {
		flags = uint32(n.Args[c.flags])
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return m, unix.EINVAL
	}
	m.NoFollow = m.NoFollow || flags&unix.AT_SYMLINK_NOFOLLOW != 0
	if c.path == none {
		m.Itself = true
		return m, nil
	}
	address := n.Args[c.path]
	// utimensat and futimesat take a null path for the descriptor itself.
	if address == 0 && (c.change == changeTimes || c.change == changeTimeval) && c.dir != none {
		m.Itself = true
		if m.Dir == unix.AT_FDCWD || flags != 0 {
			return m, unix.EFAULT
		}
		return m, nil
	}
	if address == 0 && flags&unix.AT_EMPTY_PATH != 0 {
		m.Itself = true // Linux 6.11
		return m, nil
	}
	var err error
	m.Path, err = notify.ReadString(int(n.TID), address, kernel.MaxPath, unix.ENAMETOOLONG)
	m.Itself = err == nil && m.Path == "" && flags&unix.AT_EMPTY_PATH != 0
	return m, err
}

// changing is a change whose arguments were read.
type changing struct {
	change   change
	mode     uint32
	uid, gid int
	times    [2]unix.Timespec
	attr     string
	value    []byte
	flags    int
}

// changeOf reads what a call is to change the file to.
func changeOf(n *notify.Notification, c *metadataCall) (*changing, error) {
	do := &changing{change: c.change}
	tid, args := int(n.TID), n.Args[c.at:]
	var err error
	switch c.change {
	case changeMode:
		do.mode = uint32(args[0]) & 0o7777
	case changeOwner:
		do.uid, do.gid = int(int32(args[0])), int(int32(args[1]))
	case changeTimes, changeTimeval, changeUtime:
		err = do.readTimes(tid, args[0])
	default:
		err = do.readAttribute(tid, args)
	}
	return do, err
}

// readTimes reads two times: seconds and nanoseconds, seconds and microseconds,
// or seconds alone. A null pointer means now.
func (do *changing) readTimes(tid int, address uint64) error {
	if address == 0 {
		do.times = [2]unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
		return nil
	}
	size := 32
	if do.change == changeUtime {
		size = 16
	}
	raw, err := notify.ReadMemory(tid, address, size)
	if err != nil {
		return err
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(raw[8*i:])) }
	for i := range do.times {
		switch do.change {
		case changeUtime:
			do.times[i] = unix.Timespec{Sec: word(i)}
			continue
		case changeTimeval:
			if word(2*i+1) < 0 || word(2*i+1) >= 1e6 {
				return unix.EINVAL
			}
			do.times[i] = unix.Timespec{Sec: word(2 * i), Nsec: word(2*i+1) * 1000}
		default:
			do.times[i] = unix.Timespec{Sec: word(2 * i), Nsec: word(2*i + 1)}
		}
	}
	return nil
}

// Limits of the kernel (linux/limits.h).
const (
	maxAttributeName  = 256
	maxAttributeValue = 64 << 10
)

func (do *changing) readAttribute(tid int, args []uint64) (err error) {
	if do.attr, err = notify.ReadString(tid, args[0], maxAttributeName, unix.ERANGE); err != nil {
		return err
	}
	if do.change == removeAttribute {
		return nil
	}
	value, size, flags := args[1], args[2], uint64(0)
	if do.change == setAttributeAt {
		// struct xattr_args: value, size and flags; the size of it must be just that.
		if args[2] != 16 {
			return unix.EINVAL
		}
		raw, err := notify.ReadMemory(tid, args[1], 16)
		if err != nil {
			return err
		}
		value = binary.NativeEndian.Uint64(raw)
		size, flags = uint64(binary.NativeEndian.Uint32(raw[8:])), uint64(binary.NativeEndian.Uint32(raw[12:]))
	} else {
		flags = args[3]
	}
	if size > maxAttributeValue {
		return unix.E2BIG
	}
	do.flags = int(int32(flags))
	do.value, err = notify.ReadMemory(tid, value, int(size))
	return err
}

// refused reports a change that no policy permits: programs that run with
// another user's rights, and attributes that are not just the user's own words.
func (do *changing) refused(st *unix.Stat_t) bool {
	const special = unix.S_ISUID | unix.S_ISGID
	switch do.change {
	case changeMode:
		// On a folder the bit only hands the group on.
		return st.Mode&unix.S_IFMT != unix.S_IFDIR && do.mode&special&^st.Mode != 0
	case setAttribute, setAttributeAt, removeAttribute:
		return !strings.HasPrefix(do.attr, "user.") && !do.accessList()
	}
	return false
}

// admits reports a change of who may enter what the policy opens.
func (do *changing) admits(st *unix.Stat_t) bool {
	switch do.change {
	case changeMode:
		return do.mode != st.Mode&0o7777
	case changeOwner:
		return do.uid >= 0 && uint32(do.uid) != st.Uid || do.gid >= 0 && uint32(do.gid) != st.Gid
	}
	return false
}

// accessList is a change of a POSIX access list. It is answered as on a file
// system that has none: cp and tar then fall back to the mode.
func (do *changing) accessList() bool { return strings.HasPrefix(do.attr, "system.posix_acl_") }

// touches reports a change of times to now, or of none.
func (do *changing) touches() bool {
	now := func(t unix.Timespec) bool { return t.Nsec == unix.UTIME_NOW || t.Nsec == unix.UTIME_OMIT }
	return now(do.times[0]) && now(do.times[1])
}

// perform does the change to the broker's own reference.
func (do *changing) perform(fd int, st *unix.Stat_t) error {
	isLink := st.Mode&unix.S_IFMT == unix.S_IFLNK
	switch do.change {
	case changeMode:
		if isLink {
			return unix.EOPNOTSUPP
		}
		return chmodOpen(fd, do.mode)
	case changeOwner:
		return unix.Fchownat(fd, "", do.uid, do.gid, unix.AT_EMPTY_PATH)
	case changeTimes, changeTimeval, changeUtime:
		return unix.UtimesNanoAt(fd, "", do.times[:], unix.AT_EMPTY_PATH)
	}
	link := "/proc/self/fd/" + strconv.Itoa(fd)
	switch {
	case do.accessList():
		return unix.EOPNOTSUPP
	case isLink:
		return unix.EPERM // what the kernel says of user attributes of a link
	case do.change == removeAttribute:
		return unix.Removexattr(link, do.attr)
	}
	return unix.Setxattr(link, do.attr, do.value, do.flags)
}

// chmodOpen changes the mode of what a reference (O_PATH) is to, which is no link.
func chmodOpen(fd int, mode uint32) error {
	err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH)
	if err == unix.EOPNOTSUPP || err == unix.EPERM { // before Linux 6.6, in a container that does not know the call
		err = unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), mode, 0)
	}
	return err
}
