//go:build linux

package kernel

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Folders and files of the system that several rooms name.
const (
	ShmDir  = "/dev/shm"
	PtsDir  = "/dev/pts"
	Ptmx    = "/dev/ptmx"
	ProcDir = "/proc"
	DevDir  = "/dev"
)

// MaxPath is PATH_MAX, the NUL included.
const MaxPath = 4096

// Scopes keep a name below the folder it starts at.
const Scopes = unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT

// SameFile reports whether two open files are the same.
func SameFile(a, b int) bool {
	var x, y unix.Stat_t
	return unix.Fstat(a, &x) == nil && unix.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// Openat2 is openat2(2), tried again where a signal came, and where something was
// renamed or mounted anywhere on the machine while a name with ".." was looked for
// in a scope: the kernel answers EAGAIN then, and for a moment only.
func Openat2(dir int, path string, flags, resolve uint64) (int, error) {
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: flags, Resolve: resolve})
		moved := err == unix.EAGAIN && resolve&Scopes != 0 && tries < scopeTries
		if err != unix.EINTR && !moved {
			return fd, err
		}
	}
}

// scopeTries bounds how often a name is looked for in a scope while things move.
const scopeTries = 64

// OnProc reports whether an open file lies in a /proc.
func OnProc(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

// PathOf is the kernel's own name for an open file: no links, no "..". For what
// is no file of any directory it does not begin with a slash.
func PathOf(fd int) string {
	return LinkOf("/proc/self/fd/" + strconv.Itoa(fd))
}

// LinkOf is what a link of /proc shows, "" when it cannot be read.
func LinkOf(link string) string {
	var short [512]byte // most are, and this one is on the stack
	n, err := unix.Readlink(link, short[:])
	if err == nil && n < len(short) {
		return string(short[:n])
	}
	long := make([]byte, 2*MaxPath)
	n, err = unix.Readlink(link, long)
	if err != nil || n == len(long) {
		return ""
	}
	return string(long[:n])
}

// ErrnoOf is what a call that failed with err answers.
func ErrnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	return unix.EPERM
}

// IsFolder reports whether st is that of a folder.
func IsFolder(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// ChmodOpen changes the mode of what a reference (O_PATH) is to, which is no link.
func ChmodOpen(fd int, mode uint32) error {
	err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH)
	if err == unix.EOPNOTSUPP || err == unix.EPERM { // before Linux 6.6, in a container that does not know the call
		err = unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), mode, 0)
	}
	return err
}
