package hostfile

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// steps opens path one component at a time and follows no link, for kernels without a single
// call for that.
func steps(path string, flags int, perm uint32) (int, error) {
	dir, err := OpenAt(unix.AT_FDCWD, "/", onlyPass|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	rest := strings.Trim(filepath.Clean(path), "/")
	if rest == "" {
		unix.Close(dir)
		return OpenAt(unix.AT_FDCWD, "/", flags, perm)
	}
	for {
		name, more, deeper := strings.Cut(rest, "/")
		if !deeper {
			fd, err := OpenAt(dir, name, flags|unix.O_NOFOLLOW, perm)
			unix.Close(dir)
			return fd, err
		}
		next, err := OpenAt(dir, name, onlyPass|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err == unix.ENOTDIR && isLink(dir, name) {
			err = unix.ELOOP
		}
		unix.Close(dir)
		if err != nil {
			return -1, err
		}
		dir, rest = next, more
	}
}

func isLink(dir int, name string) bool {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// OpenAt opens the entry name of the open folder dir.
func OpenAt(dir int, name string, flags int, perm uint32) (fd int, err error) {
	err = Retry(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, perm)
		return err
	})
	return fd, err
}
