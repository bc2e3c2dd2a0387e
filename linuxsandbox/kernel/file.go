//go:build linux

// Package kernel wraps the Linux calls that several rooms below linuxsandbox share: paths opened
// through no link, descriptors with high numbers, vfork, the capabilities of a thread, and what
// /proc shows about processes. It imports nothing of ours and decides nothing. Start with
// OpenPath (file.go), which opens every path of a policy.
package kernel

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// These are folders and files of the system that several rooms name.
const (
	ShmDir  = "/dev/shm"
	PtsDir  = "/dev/pts"
	Ptmx    = "/dev/ptmx"
	ProcDir = "/proc"
	DevDir  = "/dev"
)

// MaxPath is PATH_MAX, including the NUL.
const MaxPath = 4096

// Scopes are the resolve flags that keep a path walk below its start folder.
const Scopes = unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT

// OpenPath opens path as a reference (O_PATH). No component may be a symbolic link: policy paths
// are canonical, so a link there is new.
func OpenPath(path string) (int, error) {
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
		})
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// StatPath returns the state of the file that OpenPath opens.
func StatPath(path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := OpenPath(path)
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}

// SameFile reports whether two descriptors refer to the same file.
func SameFile(a, b int) bool {
	var x, y unix.Stat_t
	return unix.Fstat(a, &x) == nil && unix.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// Openat2 is openat2(2) with retries. It retries after a signal (EINTR). It also retries after
// EAGAIN: the kernel answers that, only briefly, if something was renamed or mounted anywhere on
// the machine while it resolved a name with ".." in a scope.
func Openat2(dir int, path string, flags, resolve uint64) (int, error) {
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: flags, Resolve: resolve})
		moved := err == unix.EAGAIN && resolve&Scopes != 0 && tries < scopeTries
		if err != unix.EINTR && !moved {
			return fd, err
		}
	}
}

// scopeTries bounds these retries.
const scopeTries = 64

// OnProc reports whether an open file is in a /proc file system.
func OnProc(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

// PathOf is the kernel's path of an open file, without links and "..". It does not begin with a
// slash if the file is in no directory.
func PathOf(fd int) string {
	return LinkOf("/proc/self/fd/" + strconv.Itoa(fd))
}

// LinkOf is the target of a link in /proc; "" if it cannot be read.
func LinkOf(link string) string {
	var short [512]byte // most targets fit, and this buffer is on the stack
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

// ErrnoOf is the errno for a call that failed with err.
func ErrnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	return unix.EPERM
}

// IsFolder reports whether st describes a folder.
func IsFolder(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// ChmodOpen changes the mode of the file that a reference (O_PATH) refers to, which is not a link.
func ChmodOpen(fd int, mode uint32) error {
	err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH)
	if err == unix.EOPNOTSUPP || err == unix.EPERM { // before Linux 6.6, in a container that does not know the call
		err = unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), mode, 0)
	}
	return err
}

// ReadOnce reads the regular file name in the folder dir, of at most most bytes. st is its state: another file fails.
func ReadOnce(dir int, name string, st *unix.Stat_t, most int64) ([]byte, error) {
	fd, err := Openat2(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Dev != st.Dev || now.Ino != st.Ino || now.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, unix.EAGAIN
	}
	if now.Size > most {
		return nil, unix.EFBIG
	}
	text := make([]byte, now.Size)
	_, err = io.ReadFull(f, text)
	return text, err
}

// FileID identifies a file while it exists.
type FileID struct{ Dev, Ino uint64 }

// IDOf returns the identity of the file with the state st.
func IDOf(st *unix.Stat_t) FileID { return FileID{st.Dev, st.Ino} }
