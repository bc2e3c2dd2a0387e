//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"codeagent/hostfile"
	"codeagent/internal/fileworker"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A Landlock rule needs an existing file. A granted path that does not exist yet has none, and a
// rule for its folder would open everything in that folder. So codeagent creates the file before
// the command starts, and removes it afterwards if the command did not use it.

// placeholder is an entry that codeagent created at a granted path, or where something is shown.
type placeholder struct {
	path string
	dev  uint64
	ino  uint64
	// flags are those of unlinkat.
	flags int
}

// untouched is the modification time of a placeholder. A process that writes, truncates or touches
// the file changes that time. The file worker recognises a placeholder by it.
var untouched = unix.Timespec{Sec: fileworker.PlaceholderTime}

// createAbsent creates an empty file at each path, as the user, with mode 0666 less the umask. It
// leaves out a path where the user may not create a file: the command fails there as it would
// without a sandbox.
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
	// If this fails, removeUnused keeps the file even when nobody touched it. That does less harm
	// than removing a file in use.
	_ = unix.UtimesNanoAt(fd, "", []unix.Timespec{untouched, untouched}, unix.AT_EMPTY_PATH)
	return placeholder{path: path, dev: st.Dev, ino: st.Ino}, nil
}

// createPlace creates a link to to, or an empty file or folder, at path, which must be free. It has no permissions, so that a
// command that is not shown what comes over it reads nothing instead of an empty file.
func createPlace(path string, kind fs.FileMode, to string) (placeholder, error) {
	parent, err := kernel.OpenPath(filepath.Dir(path))
	if err != nil {
		return placeholder{}, err
	}
	defer unix.Close(parent)
	var st unix.Stat_t
	name, flags := filepath.Base(path), 0
	switch {
	case kind == fs.ModeSymlink:
		err = unix.Symlinkat(to, parent, name)
	case kind.IsDir():
		flags, err = unix.AT_REMOVEDIR, unix.Mkdirat(parent, name, 0)
	default:
		err = unix.Mknodat(parent, name, unix.S_IFREG, 0)
	}
	if err == nil {
		_ = unix.UtimesNanoAt(parent, name, []unix.Timespec{untouched, untouched}, unix.AT_SYMLINK_NOFOLLOW)
		err = unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	return placeholder{path: path, dev: st.Dev, ino: st.Ino, flags: flags}, err
}

// copyMade copies what commands made in the private folder to the granted path, and replaces nothing there.
// Threat: in the private folder no name is protected, commands may keep files of it open, or have other names
// for them. So the host gets copies, or nothing, while the commands of the session change nothing. allows is the
// policy of the command as it was at its end.
func copyMade(still func(func()), from, to string, allows func(path, from string) bool) *sandbox.Denial {
	var err error
	still(func() {
		made := hostfile.Copy{Perm: fs.ModePerm, Judge: func(to, from string) error {
			if !allows(to, from) {
				return fmt.Errorf("%s would be protected there", from)
			}
			return nil
		}}
		if err = made.New(from, to); err == nil {
			err = hostfile.RemoveAll(from)
		}
	})
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &sandbox.Denial{
		Kind: sandbox.KindWrite, Operation: "copy", Target: to, Evidence: sandbox.EvidenceBackend, Count: 1,
		Why: "what was made there stays in the session's own folder: " + err.Error(),
	}
}

// removeUnused removes each placeholder that is still empty, if nothing touched it or if the
// command failed.
func removeUnused(list []placeholder, failed bool) {
	for _, p := range list {
		parent, err := kernel.OpenPath(filepath.Dir(p.path))
		if err != nil {
			continue
		}
		var st unix.Stat_t
		err = unix.Fstatat(parent, filepath.Base(p.path), &st, unix.AT_SYMLINK_NOFOLLOW)
		same := err == nil && st.Dev == p.dev && st.Ino == p.ino && (st.Size == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG)
		if same && (failed || st.Mtim == untouched) {
			_ = unix.Unlinkat(parent, filepath.Base(p.path), p.flags)
		}
		unix.Close(parent)
	}
}
