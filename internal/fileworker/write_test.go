package fileworker

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestWriteNewFile(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	c, dir := start(t), folder(t)
	path := filepath.Join(dir, "a/b/new")
	_, err := c.WriteFile(path, []byte("x"), 0o755, Expect{})
	wantKind(t, err, Absent)
	info, err := c.WriteFile(path, []byte("hello"), 0o755, Expect{Absent: true, Parents: true})
	if err != nil {
		t.Fatal(err)
	}
	want(t, path, "hello")
	if now, err := c.Stat(path); err != nil || now != info || info.Mode != 0o755 {
		t.Errorf("Stat says %+v, %v; WriteFile said %+v", now, err, info)
	}
	_, err = c.WriteFile(path, []byte("y"), 0, Expect{Absent: true})
	wantKind(t, err, Exists)
	want(t, path, "hello")
}

func TestWriteKeepsModeAndReplacesAtomically(t *testing.T) {
	c, dir := start(t), folder(t)
	path := filepath.Join(dir, "f")
	put(t, path, "old", 0o4751)
	before, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if _, err := c.WriteFile(path, []byte("new"), 0o600, Expect{Content: []byte("old")}); err != nil {
		t.Fatal(err)
	}
	want(t, path, "new")
	buf := make([]byte, 3)
	if _, err := before.ReadAt(buf, 0); err != nil || string(buf) != "old" {
		t.Errorf("who had the file open reads %q, %v", buf, err)
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Mode() != 0o751 {
		t.Errorf("mode %v, %v, want 0751 without the set-id bit", fi.Mode(), err)
	}
	onlyEntry(t, dir, "f")
}

func onlyEntry(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("folder holds %v, %v, want %s alone", entries, err, name)
	}
}

func TestWriteExpectations(t *testing.T) {
	c, dir := start(t), folder(t)
	path, gone := filepath.Join(dir, "f"), filepath.Join(dir, "gone")
	put(t, path, "old", 0o600)
	info, err := c.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path string
		e    Expect
		kind Kind
	}{
		{path, Expect{Absent: true}, Exists},
		{path, Expect{Content: []byte("other")}, Changed},
		{path, Expect{Content: []byte("ol")}, Changed},
		{path, Expect{Content: []byte{}}, Changed},
		{path, Expect{Version: info.Version + "x"}, Changed},
		{gone, Expect{Content: []byte("old")}, Changed},
		{gone, Expect{Version: info.Version}, Changed},
	} {
		_, err := c.WriteFile(row.path, []byte("new"), 0, row.e)
		wantKind(t, err, row.kind)
		if row.path == path {
			wantKind(t, c.Remove(row.path, row.e), row.kind)
		}
		want(t, path, "old")
	}
	if _, err := c.WriteFile(path, []byte{}, 0, Expect{Content: []byte("old"), Version: info.Version}); err != nil {
		t.Error(err)
	}
	if _, err := c.WriteFile(path, []byte("new"), 0, Expect{Content: []byte{}}); err != nil {
		t.Error(err)
	}
	want(t, path, "new")
}

// A canonical path contains no link, so a present one is an attack.
func TestWriteThroughLinksIsRefused(t *testing.T) {
	c, dir := start(t), folder(t)
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(out, "secret"), "safe", 0o600)
	for name, to := range map[string]string{"file": "out/secret", "dangling": "out/new", "folder": "out", "absolute": out, "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "folder/secret")); err != nil || string(got) != "safe" {
		t.Fatalf("the links do not lead where the test thinks: %v", err)
	}
	for _, name := range []string{"file", "dangling", "folder/secret", "folder/new", "absolute/secret", "absolute/new", "folder/a/b", "loop", "loop/x"} {
		path := filepath.Join(dir, name)
		_, err := c.WriteFile(path, []byte("evil"), 0, Expect{Parents: true})
		wantKind(t, err, IsSymlink)
	}
	wantKind(t, c.Remove(filepath.Join(dir, "folder/secret"), Expect{}), IsSymlink)
	wantKind(t, c.Mkdir(filepath.Join(dir, "absolute/a/b"), 0, true), IsSymlink)
	want(t, filepath.Join(out, "secret"), "safe")
	onlyEntry(t, out, "secret")
}

// E7: a folder of the path is swapped with a link while files are written. Without the open
// folder and the check, some writes end in the other folder.
func TestWriteWhileTheFolderIsSwapped(t *testing.T) {
	c, dir := start(t), folder(t)
	for _, d := range []string{"out", "d"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("out", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "kept"))
			_ = os.Rename(filepath.Join(dir, "link"), filepath.Join(dir, "d"))
			runtime.Gosched()
			_ = os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "link"))
			_ = os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, "d"))
		}
	})
	outside := filepath.Join(dir, "out/f")
	escaped := false
	for n := 0; n < 1_000_000 && !escaped; n++ { // a few, unless the swapper gets no time
		_ = os.WriteFile(filepath.Join(dir, "d/f"), []byte("x"), 0o600)
		_, err := os.Lstat(outside)
		escaped = err == nil
	}
	if !escaped {
		t.Error("a plain write never ended in the other folder: this test shows nothing")
	}
	_ = os.Remove(outside)
	written := 0
	for range 500 {
		if _, err := c.WriteFile(filepath.Join(dir, "d/f"), []byte("x"), 0, Expect{}); err == nil {
			written++
		}
	}
	close(stop)
	swapper.Wait()
	if entries, err := os.ReadDir(filepath.Join(dir, "out")); err != nil || len(entries) != 0 {
		t.Errorf("%d of 500 writes succeeded and the other folder holds %v, %v", written, entries, err)
	}
}

func TestWriteDoesNotReachAHardLinksOtherName(t *testing.T) {
	c, dir := start(t), folder(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, a, "old", 0o600)
	if err := os.Link(a, b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WriteFile(b, []byte("new"), 0, Expect{}); err != nil {
		t.Fatal(err)
	}
	want(t, a, "old")
	want(t, b, "new")
}

// ordinary runs check as a user without root's capabilities, which bypass permission bits.
func ordinary(t *testing.T, check func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		check()
		return
	}
	done := make(chan struct{})
	go func() { // its thread, which has changed the user, ends with it
		defer close(done)
		if asUser(t) {
			check()
		}
	}()
	<-done
}

func TestPermissionsOfTheSystem(t *testing.T) {
	dir := folder(t)
	for p := dir; p != "/tmp" && p != "/"; p = filepath.Dir(p) {
		if fi, err := os.Stat(p); err != nil || fi.Mode()&0o001 == 0 {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	locked, open := filepath.Join(dir, "locked"), filepath.Join(dir, "open")
	for _, d := range []string{locked, open} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(locked, "writable"), "a long old content", 0o666)
	put(t, filepath.Join(open, "readonly"), "old", 0o444)
	put(t, filepath.Join(open, "secret"), "old", 0o000)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	ordinary(t, func() {
		// The folder accepts no new file, but the file is writable: it is written in place.
		path := filepath.Join(locked, "writable")
		if _, err := writeFile(path, []byte("new"), 0, Expect{Content: []byte("a long old content")}); err != nil {
			t.Error(err)
		}
		want(t, path, "new")
		wantKind(t, perform(&request{op: opWrite, path: filepath.Join(locked, "n"), data: []byte("new")}).err, Refused)
		// The folder would allow a replacement, but the file is read-only.
		wantKind(t, perform(&request{op: opWrite, path: filepath.Join(open, "readonly"), data: []byte("new")}).err, Refused)
		want(t, filepath.Join(open, "readonly"), "old")
		wantKind(t, perform(&request{op: opRead, path: filepath.Join(open, "secret")}).err, Refused)
	})
	if err := os.Chmod(locked, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestRemoveMkdir(t *testing.T) {
	c, dir := start(t), folder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	put(t, in("a"), "a", 0o600)
	put(t, in("b"), "b", 0o600)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(c.Mkdir(in("x"), 0o700, false))
	wantKind(t, c.Mkdir(in("x"), 0, false), Exists)
	check(c.Mkdir(in("x"), 0, true))
	check(c.Mkdir(in("p/q/r"), 0, true))
	wantKind(t, c.Mkdir(in("a/b/c"), 0, true), NotFolder)
	wantKind(t, c.Remove(in("p"), Expect{}), Exists)
	check(c.Remove(in("x"), Expect{}))
	check(c.Remove(in("a"), Expect{}))
	check(c.Remove(in("b"), Expect{Content: []byte("b")}))
	wantKind(t, c.Remove(in("b"), Expect{}), Absent)
	check(os.Symlink("/etc/passwd", in("link")))
	check(c.Remove(in("link"), Expect{}))
	if _, err := os.Lstat("/etc/passwd"); err != nil {
		t.Error(err)
	}
	wantKind(t, c.Remove("/", Expect{}), IsFolder)
	if err := syscall.Mkfifo(in("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(c.Remove(in("fifo"), Expect{}))
	onlyEntry(t, dir, "p")
}

func TestModeOfNewFileHonoursUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(folder(t), "f")
	if _, err := writeFile(path, nil, 0, Expect{}); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode() != fs.FileMode(0o640) {
		t.Errorf("mode %v, %v, want 0640", fi.Mode(), err)
	}
}

// A backend made an empty file for a permission on an absent path: the tools treat it as
// absent, and the new file is written into it.
func TestPlaceholderIsAbsent(t *testing.T) {
	c, dir := start(t), folder(t)
	path := filepath.Join(dir, "f")
	for _, content := range []string{"new", ""} {
		put(t, path, "", 0o644)
		if err := os.Chtimes(path, time.Unix(PlaceholderTime, 0), time.Unix(PlaceholderTime, 0)); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Stat(path)
		wantKind(t, err, Absent)
		_, _, err = c.ReadFile(path, 0, 0)
		wantKind(t, err, Absent)
		wantKind(t, c.Remove(path, Expect{}), Absent)
		if l, err := c.ReadDirs([]string{dir}, 0); err != nil || len(l[0].Entries) != 0 {
			t.Errorf("listed: %+v, %v", l, err)
		}
		if _, err := c.WriteFile(path, []byte(content), 0o755, Expect{Absent: true}); err != nil {
			t.Error(err)
		}
		want(t, path, content)
		after, err := c.Stat(path)
		if err != nil || after.Mode != 0o755 {
			t.Errorf("after writing: %+v, %v", after, err)
		}
		if fi, err := os.Stat(path); err != nil || !os.SameFile(fi, before) {
			t.Errorf("the file was replaced, and the permission with it: %v", err)
		}
	}
}

func TestTooMuchAtOnce(t *testing.T) {
	c := start(t)
	_, err := c.WriteFile("/x", make([]byte, MaxData+1), 0, Expect{})
	wantKind(t, err, Invalid)
	_, err = c.ReadDirs(make([]string, MaxPaths+1), 0)
	wantKind(t, err, Invalid)
	long := "/" + strings.Repeat("x", 300)
	_, err = c.Stat(long)
	wantKind(t, err, Invalid)
}
