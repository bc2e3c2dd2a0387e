//go:build linux

package changes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// album is a change observer that keeps everything in memory and can restore it. It relies only on
// the contract of sandbox.ChangeObserver.
type album struct {
	mu    sync.Mutex
	first map[string]photo // by path; guarded by mu
	// whole are the paths that were reported under their names; guarded by mu.
	whole map[string]bool
	told  []string // guarded by mu
	wrong error    // guarded by mu
}

// photo is the state of a path. The zero value means that no file is there.
type photo struct {
	mode uint32
	// data is the content of a file, or the target of a link.
	data string
	id   inode
}

// inode identifies a file.
type inode struct{ dev, ino uint64 }

func newAlbum() *album { return &album{first: map[string]photo{}, whole: map[string]bool{}} }

func (*album) Unsaved(int, string, string) string { return "" }

// BeforeChange implements sandbox.ChangeObserver.
func (a *album) BeforeChange(dir int, name, path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, path+map[bool]string{true: "/."}[name == "."])
	if a.known(path) {
		return
	}
	if err := a.look(dir, name, path); err != nil {
		a.wrong = errors.Join(a.wrong, fmt.Errorf("%s: %w", path, err))
	}
	a.whole[path] = name != "."
}

// look records the entry name of dir, with everything in it if it is a folder.
func (a *album) look(dir int, name, path string) error {
	p, err := photoAt(dir, name)
	if err != nil {
		return err
	}
	if _, have := a.first[path]; !have {
		a.first[path] = p
	}
	if p.mode&unix.S_IFMT != unix.S_IFDIR || name == "." {
		return nil
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if at := filepath.Join(path, name); !a.known(at) {
			err = errors.Join(err, a.look(fd, name, at))
		}
	}
	return err
}

func photoAt(dir int, name string) (photo, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return photo{}, nil
	}
	p := photo{mode: st.Mode, id: inode{st.Dev, st.Ino}}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		var fd int
		if fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			f := os.NewFile(uintptr(fd), name)
			var data []byte
			data, err = io.ReadAll(f)
			p.data = string(data)
			f.Close()
		}
	case unix.S_IFLNK:
		buf := make([]byte, kernel.MaxPath)
		var n int
		n, err = unix.Readlinkat(dir, name, buf)
		p.data = string(buf[:max(n, 0)])
	}
	return p, err
}

// putBack restores the recorded state.
func (a *album) putBack(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wrong != nil {
		t.Fatal(a.wrong)
	}
	paths := slices.Sorted(maps.Keys(a.first)) // folders come before what is in them
	for _, path := range paths {
		if err := a.putOne(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range slices.Backward(paths) {
		if p := a.first[path]; p.mode&unix.S_IFMT == unix.S_IFDIR {
			if err := unix.Chmod(path, p.mode&0o7777); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (a *album) putOne(path string) error {
	p := a.first[path]
	now, err := photoAt(unix.AT_FDCWD, path)
	if err != nil && err != unix.EACCES && err != unix.ENOTDIR {
		return err
	}
	kind := p.mode & unix.S_IFMT
	same := now.id == p.id && now.mode&unix.S_IFMT == kind
	if kind == unix.S_IFDIR && now.mode&unix.S_IFMT == unix.S_IFDIR {
		return a.emptied(path)
	}
	// A file that is still the same is rewritten in place: it may have other names.
	if !(same && kind == unix.S_IFREG) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	mode := p.mode & 0o7777
	switch kind {
	case 0:
		return nil
	case unix.S_IFDIR:
		return os.Mkdir(path, 0o700)
	case unix.S_IFLNK:
		return os.Symlink(p.data, path)
	case unix.S_IFREG:
		if same {
			err = os.Chmod(path, 0o600)
		}
		err = errors.Join(err, os.WriteFile(path, []byte(p.data), 0o600), unix.Chmod(path, mode))
	default:
		err = errors.Join(unix.Mknod(path, p.mode, 0), unix.Chmod(path, mode))
	}
	return err
}

// emptied removes from a restored folder what was not in it. It does not change a folder that was
// reported only as ".".
func (a *album) emptied(path string) error {
	if err := os.Chmod(path, 0o700); err != nil || !a.known(path) {
		return err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		if _, have := a.first[at]; !have {
			err = errors.Join(err, os.RemoveAll(at))
		}
	}
	return err
}

// known reports whether path was reported under its name, or lies below one that was.
func (a *album) known(path string) bool {
	for at := path; at != "/"; at = filepath.Dir(at) {
		if a.whole[at] {
			return true
		}
	}
	return false
}

// treeOf describes root and everything in it, without times and owners.
func treeOf(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		p, err := photoAt(unix.AT_FDCWD, path)
		out[path] = strconv.FormatUint(uint64(p.mode), 8) + " " + p.data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differences are the paths at which two trees differ.
func differences(before, after map[string]string) (out []string) {
	for path := range maps.Keys(before) {
		if before[path] != after[path] {
			out = append(out, fmt.Sprintf("%s: %.60q, was %.60q", path, after[path], before[path]))
		}
	}
	for path := range maps.Keys(after) {
		if _, was := before[path]; !was {
			out = append(out, fmt.Sprintf("%s: %.60q, was not there", path, after[path]))
		}
	}
	slices.Sort(out)
	return out
}
