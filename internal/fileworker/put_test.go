package fileworker

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	if fi, err := os.Lstat(path); err != nil || fi.Mode().Perm() != want {
		t.Errorf("%s: mode %v, %v, want %v", path, fi.Mode(), err, want)
	}
}

// putInPlace is Put if the folder accepts no new file.
func putInPlace(path string, data []byte, mode fs.FileMode) error {
	t, err := pin(path, false)
	if err != nil {
		return err
	}
	defer t.root.Close()
	fi, err := t.look()
	if err == nil {
		_, err = t.putInPlace(data, mode, fi)
	}
	if err != nil {
		return about(path, err)
	}
	return nil
}

// TestPutInPlace: an existing file gets the content and the mode, whatever its mode was.
func TestPutInPlace(t *testing.T) {
	path := filepath.Join(folder(t), "f")
	put(t, path, "before", 0o400)
	if err := os.Link(path, path+".other"); err != nil {
		t.Fatal(err)
	}
	if err := putInPlace(path, []byte("in place"), 0o444); err != nil {
		t.Fatal(err)
	}
	want(t, path+".other", "in place")
	mode(t, path, 0o444)
}

// TestPut: a file gets exactly the given content and mode, whatever it was before.
func TestPut(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	c, dir := start(t), folder(t)
	path := filepath.Join(dir, "a/b/new")
	if _, err := c.Put(path, []byte("hello"), 0o666, Expect{Absent: true, Parents: true}); err != nil {
		t.Fatal(err)
	}
	want(t, path, "hello")
	mode(t, path, 0o666)
	_, err := c.Put(path, []byte("x"), 0o666, Expect{Absent: true})
	wantKind(t, err, Exists)

	info, err := c.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	_, err = c.Put(path, []byte("y"), 0o600, Expect{Version: "0.0.0.0"})
	wantKind(t, err, Changed)
	if _, err = c.Put(path, []byte("replaced"), 0o751, Expect{Version: info.Version}); err != nil {
		t.Fatal(err)
	}
	want(t, path, "replaced")
	want(t, filepath.Join(dir, "other"), "hello")
	mode(t, path, 0o751)
	onlyEntry(t, filepath.Dir(path), "new")
}

// TestPutNothingElse: only a file is replaced or written, and no link on the way is followed.
func TestPutNothingElse(t *testing.T) {
	c, dir := start(t), folder(t)
	secret := filepath.Join(dir, "secret")
	put(t, secret, "kept", 0o640)
	for name, make := range map[string]func(path string) error{
		"link":   func(p string) error { return os.Symlink(secret, p) },
		"folder": func(p string) error { return os.Mkdir(p, 0o755) },
		"fifo":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
	} {
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Put(path, []byte("x"), 0o777, Expect{}); err == nil {
			t.Errorf("a %s was written", name)
		}
		if err := putInPlace(path, []byte("x"), 0o777); err == nil {
			t.Errorf("a %s was written in place", name)
		}
	}
	wantKind(t, c.Chmod(filepath.Join(dir, "link"), 0o777, Expect{}), IsSymlink)
	wantKind(t, c.Chmod(filepath.Join(dir, "fifo"), 0o777, Expect{}), Special)
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	_, err := c.Put(filepath.Join(dir, "way/f"), []byte("x"), 0o600, Expect{})
	wantKind(t, err, IsSymlink)
	wantKind(t, c.Symlink(filepath.Join(dir, "way/l"), "x", Expect{}), IsSymlink)
	want(t, secret, "kept")
	mode(t, secret, 0o640)
}

func TestChmod(t *testing.T) {
	c, dir := start(t), folder(t)
	path := filepath.Join(dir, "f")
	put(t, path, "x", 0)
	if err := c.Chmod(path, 0o640, Expect{}); err != nil {
		t.Fatal(err)
	}
	mode(t, path, 0o640)
	wantKind(t, c.Chmod(path, 0o777, Expect{Version: "0.0.0.0"}), Changed)
	mode(t, path, 0o640)
	if err := c.Chmod(dir, 0o711, Expect{}); err != nil {
		t.Fatal(err)
	}
	mode(t, dir, 0o711)
	wantKind(t, c.Chmod(filepath.Join(dir, "none"), 0o777, Expect{}), Absent)
}

func TestSymlink(t *testing.T) {
	c, dir := start(t), folder(t)
	path := filepath.Join(dir, "a/l")
	wantKind(t, c.Symlink(path, "to \xff", Expect{}), Absent)
	if err := c.Symlink(path, "to \xff", Expect{Parents: true}); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(path); err != nil || to != "to \xff" {
		t.Errorf("it leads to %q, %v", to, err)
	}
	wantKind(t, c.Symlink(path, "elsewhere", Expect{}), Exists)
}
