package hostfile

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// onlyPass opens a folder to walk through it.
const onlyPass = unix.O_RDONLY

// walk opens path and follows no link.
func walk(path string, flags int, perm uint32) (int, error) {
	if !filepath.IsAbs(path) {
		return -1, unix.EINVAL // a relative path starts at a folder that may have been moved
	}
	return steps(path, flags, perm)
}

// Lstat returns the metadata of path itself.
func Lstat(path string) (fs.FileInfo, error) {
	dir, _, err := parent(path)
	if err != nil {
		return nil, failed("lstat", path, err)
	}
	unix.Close(dir) // here a single entry cannot get a descriptor without being opened
	return os.Lstat(path)
}

// utimeOmit leaves a time unchanged: UTIME_OMIT of <sys/stat.h>.
const utimeOmit = -2

// chmodAt sets the mode of the entry itself.
func chmodAt(dir int, name string, mode uint32) error {
	if isLink(dir, name) {
		return unix.ELOOP
	}
	return unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}
