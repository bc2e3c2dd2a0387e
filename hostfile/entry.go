package hostfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// The functions of package os with these names, following no link.

// Mkdir makes the folder path.
func Mkdir(path string, perm fs.FileMode) error {
	return at("mkdir", path, func(dir int, name string) error { return unix.Mkdirat(dir, name, uint32(perm.Perm())) })
}

// MkdirAll makes the folder path and those above it that are missing.
func MkdirAll(path string, perm fs.FileMode) error {
	err := Mkdir(path, perm)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if err = MkdirAll(filepath.Dir(path), perm); err == nil {
			err = Mkdir(path, perm)
		}
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return failed("mkdir", path, ErrLink)
	case !info.IsDir():
		return failed("mkdir", path, unix.ENOTDIR)
	}
	return nil
}

// MkdirTemp makes a new folder in dir, for the user alone, whose name begins with prefix.
func MkdirTemp(dir, prefix string) (string, error) {
	for range 100 {
		path := filepath.Join(dir, prefix+token())
		err := Mkdir(path, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
	return "", failed("mkdir", filepath.Join(dir, prefix+"*"), fs.ErrExist)
}

// Remove removes the file or the empty folder path.
func Remove(path string) error {
	return at("remove", path, func(dir int, name string) error {
		err := unix.Unlinkat(dir, name, 0)
		if err == unix.EISDIR || err == unix.EPERM { // EPERM: macOS, of a folder
			if derr := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); derr != unix.ENOTDIR {
				err = derr
			}
		}
		return err
	})
}

// Rename renames from to to, and replaces an existing entry.
func Rename(from, to string) error { return atBoth("rename", from, to, unix.Renameat) }

// Link makes to another name (hard link) of the file at from.
func Link(from, to string) error {
	return atBoth("link", from, to, func(fromDir int, fromName string, toDir int, toName string) error {
		return unix.Linkat(fromDir, fromName, toDir, toName, 0)
	})
}

func atBoth(op, from, to string, do func(fromDir int, fromName string, toDir int, toName string) error) error {
	return at(op, from, func(fromDir int, fromName string) error {
		return at(op, to, func(toDir int, toName string) error { return do(fromDir, fromName, toDir, toName) })
	})
}

// Touch sets the modification time of path.
func Touch(path string, modified time.Time) error {
	return at("touch", path, func(dir int, name string) error {
		ts, err := unix.TimeToTimespec(modified)
		if err != nil {
			return err
		}
		return unix.UtimesNanoAt(dir, name, []unix.Timespec{{Nsec: utimeOmit}, ts}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// ReadDir lists the folder path, in no order: at most most entries, or all with -1.
func ReadDir(path string, most int) ([]fs.DirEntry, error) {
	f, err := OpenFolder(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(most)
	if errors.Is(err, io.EOF) {
		err = nil // an empty folder
	}
	return entries, err
}

// Sync syncs the folder path, with the names in it, to disk.
func Sync(path string) error {
	f, err := OpenFolder(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Seen is os.Stat of path: it follows links. It opens nothing and never blocks. The result is
// only a hint: the next step walks the path again.
func Seen(path string) (fs.FileInfo, error) { return os.Stat(path) }

// OS is the sandbox.FileSystem of the real file system. It opens nothing. A path that it shows
// to be canonical is walked again, following no link, when it is used.
type OS struct{}

// Lstat returns the mode of the entry itself.
func (OS) Lstat(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// LastChange returns when the folder path or an entry of it, not the target of a link, last changed in any way. No
// program can set that.
func (OS) LastChange(path string) (last time.Time, err error) {
	f, err := OpenFolder(path)
	if err != nil {
		return last, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range append(names, ".") {
		var st unix.Stat_t
		if err := unix.Fstatat(int(f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return last, err
		}
		if when := time.Unix(st.Ctim.Unix()); when.After(last) {
			last = when
		}
	}
	return last, err
}

// Readlink returns the target of a symbolic link.
func (OS) Readlink(path string) (string, error) { return os.Readlink(path) }

// Access reports whether codeagent itself may read or write path.
func (OS) Access(path string, write bool) error {
	mode := uint32(unix.R_OK)
	if write {
		mode = unix.W_OK
	}
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}
