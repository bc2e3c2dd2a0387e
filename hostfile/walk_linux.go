package hostfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// onlyPass opens a folder to walk through it, which needs no permission to list it.
const onlyPass = unix.O_PATH

// noOpenat2: the kernel (before 5.6), or a filter around codeagent, refuses openat2.
var noOpenat2 atomic.Bool

// walk opens path and follows no link.
func walk(path string, flags int, perm uint32) (int, error) {
	if !filepath.IsAbs(path) {
		return -1, unix.EINVAL // a relative path starts at a folder that may have been moved
	}
	if noOpenat2.Load() {
		return steps(path, flags, perm)
	}
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(perm)
	}
	fd, err := -1, error(nil)
	err = Retry(func() (err error) {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
		return err
	})
	switch err {
	case unix.ENOSYS:
		noOpenat2.Store(true)
		return steps(path, flags, perm)
	case unix.EPERM: // from a filter, or from the file itself
		return steps(path, flags, perm)
	}
	return fd, err
}

// Lstat returns the metadata of path itself.
func Lstat(path string) (fs.FileInfo, error) {
	fd, err := walk(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, failed("lstat", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Stat()
}

// utimeOmit leaves a time unchanged.
const utimeOmit = unix.UTIME_OMIT

// chmodAt sets the mode of the entry itself. fchmodat would follow a link, and fchmod does not
// accept an O_PATH descriptor; the /proc name of such a descriptor leads to the entry itself.
func chmodAt(dir int, name string, mode uint32) error {
	fd, err := OpenAt(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}
