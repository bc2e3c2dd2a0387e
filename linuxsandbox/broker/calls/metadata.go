//go:build linux

package calls

import (
	"encoding/binary"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Metadata is the argument layout of a call that changes metadata.
type Metadata struct {
	NR   int
	Name string
	// Dir, Path and flags are argument numbers, or None. Without a Path the file is
	// the descriptor Dir. Without a Dir a path starts at the working directory.
	Dir, Path, flags int
	// noFollow: the call never follows a link in the last component.
	noFollow bool
	change   Field
	// at is the first argument of the new value.
	at int
}

// Field is the metadata that a call changes.
type Field int

// File reads which file a call names.
func (c *Metadata) File(n *notify.Notification) (pathwalk.Name, error) {
	m := pathwalk.Name{Dir: unix.AT_FDCWD, NoFollow: c.noFollow}
	if c.Dir != None {
		m.Dir = int32(n.Args[c.Dir])
	}
	flags := uint32(0)
	if c.flags != None {
		flags = uint32(n.Args[c.flags])
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return m, unix.EINVAL
	}
	m.NoFollow = m.NoFollow || flags&unix.AT_SYMLINK_NOFOLLOW != 0
	if c.Path == None {
		m.Itself = true
		return m, nil
	}
	address := n.Args[c.Path]
	// For utimensat and futimesat a null path means the descriptor itself.
	if address == 0 && (c.change == changeTimes || c.change == changeTimeval) && c.Dir != None {
		m.Itself = true
		if m.Dir == unix.AT_FDCWD || flags != 0 {
			return m, unix.EFAULT
		}
		return m, nil
	}
	if address == 0 && flags&unix.AT_EMPTY_PATH != 0 {
		m.Itself = true // since Linux 6.11
		return m, nil
	}
	var err error
	m.Path, err = notify.ReadString(int(n.TID), address, kernel.MaxPath, unix.ENAMETOOLONG)
	m.Itself = err == nil && m.Path == "" && flags&unix.AT_EMPTY_PATH != 0
	return m, err
}

// Change is a change of metadata whose arguments were read.
type Change struct {
	Field    Field
	mode     uint32
	UID, GID int
	times    [2]unix.Timespec
	attr     string
	value    []byte
	flags    int
}

// Read reads the new value from the arguments and memory of a call.
func (c *Metadata) Read(n *notify.Notification) (*Change, error) {
	do := &Change{Field: c.change}
	tid, args := int(n.TID), n.Args[c.at:]
	var err error
	switch c.change {
	case Mode:
		do.mode = uint32(args[0]) & 0o7777
	case Owner:
		do.UID, do.GID = int(int32(args[0])), int(int32(args[1]))
	case changeTimes, changeTimeval, changeUtime:
		err = do.readTimes(tid, args[0])
	default:
		err = do.readAttribute(tid, args)
	}
	return do, err
}

// readTimes reads two times: as seconds and nanoseconds, seconds and microseconds, or seconds
// alone. A null pointer means now.
func (do *Change) readTimes(tid int, address uint64) error {
	if address == 0 {
		do.times = [2]unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
		return nil
	}
	size := 32
	if do.Field == changeUtime {
		size = 16
	}
	raw, err := notify.ReadMemory(tid, address, size)
	if err != nil {
		return err
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(raw[8*i:])) }
	for i := range do.times {
		switch do.Field {
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

// Kernel limits in bytes (linux/limits.h).
const (
	maxAttributeName  = 256
	maxAttributeValue = 64 << 10
)

func (do *Change) readAttribute(tid int, args []uint64) (err error) {
	if do.attr, err = notify.ReadString(tid, args[0], maxAttributeName, unix.ERANGE); err != nil {
		return err
	}
	if do.Field == removeAttribute {
		return nil
	}
	value, size, flags := args[1], args[2], uint64(0)
	if do.Field == setAttributeAt {
		// struct xattr_args has value, size and flags. The call must give its exact size.
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

// Plain reports whether the change sets nothing but permissions, the present time, or the owner that the file in state
// st has.
func (do *Change) Plain(st *unix.Stat_t) bool {
	const onlyMode = 4 + 3*8 // an access list with the three entries that permissions have (acl(5))
	switch do.Field {
	case Mode:
		return true
	case Owner:
		return (do.UID == -1 || do.UID == int(st.Uid)) && (do.GID == -1 || do.GID == int(st.Gid))
	case changeTimes, changeTimeval, changeUtime:
		return do.times[1].Nsec == unix.UTIME_NOW || do.times[1].Nsec == unix.UTIME_OMIT
	}
	return do.accessList() && len(do.value) == onlyMode
}

// Refused reports a change that no policy permits: a set-user-ID or set-group-ID bit, or an
// extended attribute outside the user namespace.
func (do *Change) Refused(st *unix.Stat_t) bool {
	const special = unix.S_ISUID | unix.S_ISGID
	switch do.Field {
	case Mode:
		// On a folder the bit only makes new files inherit the group.
		return st.Mode&unix.S_IFMT != unix.S_IFDIR && do.mode&special&^st.Mode != 0
	case setAttribute, setAttributeAt, removeAttribute:
		return !strings.HasPrefix(do.attr, "user.") && !do.accessList()
	}
	return false
}

// Admits reports whether the change alters who may access the file.
func (do *Change) Admits(st *unix.Stat_t) bool {
	switch do.Field {
	case Mode:
		return do.mode != st.Mode&0o7777
	case Owner:
		return do.UID >= 0 && uint32(do.UID) != st.Uid || do.GID >= 0 && uint32(do.GID) != st.Gid
	}
	return false
}

// accessList reports a change of a POSIX access control list. It fails as on a file system
// without them: cp and tar then use the mode alone.
func (do *Change) accessList() bool { return strings.HasPrefix(do.attr, "system.posix_acl_") }

// Touches reports whether each time is set to now or left as it is.
func (do *Change) Touches() bool {
	now := func(t unix.Timespec) bool { return t.Nsec == unix.UTIME_NOW || t.Nsec == unix.UTIME_OMIT }
	return now(do.times[0]) && now(do.times[1])
}

const (
	Mode Field = iota
	Owner
	changeTimes   // two timespec
	changeTimeval // two timeval
	changeUtime   // struct utimbuf
	setAttribute
	setAttributeAt // name, struct xattr_args and its size
	removeAttribute
)

// None stands for an argument that a call does not have.
const None = -1

// MetadataChanges are the calls on metadata that the filter asks about with Ask. A test
// compares the lists.
var MetadataChanges = append(oldMetadataCalls, []Metadata{
	{unix.SYS_FCHMOD, "fchmod", 0, None, None, false, Mode, 1},
	{unix.SYS_FCHMODAT, "fchmodat", 0, 1, None, false, Mode, 2},
	{unix.SYS_FCHMODAT2, "fchmodat2", 0, 1, 3, false, Mode, 2},
	{unix.SYS_FCHOWN, "fchown", 0, None, None, false, Owner, 1},
	{unix.SYS_FCHOWNAT, "fchownat", 0, 1, 4, false, Owner, 2},
	{unix.SYS_UTIMENSAT, "utimensat", 0, 1, 3, false, changeTimes, 2},
	{unix.SYS_SETXATTR, "setxattr", None, 0, None, false, setAttribute, 1},
	{unix.SYS_LSETXATTR, "lsetxattr", None, 0, None, true, setAttribute, 1},
	{unix.SYS_FSETXATTR, "fsetxattr", 0, None, None, false, setAttribute, 1},
	{unix.SYS_SETXATTRAT, "setxattrat", 0, 1, 2, false, setAttributeAt, 3},
	{unix.SYS_REMOVEXATTR, "removexattr", None, 0, None, false, removeAttribute, 1},
	{unix.SYS_LREMOVEXATTR, "lremovexattr", None, 0, None, true, removeAttribute, 1},
	{unix.SYS_FREMOVEXATTR, "fremovexattr", 0, None, None, false, removeAttribute, 1},
	{unix.SYS_REMOVEXATTRAT, "removexattrat", 0, 1, 2, false, removeAttribute, 3},
}...)

// MetadataOf returns the call with that number, or nil.
func MetadataOf(nr int32) *Metadata {
	return find(MetadataChanges, func(c *Metadata) bool { return c.NR == int(nr) })
}

// find returns the first match in list, or nil.
func find[C any](list []C, meant func(*C) bool) *C {
	for i := range list {
		if meant(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// OfTimes reports whether only times change.
func (do *Change) OfTimes() bool {
	return do.Field == changeTimes || do.Field == changeTimeval || do.Field == changeUtime
}

// Apply makes the change on the file that fd refers to (O_PATH).
func (do *Change) Apply(fd int, st *unix.Stat_t) error {
	isLink := st.Mode&unix.S_IFMT == unix.S_IFLNK
	switch do.Field {
	case Mode:
		if isLink {
			return unix.EOPNOTSUPP
		}
		return kernel.ChmodOpen(fd, do.mode)
	case Owner:
		return unix.Fchownat(fd, "", do.UID, do.GID, unix.AT_EMPTY_PATH)
	case changeTimes, changeTimeval, changeUtime:
		return unix.UtimesNanoAt(fd, "", do.times[:], unix.AT_EMPTY_PATH)
	}
	link := "/proc/self/fd/" + strconv.Itoa(fd)
	switch {
	case do.accessList():
		return unix.EOPNOTSUPP
	case do.Field != removeAttribute && strings.HasPrefix(do.attr, "user.overlay."):
		return unix.EOPNOTSUPP // marks of overlayfs (userxattr): a later draft would obey them
	case isLink:
		return unix.EPERM // the kernel's errno for user attributes of a link
	case do.Field == removeAttribute:
		return unix.Removexattr(link, do.attr)
	}
	return unix.Setxattr(link, do.attr, do.value, do.flags)
}
