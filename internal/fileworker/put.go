package fileworker

import (
	"errors"
	"io/fs"
	"os"
)

// What undo needs in addition: it restores the exact state of a file, whatever it is now, with
// exactly its earlier permissions. A file without write permission is replaced as well, since
// it had these permissions when it was recorded.

// putFile makes path a file with the content data and the permissions mode. It replaces an
// existing file, or writes it in place if its folder accepts no new file. The caller syncs
// the disk, since undo puts many files.
func putFile(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	t, err := pin(path, e.Parents)
	if err != nil {
		return Info{}, err
	}
	defer t.root.Close()
	t.unsynced = true
	fi, err := t.look()
	if err == nil {
		err = e.meets(fi, nil)
	}
	if err != nil {
		return Info{}, err
	}
	if fi == nil {
		if info, err := t.create(data, mode); err != nil {
			return info, err
		}
		return t.chmod(mode, nil)
	}
	info, err := t.replace(data, fi, mode)
	if err == errInPlace {
		return t.putInPlace(data, mode, fi)
	}
	return info, err
}

// putInPlace is putFile for the present file.
func (t *target) putInPlace(data []byte, mode fs.FileMode, was fs.FileInfo) (Info, error) {
	f, err := t.open(os.O_WRONLY, was)
	if errors.Is(err, fs.ErrPermission) && was.Mode().Perm()&0o200 == 0 {
		if _, err := t.chmod(was.Mode().Perm()|0o200, was); err != nil {
			return Info{}, err
		}
		f, err = t.open(os.O_WRONLY, was)
	}
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	if err := t.unchanged(was); err != nil {
		return Info{}, err
	}
	if _, err := t.overwrite(f, data); err != nil {
		return Info{}, err
	}
	return t.chmod(mode, was)
}

// chmod sets permissions and returns the entry's new state. seen, if not nil, is the file that
// it must still be. It never follows a link.
func (t *target) chmod(mode fs.FileMode, seen fs.FileInfo) (Info, error) {
	fi, err := t.root.Lstat(t.base)
	switch {
	case err != nil:
		return Info{}, err
	case typeOf(fi.Mode()) != File && typeOf(fi.Mode()) != Folder:
		return Info{}, wantRegular(fi)
	case seen != nil && !os.SameFile(fi, seen):
		return Info{}, fail(Changed, "the file was replaced meanwhile")
	}
	if fi.Mode().Perm() != mode.Perm() {
		if err := t.root.Chmod(t.base, mode.Perm()); err != nil {
			return Info{}, err
		}
		if fi, err = t.root.Lstat(t.base); err != nil {
			return Info{}, err
		}
	}
	return infoOf(fi), nil
}

// chmod sets the permissions of a file or folder.
func chmod(path string, mode fs.FileMode, e Expect) (Info, error) {
	t, err := pin(path, false)
	if err != nil {
		return Info{}, err
	}
	defer t.root.Close()
	fi, err := t.root.Lstat(t.base)
	if err == nil {
		err = Expect{Version: e.Version}.meets(fi, nil)
	}
	if err != nil {
		return Info{}, err
	}
	return t.chmod(mode, fi)
}

// symlink makes a symbolic link at path, which must not exist.
func symlink(path, to string, parents bool) error {
	t, err := pin(path, parents)
	if err != nil {
		return err
	}
	defer t.root.Close()
	return t.root.Symlink(to, t.base)
}
