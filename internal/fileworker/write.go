package fileworker

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// target is a name in an open parent folder, so that a change of the path has no effect on
// later operations.
type target struct {
	base string
	root *os.Root
	// unsynced: the caller syncs the file together with others.
	unsynced bool
	// placeholder is the empty file in place of an absent one, if look found it.
	placeholder fs.FileInfo
}

// pin opens the parent of path. A canonical path contains no symbolic link, so a link in it was
// put there since, and the path is refused.
func pin(path string, parents bool) (*target, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if path == "/" {
		return nil, fail(IsFolder, "is the root folder")
	}
	dir, base := filepath.Dir(path), filepath.Base(path)
	root, err := openFolder(dir)
	if parents && errors.Is(err, fs.ErrNotExist) {
		if err := makeFolders(dir, 0o777); err != nil {
			return nil, about(dir, err)
		}
		root, err = openFolder(dir)
	}
	if err != nil {
		return nil, err
	}
	return &target{base: base, root: root}, nil
}

// openFolder opens dir and then checks that no link led there.
func openFolder(dir string) (*os.Root, error) {
	// The "/." keeps the kernel from opening (and blocking on) a FIFO.
	root, err := os.OpenRoot(dir + "/.")
	if err != nil {
		return nil, err
	}
	if err := sameFolder(dir, root); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func sameFolder(dir string, root *os.Root) error {
	held, err := root.Stat(".")
	if err != nil {
		return err
	}
	for p := dir; ; p = filepath.Dir(p) {
		fi, err := os.Lstat(p)
		switch {
		case err != nil && !errors.Is(err, fs.ErrPermission):
			return err
		case err != nil: // a sandbox that hides metadata; the open folder is still valid
		case fi.Mode()&fs.ModeSymlink != 0:
			return fail(IsSymlink, printable(p)+" is a symbolic link")
		case p == dir && !os.SameFile(fi, held):
			return fail(Changed, "the folder was replaced meanwhile")
		}
		if p == "/" || p == "." {
			return nil
		}
	}
}

// makeFolders creates dir and the missing folders above it, below the nearest existing one.
func makeFolders(dir string, mode fs.FileMode) error {
	at := dir
	for at != "/" {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		at = filepath.Dir(at)
	}
	root, err := openFolder(at)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(at, dir)
	if err != nil {
		return err
	}
	return root.MkdirAll(rel, mode)
}

// look returns the present entry of the name, nil if it is absent or only a placeholder. A
// link, a folder or a special file is an error.
func (t *target) look() (fs.FileInfo, error) {
	fi, err := t.root.Lstat(t.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if isPlaceholder(fi) {
		t.placeholder = fi
		return nil, nil
	}
	return fi, wantRegular(fi)
}

// open opens the file that seen describes, and no other.
func (t *target) open(flags int, seen fs.FileInfo) (*os.File, error) {
	f, err := t.root.OpenFile(t.base, flags|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !os.SameFile(fi, seen) {
		err = fail(Changed, "the file was replaced meanwhile")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// meets checks that the file (nil: absent) meets e. content is the open file, read only if
// e has a content.
func (e Expect) meets(fi fs.FileInfo, content io.Reader) error {
	switch {
	case e.Absent && fi != nil:
		return fail(Exists, "already exists")
	case fi == nil && (e.Content != nil || e.Version != ""):
		return fail(Changed, "was removed since it was read")
	case fi == nil:
		return nil
	case e.Version != "" && e.Version != versionOf(fi), e.Content != nil && int64(len(e.Content)) != fi.Size():
		return fail(Changed, "was changed since it was read")
	case e.Content == nil:
		return nil
	}
	now := make([]byte, len(e.Content)+1)
	n, err := io.ReadFull(content, now)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if !bytes.Equal(now[:n], e.Content) {
		return fail(Changed, "was changed since it was read")
	}
	return nil
}

// writeFile sets the content of path. A new file is created under its own name and never
// replaces anything; an existing one is replaced by a temporary file in the same folder,
// keeping its mode and owner.
func writeFile(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	t, err := pin(path, e.Parents)
	if err != nil {
		return Info{}, err
	}
	defer t.root.Close()
	fi, err := t.look()
	if err != nil {
		return Info{}, err
	}
	if fi == nil {
		if err := e.meets(nil, nil); err != nil {
			return Info{}, err
		}
		return t.create(data, mode)
	}
	// Open it for writing although it is replaced: a file that the user made read-only, or
	// that the sandbox protects by name, must not be changed through its folder.
	old, err := t.open(os.O_RDWR, fi)
	renamed := errors.Is(err, syscall.EPERM) // the sandbox takes new content by a rename only
	if renamed {
		old, err = t.open(os.O_RDONLY, fi)
	}
	if errors.Is(err, fs.ErrPermission) && fi.Mode().Perm()&0o400 == 0 && e.Content == nil {
		old, err = t.open(os.O_WRONLY, fi)
	}
	if err != nil {
		return Info{}, err
	}
	defer old.Close()
	if err := e.meets(fi, old); err != nil {
		return Info{}, err
	}
	info, err := t.replace(data, fi, fi.Mode())
	if err == errInPlace && !renamed {
		return t.overwrite(old, data)
	}
	return info, err
}

// errInPlace: the file must be written in place.
var errInPlace = errors.New("write in place")

// create makes a new file under its own name: O_EXCL never replaces a file, and a permission
// for this one name is enough.
func (t *target) create(data []byte, mode fs.FileMode) (Info, error) {
	if t.placeholder != nil {
		return t.fillPlaceholder(data, mode)
	}
	if mode == 0 {
		mode = 0o666
	}
	f, err := t.root.OpenFile(t.base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return Info{}, err
	}
	info, err := t.fill(f, data)
	if err != nil {
		t.root.Remove(t.base)
	}
	return info, err
}

// fillPlaceholder writes a new file into its placeholder, which has the mode that the umask
// leaves: if the new file is a program, everyone who may read it may also execute it.
func (t *target) fillPlaceholder(data []byte, mode fs.FileMode) (Info, error) {
	f, err := t.open(os.O_WRONLY, t.placeholder)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	readable := t.placeholder.Mode().Perm() & 0o444
	if start := mode & (readable >> 2); start != 0 {
		if err := f.Chmod(t.placeholder.Mode().Perm() | start); err != nil {
			return Info{}, err
		}
	}
	return t.overwrite(f, data)
}

// fill writes data to f, syncs and closes it.
func (t *target) fill(f *os.File, data []byte) (Info, error) {
	_, err := f.Write(data)
	if err == nil {
		err = t.sync(f)
	}
	var fi fs.FileInfo
	if err == nil {
		fi, err = f.Stat()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi), nil
}

func (t *target) sync(f *os.File) error {
	if t.unsynced {
		return nil
	}
	return f.Sync()
}

// replace replaces the file by a temporary file with that mode and the owner of old. It returns
// errInPlace if the folder accepts no new file (the permission is for this one file) or the
// owner cannot be kept.
func (t *target) replace(data []byte, old fs.FileInfo, mode fs.FileMode) (Info, error) {
	name := ".codeagent-" + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return Info{}, errInPlace
	}
	if err != nil {
		return Info{}, err
	}
	defer f.Close() // fill closes it, and reports the error
	if !keepOwner(f, old) {
		err = errInPlace
	} else {
		err = f.Chmod(mode.Perm()) // set-id bits are not kept, since the content is new
	}
	var info Info
	if err == nil {
		info, err = t.fill(f, data)
	}
	if err == nil {
		err = t.unchanged(old)
	}
	if err == nil {
		err = t.root.Rename(name, t.base)
	}
	if err != nil {
		t.root.Remove(name)
		return Info{}, err
	}
	return info, nil
}

// unchanged checks once more, right before the file is replaced.
func (t *target) unchanged(old fs.FileInfo) error {
	now, err := t.look()
	if err != nil {
		return err
	}
	if now == nil || versionOf(now) != versionOf(old) {
		return fail(Changed, "was changed while it was written")
	}
	return nil
}

func keepOwner(f *os.File, old fs.FileInfo) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	now, ok := fi.Sys().(*syscall.Stat_t)
	was, known := old.Sys().(*syscall.Stat_t)
	if !ok || !known || now.Uid == was.Uid && now.Gid == was.Gid {
		return true
	}
	return f.Chown(int(was.Uid), int(was.Gid)) == nil
}

// overwrite writes the open file in place. It is not atomic, but a permission for one existing
// file allows no other way. It first writes the part that makes the file longer: on a full
// disk the file then stays unchanged.
func (t *target) overwrite(f *os.File, data []byte) (Info, error) {
	was, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	head := min(was.Size(), int64(len(data)))
	if _, err := f.WriteAt(data[head:], head); err != nil {
		if f.Truncate(was.Size()) != nil {
			return Info{}, torn(err)
		}
		return Info{}, err
	}
	_, err = f.WriteAt(data[:head], 0)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err != nil {
		return Info{}, torn(err)
	}
	if err := t.sync(f); err != nil {
		return Info{}, err
	}
	fi, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi), nil
}

// torn adds to an error of the system that the file was written in part.
func torn(err error) *Error {
	e := describe(err)
	e.Kind, e.Text = Torn, e.Text+"; a part of the new content is in the file"
	return e
}
