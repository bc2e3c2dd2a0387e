package fileworker

import (
	"io"
	"io/fs"
	"os"
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
