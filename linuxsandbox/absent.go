//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"codeagent/internal/fileworker"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A granted path that does not exist yet has nothing a Landlock rule could be
// bound to, and a rule for its folder would open all of it. So the file is made
// before the command starts, and taken away again if the command did not use it.

// placeholder is such a file.
type placeholder struct {
	path string
	dev  uint64
	ino  uint64
}

// untouched is the modification time placeholders are given: whoever writes,
// truncates or touches the file leaves another one. The file worker knows a
// placeholder by it.
var untouched = unix.Timespec{Sec: fileworker.PlaceholderTime}

// createAbsent makes an empty file at each path, as the user, with the mode that
// the umask leaves of 0666. A path where the user may make none is left out: the
// command fails there as it would without a sandbox.
func createAbsent(paths []string) ([]placeholder, error) {
	var out []placeholder
	for _, path := range paths {
		p, err := createOne(path)
		switch {
		case err == nil:
			out = append(out, p)
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS), errors.Is(err, fs.ErrNotExist):
		default:
			removeUnused(out, true)
			return nil, fmt.Errorf("granted path %s: %w", path, err)
		}
	}
	return out, nil
}

func createOne(path string) (placeholder, error) {
	parent, err := kernel.OpenPath(filepath.Dir(path))
	if err != nil {
		return placeholder{}, err
	}
	defer unix.Close(parent)
	fd, err := unix.Openat(parent, filepath.Base(path), unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return placeholder{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return placeholder{}, err
	}
	// Without the mark an untouched file is kept, which is the lesser harm.
	_ = unix.UtimesNanoAt(fd, "", []unix.Timespec{untouched, untouched}, unix.AT_EMPTY_PATH)
	return placeholder{path: path, dev: st.Dev, ino: st.Ino}, nil
}

// removeUnused removes the placeholders that are still empty and either never
// touched or left by a command that failed.
func removeUnused(list []placeholder, failed bool) {
	for _, p := range list {
		parent, err := kernel.OpenPath(filepath.Dir(p.path))
		if err != nil {
			continue
		}
		var st unix.Stat_t
		err = unix.Fstatat(parent, filepath.Base(p.path), &st, unix.AT_SYMLINK_NOFOLLOW)
		same := err == nil && st.Dev == p.dev && st.Ino == p.ino && st.Size == 0
		if same && (failed || st.Mtim == untouched) {
			_ = unix.Unlinkat(parent, filepath.Base(p.path), 0)
		}
		unix.Close(parent)
	}
}
