//go:build linux

package linuxsandbox

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Folders and files of the system that several rooms name.
const (
	shmDir  = "/dev/shm"
	ptsDir  = "/dev/pts"
	ptmx    = "/dev/ptmx"
	procDir = "/proc"
	devDir  = "/dev"
)

// maxPath is PATH_MAX, the NUL included.
const maxPath = 4096

// scopes keep a name below the folder it starts at.
const scopes = unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT

// sameFile reports whether two open files are the same.
func sameFile(a, b int) bool {
	var x, y unix.Stat_t
	return unix.Fstat(a, &x) == nil && unix.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// openat2 is openat2(2), tried again where a signal came, and where something was
// renamed or mounted anywhere on the machine while a name with ".." was looked for
// in a scope: the kernel answers EAGAIN then, and for a moment only.
func openat2(dir int, path string, flags, resolve uint64) (int, error) {
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: flags, Resolve: resolve})
		moved := err == unix.EAGAIN && resolve&scopes != 0 && tries < scopeTries
		if err != unix.EINTR && !moved {
			return fd, err
		}
	}
}

// scopeTries bounds how often a name is looked for in a scope while things move.
const scopeTries = 64

// onProc reports whether an open file lies in a /proc.
func onProc(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

// pathOf is the kernel's own name for an open file: no links, no "..". For what
// is no file of any directory it does not begin with a slash.
func pathOf(fd int) string {
	return linkOf("/proc/self/fd/" + strconv.Itoa(fd))
}

// linkOf is what a link of /proc shows, "" when it cannot be read.
func linkOf(link string) string {
	var short [512]byte // most are, and this one is on the stack
	n, err := unix.Readlink(link, short[:])
	if err == nil && n < len(short) {
		return string(short[:n])
	}
	long := make([]byte, 2*maxPath)
	n, err = unix.Readlink(link, long)
	if err != nil || n == len(long) {
		return ""
	}
	return string(long[:n])
}

// errnoOf is what a call that failed with err answers.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	return unix.EPERM
}

// isFolder reports whether st is that of a folder.
func isFolder(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
