package hostfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// RemoveAll removes path and everything below it. It follows no link. A missing path is not an
// error. Two things that a command may have left do not stop it: folders that their owner may not
// read or write, which RemoveAll makes accessible, and folders nested more deeply than a process can
// have descriptors open.
func RemoveAll(path string) error {
	dir, name, err := parent(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = (&remover{top: -1}).remove(dir, name, 0)
		unix.Close(dir)
	}
	return failed("remove", path, err)
}

// remover removes a tree. top is the descriptor of its top folder.
type remover struct{ top int }

// maxDepth bounds the recursion, and so the open descriptors. A folder deeper than that is moved to the
// top folder and removed from there.
const maxDepth = 64

// remove removes the entry name of the folder dir, with all that is in it.
func (r *remover) remove(dir int, name string, depth int) error {
	err := Retry(func() error { return unix.Unlinkat(dir, name, 0) })
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err == unix.EISDIR && unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) == nil {
		return nil // it was an empty folder
	}
	fd, openErr := openToEmpty(dir, name)
	if openErr != nil {
		if openErr == unix.ENOTDIR || openErr == unix.ELOOP {
			return err // it is not a folder: report why it cannot be removed
		}
		return openErr
	}
	if depth >= maxDepth {
		unix.Close(fd)
		return unix.Renameat(dir, name, r.top, ".removed-"+token())
	}
	if depth == 0 {
		r.top = fd
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if err := r.empty(f, depth); err != nil {
		return err
	}
	err = Retry(func() error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// empty removes the content of the folder f. It lists the folder again until nothing is left or
// nothing more can be removed.
func (r *remover) empty(f *os.File, depth int) error {
	for {
		if _, err := f.Seek(0, 0); err != nil {
			return err
		}
		names, _ := f.Readdirnames(1000) // an error means that f is empty or was removed
		var failed error
		removed := false
		for _, n := range names {
			if err := r.remove(int(f.Fd()), n, depth+1); err != nil {
				failed = err
			} else {
				removed = true
			}
		}
		if len(names) == 0 || !removed {
			return failed
		}
	}
}

// openToEmpty opens the folder name, and first gives its owner the permissions to list and empty it.
func openToEmpty(dir int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := OpenAt(dir, name, flags, 0)
	if err == unix.EACCES {
		if err = chmodAt(dir, name, 0o700); err == nil {
			fd, err = OpenAt(dir, name, flags, 0)
		}
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(fd, 0o700) // if this fails, the removal fails too
	}
	return fd, nil
}

// Chmod sets the permissions of the file or folder path.
func Chmod(path string, mode fs.FileMode) error {
	return at("chmod", path, func(dir int, name string) error { return chmodAt(dir, name, uint32(mode.Perm())) })
}
