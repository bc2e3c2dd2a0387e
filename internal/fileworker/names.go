package fileworker

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// remove removes one file, link, or empty folder.
func remove(path string, e Expect) error {
	t, err := pin("remove", path, false)
	if err != nil {
		return err
	}
	defer t.root.Close()
	fi, err := t.root.Lstat(t.base)
	if err == nil && isPlaceholder(fi) {
		err = syscall.ENOENT
	}
	if err != nil {
		return wrap("remove", path, err)
	}
	if e.Content != nil {
		if err := wantRegular("remove", path, fi); err != nil {
			return err
		}
		f, err := t.open(os.O_RDONLY, fi)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := t.meets(e, fi, f); err != nil {
			return err
		}
	} else if err := t.meets(e, fi, nil); err != nil {
		return err
	}
	if err := t.root.Remove(t.base); err != nil {
		return wrap("remove", path, err)
	}
	return nil
}

// rename moves from to to, which must not exist unless replace is set.
func rename(from, to string, replace bool) error {
	dir, a, b, err := common(from, to)
	if err != nil {
		return err
	}
	for _, path := range []string{from, to} {
		t, err := pin("rename", path, false)
		if err != nil {
			return err
		}
		t.root.Close()
	}
	root, err := openFolder("rename", from, dir)
	if err != nil {
		return err
	}
	defer root.Close()
	fi, err := root.Lstat(a)
	if err != nil {
		return wrap("rename", from, err)
	}
	if !replace {
		if fi.Mode().IsRegular() {
			// A hard link is the portable way to take a name only if it is free. If links are
			// refused, the check below is the best alternative.
			err := root.Link(a, b)
			if err == nil {
				return unlink(root, a, from)
			}
			if errors.Is(err, fs.ErrExist) {
				return fail("rename", to, Exists, "already exists")
			}
		}
		if _, err := root.Lstat(b); !errors.Is(err, fs.ErrNotExist) {
			return fail("rename", to, Exists, "already exists")
		}
	}
	if err := root.Rename(a, b); err != nil {
		return wrap("rename", from, err)
	}
	return nil
}

func unlink(root *os.Root, name, path string) error {
	if err := root.Remove(name); err != nil {
		return wrap("rename", path, err)
	}
	return nil
}

// common finds the folder above both paths, and the two names below it.
func common(from, to string) (dir, a, b string, err error) {
	for _, path := range []string{from, to} {
		if err := checkPath("rename", path); err != nil {
			return "", "", "", err
		}
	}
	dir = filepath.Dir(from)
	for dir != "/" && !strings.HasPrefix(to, dir+"/") {
		dir = filepath.Dir(dir)
	}
	cut := strings.TrimSuffix(dir, "/") + "/"
	return dir, strings.TrimPrefix(from, cut), strings.TrimPrefix(to, cut), nil
}

// mkdir makes a folder. With parents it also makes the missing folders above, and an
// existing folder is not an error.
func mkdir(path string, mode fs.FileMode, parents bool) error {
	if err := checkPath("mkdir", path); err != nil {
		return err
	}
	if mode == 0 {
		mode = 0o777
	}
	if parents {
		return makeFolders("mkdir", path, mode)
	}
	t, err := pin("mkdir", path, false)
	if err != nil {
		return err
	}
	defer t.root.Close()
	if err := t.root.Mkdir(t.base, mode); err != nil {
		return wrap("mkdir", path, err)
	}
	return nil
}
