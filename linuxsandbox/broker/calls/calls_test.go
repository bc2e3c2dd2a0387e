//go:build linux

package calls

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"

	"golang.org/x/sys/unix"
)

// prototypes are the arguments of the calls in the order of their manual pages: "dir" or "fd" is a
// descriptor, "path" a name. "dir2" and "path2" belong to the second file. "arg" is the first of
// flags, mode or size that the broker reads, "value" the first argument of new metadata.
var prototypes = map[string]string{
	"open": "path arg mode", "creat": "path arg", "openat": "dir path arg mode", "openat2": "dir path arg size",
	"truncate": "path arg", "mkdir": "path arg", "mkdirat": "dir path arg", "rmdir": "path", "unlink": "path", "unlinkat": "dir path arg",
	"rename": "path path2", "renameat": "dir path dir2 path2", "renameat2": "dir path dir2 path2 arg",
	"link": "path path2", "linkat": "dir path dir2 path2 arg", "symlink": "path path2", "symlinkat": "path dir2 path2",
	"mknod": "path arg dev", "mknodat": "dir path arg dev",
	"stat": "path buf", "lstat": "path buf", "newfstatat": "dir path buf flags", "statx": "dir path flags mask buf", "statfs": "path buf",
	"readlink": "path buf size", "readlinkat": "dir path buf size", "execve": "path argv env", "execveat": "dir path argv env flags", "chdir": "path",
	"getxattr": "path name buf size", "lgetxattr": "path name buf size", "getxattrat": "dir path flags name buf size",
	"listxattr": "path buf size", "llistxattr": "path buf size", "listxattrat": "dir path flags buf size", "inotify_add_watch": "fd path mask",

	"access": "path arg", "faccessat": "dir path arg", "faccessat2": "dir path arg flags",

	"chmod": "path value", "fchmod": "fd value", "fchmodat": "dir path value", "fchmodat2": "dir path value flags",
	"chown": "path value group", "lchown": "path value group", "fchown": "fd value group", "fchownat": "dir path value group flags",
	"utime": "path value", "utimes": "path value", "futimesat": "dir path value", "utimensat": "dir path value flags",
	"setxattr": "path value value size flags2", "lsetxattr": "path value value size flags2", "fsetxattr": "fd value value size flags2",
	"setxattrat": "dir path flags value args size", "removexattr": "path value", "lremovexattr": "path value", "fremovexattr": "fd value",
	"removexattrat": "dir path flags value",
}

// position returns the place of an argument in a prototype, None for none.
func position(prototype string, names ...string) int {
	return slices.IndexFunc(strings.Fields(prototype), func(arg string) bool { return slices.Contains(names, arg) })
}

// TestRegisters: each row of the tables names the registers of its call.
func TestRegisters(t *testing.T) {
	check := func(call, what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: the %s is argument %d, want %d", call, what, got, want)
		}
	}
	numbers := map[int]string{}
	unique := func(call string, nr int) {
		t.Helper()
		if other, have := numbers[nr]; have {
			t.Errorf("%s has the number of %s", call, other)
		}
		numbers[nr] = call
		if prototypes[call] == "" {
			t.Errorf("%s has no prototype here", call)
		}
	}
	for _, c := range Files {
		unique(c.Name, c.NR)
		p := prototypes[c.Name]
		check(c.Name, "descriptor", c.Dir, position(p, "dir"))
		check(c.Name, "path", c.Path, position(p, "path"))
		check(c.Name, "second descriptor", c.Dir2, position(p, "dir2"))
		check(c.Name, "second path", c.Path2, position(p, "path2"))
		check(c.Name, "first of flags, mode or size", c.Arg, position(p, "arg"))
		if FileOf(int32(c.NR)) == nil || FileOf(int32(c.NR)).Name != c.Name || MetadataOf(int32(c.NR)) != nil {
			t.Errorf("%s is not found by its number alone", c.Name)
		}
	}
	for _, c := range MetadataChanges {
		unique(c.Name, c.NR)
		p := prototypes[c.Name]
		check(c.Name, "descriptor", c.Dir, position(p, "dir", "fd"))
		check(c.Name, "path", c.Path, position(p, "path"))
		check(c.Name, "flags", c.flags, position(p, "flags"))
		check(c.Name, "new value", c.at, position(p, "value"))
		if c.noFollow != strings.HasPrefix(c.Name, "l") {
			t.Errorf("%s: noFollow is %v", c.Name, c.noFollow)
		}
		if MetadataOf(int32(c.NR)) == nil || MetadataOf(int32(c.NR)).Name != c.Name || FileOf(int32(c.NR)) != nil {
			t.Errorf("%s is not found by its number alone", c.Name)
		}
	}
	if len(numbers)+len(Lookups) < len(prototypes) && len(oldFileCalls) > 0 {
		t.Errorf("%d calls, %d prototypes", len(numbers), len(prototypes))
	}
}

// caller makes a call of the test itself. Strings and values are passed by their address.
func caller(t *testing.T, args ...any) *notify.Notification {
	t.Helper()
	n := &notify.Notification{TID: uint32(unix.Getpid())}
	for i, arg := range args {
		switch arg := arg.(type) {
		case int:
			n.Args[i] = uint64(arg)
		case string:
			raw := append([]byte(arg), 0)
			n.Args[i] = uint64(uintptr(unsafe.Pointer(&raw[0])))
			t.Cleanup(func() { _ = raw[0] }) // until then it stays where it is
		default:
			n.Args[i] = uint64(reflect.ValueOf(arg).Pointer())
			t.Cleanup(func() { _ = reflect.ValueOf(arg) })
		}
	}
	return n
}

// TestFileNames: the two names and the flags of each call on files, from its registers.
func TestFileNames(t *testing.T) {
	for _, c := range Files {
		args := make([]any, 6)
		for i := range args {
			args[i] = 100 + i
		}
		put := func(at int, value any) {
			if at != None {
				args[at] = value
			}
		}
		put(c.Dir, 7)
		put(c.Path, "one")
		put(c.Dir2, -5)
		put(c.Path2, "two")
		put(c.Arg, 0o640)
		n := caller(t, args...)
		dirOf := func(at, want int) int32 {
			if at == None {
				return unix.AT_FDCWD
			}
			return int32(want)
		}
		one, err := c.First(n)
		if want := (pathwalk.Name{Dir: dirOf(c.Dir, 7), Path: "one"}); one != want || err != nil {
			t.Errorf("%s, first: %+v, %v", c.Name, one, err)
		}
		if c.Path2 != None {
			two, err := c.Second(n)
			if want := (pathwalk.Name{Dir: dirOf(c.Dir2, -5), Path: "two"}); two != want || err != nil {
				t.Errorf("%s, second: %+v, %v", c.Name, two, err)
			}
		}
		want := uint32(0o640)
		if c.Arg == None {
			want = 0
		}
		if got := c.Flags(n); got != want {
			t.Errorf("%s: flags %#o, want %#o", c.Name, got, want)
		}
	}
}

// TestFileNameErrors: names that cannot be read.
func TestFileNameErrors(t *testing.T) {
	c := FileOf(unix.SYS_OPENAT)
	for _, row := range []struct {
		what string
		path any
		want error
	}{
		{"a null pointer", 0, unix.EFAULT},
		{"nothing is mapped there", 8, unix.EFAULT},
		{"PATH_MAX with its NUL", strings.Repeat("x", 4095), nil},
		{"one more", strings.Repeat("x", 4096), unix.ENAMETOOLONG},
		{"empty", "", nil},
	} {
		if _, err := c.First(caller(t, 3, row.path)); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.what, err, row.want)
		}
	}
	n := caller(t, 3, "x")
	n.TID = 1 << 30
	if _, err := c.First(n); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the caller is gone: %v", err)
	}
}

// TestMetadataFile: which file a call on metadata names.
func TestMetadataFile(t *testing.T) {
	const null, empty, noFollow = 0, unix.AT_EMPTY_PATH, unix.AT_SYMLINK_NOFOLLOW
	for _, row := range []struct {
		call string
		args []any
		want pathwalk.Name
		err  error
	}{
		{"chmod", []any{"a"}, pathwalk.Name{Dir: unix.AT_FDCWD, Path: "a"}, nil},
		{"lchown", []any{"a"}, pathwalk.Name{Dir: unix.AT_FDCWD, Path: "a", NoFollow: true}, nil},
		{"fchmod", []any{7}, pathwalk.Name{Dir: 7, Itself: true}, nil},
		{"fsetxattr", []any{-1}, pathwalk.Name{Dir: -1, Itself: true}, nil},
		{"fchmodat", []any{7, "a", 0, 1 << 20}, pathwalk.Name{Dir: 7, Path: "a"}, nil}, // it has no flags
		{"fchmodat2", []any{7, "a", 0, noFollow}, pathwalk.Name{Dir: 7, Path: "a", NoFollow: true}, nil},
		{"fchmodat2", []any{7, "", 0, empty}, pathwalk.Name{Dir: 7, Itself: true}, nil},
		{"fchmodat2", []any{7, null, 0, empty}, pathwalk.Name{Dir: 7, Itself: true}, nil},
		{"fchmodat2", []any{7, "", 0, 0}, pathwalk.Name{Dir: 7}, nil}, // the walk fails with ENOENT
		{"fchmodat2", []any{7, "a", 0, empty}, pathwalk.Name{Dir: 7, Path: "a"}, nil},
		{"fchmodat2", []any{7, "a", 0, 1 << 20}, pathwalk.Name{}, unix.EINVAL},
		{"fchmodat2", []any{7, null, 0, 0}, pathwalk.Name{}, unix.EFAULT},
		{"fchownat", []any{7, "a", 0, 0, noFollow}, pathwalk.Name{Dir: 7, Path: "a", NoFollow: true}, nil},
		{"setxattrat", []any{7, "a", noFollow}, pathwalk.Name{Dir: 7, Path: "a", NoFollow: true}, nil},
		{"utimensat", []any{7, null, 0, 0}, pathwalk.Name{Dir: 7, Itself: true}, nil},
		{"utimensat", []any{unix.AT_FDCWD, null, 0, 0}, pathwalk.Name{}, unix.EFAULT},
		{"utimensat", []any{7, null, 0, noFollow}, pathwalk.Name{}, unix.EFAULT},
		{"utimensat", []any{7, "a", 0, noFollow}, pathwalk.Name{Dir: 7, Path: "a", NoFollow: true}, nil},
		{"futimesat", []any{7, null}, pathwalk.Name{Dir: 7, Itself: true}, nil},
		{"utimes", []any{null}, pathwalk.Name{}, unix.EFAULT},
	} {
		c := metadataNamed(row.call)
		if c == nil {
			continue // an old call that this architecture lacks
		}
		got, err := c.File(caller(t, row.args...))
		if !errors.Is(err, row.err) || err == nil && got != row.want {
			t.Errorf("%s%v: %+v, %v; want %+v, %v", row.call, row.args, got, err, row.want, row.err)
		}
	}
}

func metadataNamed(name string) *Metadata {
	return find(MetadataChanges, func(c *Metadata) bool { return c.Name == name })
}

// attributes is struct xattr_args.
type attributes struct {
	Value       uint64
	Size, Flags uint32
}

// TestMetadataValues: the new values of each kind, from registers and memory.
func TestMetadataValues(t *testing.T) {
	now := [2]unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	times := [2]unix.Timespec{{Sec: 1, Nsec: 2}, {Sec: -3, Nsec: unix.UTIME_OMIT}}
	data := []byte("value")
	for _, row := range []struct {
		call string
		args []any
		want Change
		err  error
	}{
		{"chmod", []any{"a", 0o104751}, Change{Field: Mode, mode: 0o4751}, nil},
		{"fchmodat2", []any{7, "a", 0o600, 0}, Change{Field: Mode, mode: 0o600}, nil},
		{"fchownat", []any{7, "a", 5, -1, 0}, Change{Field: Owner, UID: 5, GID: -1}, nil},
		{"fchown", []any{7, 0xffffffff, 6}, Change{Field: Owner, UID: -1, GID: 6}, nil},
		{"utimensat", []any{7, "a", &times, 0}, Change{Field: changeTimes, times: times}, nil},
		{"utimensat", []any{7, "a", 0, 0}, Change{Field: changeTimes, times: now}, nil},
		{"utimensat", []any{7, "a", 8, 0}, Change{}, unix.EFAULT},
		{"utimes", []any{"a", &[2]unix.Timeval{{Sec: 4, Usec: 999999}, {Sec: 5}}}, Change{Field: changeTimeval, times: [2]unix.Timespec{{Sec: 4, Nsec: 999999000}, {Sec: 5}}}, nil},
		{"utimes", []any{"a", &[2]unix.Timeval{{Sec: 4}, {Usec: 1000000}}}, Change{}, unix.EINVAL},
		{"utimes", []any{"a", &[2]unix.Timeval{{Usec: -1}, {}}}, Change{}, unix.EINVAL},
		{"futimesat", []any{7, "a", 0}, Change{Field: changeTimeval, times: now}, nil},
		{"utime", []any{"a", &unix.Utimbuf{Actime: 8, Modtime: 9}}, Change{Field: changeUtime, times: [2]unix.Timespec{{Sec: 8}, {Sec: 9}}}, nil},
		{"setxattr", []any{"a", "user.x", &data[0], 5, 1}, Change{Field: setAttribute, attr: "user.x", value: data, flags: 1}, nil},
		{"fsetxattr", []any{7, "user.x", &data[0], 0, 0}, Change{Field: setAttribute, attr: "user.x", value: []byte{}}, nil},
		{"setxattr", []any{"a", "user.x", &data[0], maxAttributeValue + 1, 0}, Change{}, unix.E2BIG},
		{"setxattr", []any{"a", strings.Repeat("x", 256), &data[0], 5, 0}, Change{}, unix.ERANGE},
		{"setxattr", []any{"a", "user.x", 8, 5, 0}, Change{}, unix.EFAULT},
		{"setxattrat", []any{7, "a", 0, "user.x", &attributes{Value: address(data), Size: 5, Flags: 2}, 16}, Change{Field: setAttributeAt, attr: "user.x", value: data, flags: 2}, nil},
		{"setxattrat", []any{7, "a", 0, "user.x", &attributes{Value: address(data), Size: 5}, 24}, Change{}, unix.EINVAL},
		{"setxattrat", []any{7, "a", 0, "user.x", 8, 16}, Change{}, unix.EFAULT},
		{"removexattr", []any{"a", "user.x"}, Change{Field: removeAttribute, attr: "user.x"}, nil},
		{"removexattrat", []any{7, "a", 0, "user.x"}, Change{Field: removeAttribute, attr: "user.x"}, nil},
	} {
		c := metadataNamed(row.call)
		if c == nil {
			continue // an old call that this architecture lacks
		}
		got, err := c.Read(caller(t, row.args...))
		if !errors.Is(err, row.err) || err == nil && !reflect.DeepEqual(got, &row.want) {
			t.Errorf("%s%v: %+v, %v; want %+v, %v", row.call, row.args, got, err, row.want, row.err)
		}
	}
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// TestChanges: what a change is, by its values and by the file.
func TestChanges(t *testing.T) {
	file, folder := unix.Stat_t{Mode: unix.S_IFREG | 0o644, Uid: 1, Gid: 2}, unix.Stat_t{Mode: unix.S_IFDIR | 0o755}
	setuid := unix.Stat_t{Mode: unix.S_IFREG | unix.S_ISUID | 0o755}
	for _, row := range []struct {
		what            string
		do              Change
		st              *unix.Stat_t
		refused, admits bool
	}{
		{"a mode", Change{Field: Mode, mode: 0o600}, &file, false, true},
		{"the same mode", Change{Field: Mode, mode: 0o644}, &file, false, false},
		{"a new set-user-ID bit", Change{Field: Mode, mode: 0o4755}, &file, true, true},
		{"a new set-group-ID bit", Change{Field: Mode, mode: 0o2755}, &file, true, true},
		{"a set-user-ID bit that is there", Change{Field: Mode, mode: 0o4755}, &setuid, false, false},
		{"a set-group-ID bit of a folder", Change{Field: Mode, mode: 0o2755}, &folder, false, true},
		{"another owner", Change{Field: Owner, UID: 3, GID: -1}, &file, false, true},
		{"another group", Change{Field: Owner, UID: -1, GID: 3}, &file, false, true},
		{"the same owner", Change{Field: Owner, UID: 1, GID: 2}, &file, false, false},
		{"times", Change{Field: changeTimes}, &file, false, false},
		{"a user attribute", Change{Field: setAttribute, attr: "user.x"}, &file, false, false},
		{"an access list", Change{Field: setAttribute, attr: "system.posix_acl_access"}, &file, false, false},
		{"a security attribute", Change{Field: setAttributeAt, attr: "security.capability"}, &file, true, false},
		{"the removal of one", Change{Field: removeAttribute, attr: "trusted.x"}, &file, true, false},
	} {
		if refused, admits := row.do.Refused(row.st), row.do.Admits(row.st); refused != row.refused || admits != row.admits {
			t.Errorf("%s: refused %v, admits %v", row.what, refused, admits)
		}
	}
}

// TestNeeds: the capabilities that a refused call needs without a sandbox too.
func TestNeeds(t *testing.T) {
	for _, row := range []struct {
		nr    int32
		flags int
		want  uint64
	}{
		{unix.SYS_PTRACE, 0, 0},
		{unix.SYS_MOUNT, 0, 1 << unix.CAP_SYS_ADMIN},
		{unix.SYS_UNSHARE, unix.CLONE_NEWNS, 1 << unix.CAP_SYS_ADMIN},
		{unix.SYS_UNSHARE, unix.CLONE_NEWNS | unix.CLONE_NEWUSER, 0},
		{unix.SYS_CLONE, unix.CLONE_NEWUSER, 0},
		{unix.SYS_REBOOT, unix.CLONE_NEWUSER, 1 << unix.CAP_SYS_BOOT},
	} {
		if got := RefusedOf(row.nr).Needs(caller(t, row.flags)); got != row.want {
			t.Errorf("%s with %#x needs %#x, want %#x", RefusedOf(row.nr).Name, row.flags, got, row.want)
		}
	}
	for nr, number := range map[int32]int{
		unix.SYS_SETPRIORITY: 1, unix.SYS_IOPRIO_SET: 1, unix.SYS_PRLIMIT64: 0, unix.SYS_SCHED_SETPARAM: 0,
		unix.SYS_SCHED_SETSCHEDULER: 0, unix.SYS_SCHED_SETATTR: 0, unix.SYS_SCHED_SETAFFINITY: 0,
	} {
		if c := ProcessOf(nr); c == nil || c.Number != number {
			t.Errorf("call %d: %+v, want the process in argument %d", nr, c, number)
		}
	}
	if len(Processes) != 7 || FileOf(-1) != nil || ProcessOf(unix.SYS_READ) != nil {
		t.Errorf("%d calls on processes, want the 7 tested above; number -1 is %v, read is %v, want nil", len(Processes), FileOf(-1), ProcessOf(unix.SYS_READ))
	}
}

// TestEffect: what a call can do goes by its registers.
func TestEffect(t *testing.T) {
	calls := map[string]*File{}
	for _, c := range Files {
		calls[c.Name] = &c
	}
	for _, row := range []struct {
		call  string
		flags int
		want  notify.Effect
	}{
		{"openat", unix.O_RDONLY | unix.O_DIRECTORY, notify.Reads},
		{"openat", unix.O_PATH | unix.O_TRUNC, notify.Reads},
		{"openat", unix.O_RDONLY | unix.O_CREAT, notify.Changes},
		{"openat", unix.O_WRONLY | unix.O_TRUNC, notify.Changes},
		{"openat", unix.O_RDWR | unix.O_TMPFILE, notify.Changes},
		{"openat", unix.O_RDONLY | unix.O_TRUNC, notify.Empties},
		{"openat", unix.O_ACCMODE | unix.O_TRUNC, notify.Empties},
		{"openat", unix.O_ACCMODE, notify.Changes},
		{"openat2", 0, notify.Empties},
		{"truncate", 0, notify.Empties},
		{"faccessat", unix.W_OK, notify.Reads},
		{"unlinkat", 0, notify.Changes},
		{"renameat2", 0, notify.Changes},
	} {
		c := calls[row.call]
		n := &notify.Notification{}
		n.Args[c.Arg] = uint64(row.flags)
		if got := c.Effect(n); got != row.want {
			t.Errorf("%s with %#o: %d, want %d", row.call, row.flags, got, row.want)
		}
	}
}
