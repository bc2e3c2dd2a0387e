package fileworker

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// remove removes one file, link, or empty folder.
func remove(path string, e Expect) error {
	t, err := pin(path, false)
	if err != nil {
		return err
	}
	defer t.root.Close()
	fi, err := t.root.Lstat(t.base)
	if err == nil && isPlaceholder(fi) {
		err = syscall.ENOENT
	}
	if err != nil {
		return err
	}
	var content io.Reader
	if e.Content != nil {
		if err := wantRegular(fi); err != nil {
			return err
		}
		f, err := t.open(os.O_RDONLY, fi)
		if err != nil {
			return err
		}
		defer f.Close()
		content = f
	}
	if err := e.meets(fi, content); err != nil {
		return err
	}
	return t.root.Remove(t.base)
}

// rename moves from to to, which must not exist unless replace is set.
func rename(from, to string, replace bool) error {
	for _, path := range []string{from, to} {
		t, err := pin(path, false)
		if err != nil {
			return about(path, err)
		}
		t.root.Close()
	}
	dir, a, b := common(from, to)
	root, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	fi, err := root.Lstat(a)
	if err != nil {
		return err
	}
	if !replace {
		if fi.Mode().IsRegular() {
			// A hard link is the portable way to take a name only if it is free. If links are
			// refused, the check below is the best alternative.
			err := root.Link(a, b)
			if err == nil {
				return root.Remove(a)
			}
			if errors.Is(err, fs.ErrExist) {
				return about(to, fail(Exists, "already exists"))
			}
		}
		if _, err := root.Lstat(b); !errors.Is(err, fs.ErrNotExist) {
			return about(to, fail(Exists, "already exists"))
		}
	}
	return root.Rename(a, b)
}

// common finds the folder above both paths, and the two names below it.
func common(from, to string) (dir, a, b string) {
	dir = filepath.Dir(from)
	for dir != "/" && !strings.HasPrefix(to, dir+"/") {
		dir = filepath.Dir(dir)
	}
	cut := strings.TrimSuffix(dir, "/") + "/"
	return dir, strings.TrimPrefix(from, cut), strings.TrimPrefix(to, cut)
}

// mkdir makes a folder. With parents it also makes the missing folders above, and an
// existing folder is not an error.
func mkdir(path string, mode fs.FileMode, parents bool) error {
	if mode == 0 {
		mode = 0o777
	}
	if parents {
		if err := checkPath(path); err != nil {
			return err
		}
		return makeFolders(path, mode)
	}
	t, err := pin(path, false)
	if err != nil {
		return err
	}
	defer t.root.Close()
	return t.root.Mkdir(t.base, mode)
}
