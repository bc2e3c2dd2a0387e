package fileworker

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// start serves in a goroutine that ends with the test.
func start(t testing.TB) *Client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Serve(inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() {
		inW.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve ended with %v", err)
		}
	})
	return NewClient(inW, outR)
}

// folder returns a canonical empty folder.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t testing.TB, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, content)
	}
}

func wantKind(t testing.TB, err error, kind Kind) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("error is %v, want kind %q", err, kind)
	}
}

func TestReadFile(t *testing.T) {
	c, dir := start(t), folder(t)
	path := filepath.Join(dir, "f")
	put(t, path, "0123456789", 0o640)
	for _, row := range []struct {
		offset, limit int64
		want          string
	}{{0, 0, "0123456789"}, {3, 4, "3456"}, {8, 100, "89"}, {10, 5, ""}, {99, 5, ""}} {
		got, info, err := c.ReadFile(path, row.offset, row.limit)
		if err != nil || string(got) != row.want {
			t.Errorf("ReadFile(%d, %d) = %q, %v, want %q", row.offset, row.limit, got, err, row.want)
		}
		if info.Size != 10 || info.Mode != 0o640 || info.Type != File || info.Version == "" {
			t.Errorf("info %+v", info)
		}
	}
	if err := os.Symlink(path, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.ReadFile(filepath.Join(dir, "link"), 0, 0); err != nil || len(got) != 10 {
		t.Errorf("through a link: %q, %v", got, err)
	}
	big := strings.Repeat("x", 3<<20)
	put(t, path, big, 0o600)
	if got, _, err := c.ReadFile(path, 0, 0); err != nil || string(got) != big {
		t.Errorf("3 MiB: got %d bytes, %v", len(got), err)
	}
}

func TestReadFileOfUnknownSize(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("needs /proc: ", err)
	}
	got, _, err := start(t).ReadFile("/proc/self/status", 0, 0)
	if err != nil || !bytes.Contains(got, []byte("Pid:")) {
		t.Errorf("got %q, %v", got, err)
	}
}

// A FIFO without a writer, a device and a folder give an error instead of blocking.
func TestSpecialFilesNeverBlock(t *testing.T) {
	c, dir := start(t), folder(t)
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]Kind{fifo: Special, "/dev/zero": Special, "/dev/tty": Special, dir: IsFolder, "/": IsFolder} {
		_, _, err := c.ReadFile(path, 0, 10)
		wantKind(t, err, kind)
		if path != dir {
			_, err = c.WriteFile(path, []byte("x"), 0, Expect{})
			wantKind(t, err, kind)
		}
	}
	_, err := c.WriteFile(filepath.Join(fifo, "x"), nil, 0, Expect{})
	wantKind(t, err, NotFolder)
	l, err := c.ReadDirs([]string{fifo}, 0)
	if err != nil || l[0].Err == nil || l[0].Err.Kind != NotFolder {
		t.Errorf("ReadDirs(fifo) = %+v, %v", l, err)
	}
	if r, err := c.Grep(t.Context(), []string{fifo, "/dev/zero"}, "x", GrepLimits{}); err != nil || r.Unreadable != 2 {
		t.Errorf("Grep = %+v, %v", r, err)
	}
}

func TestPathsMustBeCleanAndAbsolute(t *testing.T) {
	c := start(t)
	for _, path := range []string{"", "x", "./x", "/a/../b", "/a/", "/a//b", "/a\x00b"} {
		_, err := c.Stat(path)
		wantKind(t, err, Invalid)
		_, _, err = c.ReadFile(path, 0, 0)
		wantKind(t, err, Invalid)
		_, err = c.WriteFile(path, nil, 0, Expect{})
		wantKind(t, err, Invalid)
		wantKind(t, c.Remove(path, Expect{}), Invalid)
		wantKind(t, c.Mkdir(path, 0, true), Invalid)
	}
}

func TestErrorsSayWhat(t *testing.T) {
	c, dir := start(t), folder(t)
	_, _, err := c.ReadFile(filepath.Join(dir, "absent"), 0, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not fs.ErrNotExist: %v", err)
	}
	if want := "read " + dir + "/absent: no such file or directory (ENOENT)"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	_, _, err = c.ReadFile(filepath.Join(dir, "a\x1b[2Jb"), 0, 0)
	if strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("control characters stand in %q", err)
	}
}

func TestReadDirs(t *testing.T) {
	c, dir := start(t), folder(t)
	put(t, filepath.Join(dir, "b\xff"), "12345", 0o600)
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere", filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	got, err := c.ReadDirs([]string{dir, filepath.Join(dir, "a"), filepath.Join(dir, "gone")}, 0)
	if err != nil || len(got) != 3 {
		t.Fatalf("got %+v, %v", got, err)
	}
	entries := []Entry{{"a", Folder}, {"b\xff", File}, {"c", Symlink}}
	for i, e := range got[0].Entries {
		if e != entries[i] {
			t.Errorf("entry %d is %+v, want %+v", i, e, entries[i])
		}
	}
	if got[1].Err != nil || len(got[1].Entries) != 0 || got[2].Err == nil || got[2].Err.Kind != Absent {
		t.Errorf("got %+v", got[1:])
	}
	got, err = c.ReadDirs([]string{dir, dir}, 2)
	if err != nil || len(got[0].Entries) != 2 || !got[0].More || len(got[1].Entries) != 0 || !got[1].More {
		t.Errorf("bounded: %+v, %v", got, err)
	}
}
