package hostfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// place returns a folder with entries that a command could plant.
func place(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/file", "text", 0o640)
	must(t, os.Mkdir(dir+"/folder", 0o755))
	write(t, dir+"/folder/in", "in", 0o600)
	must(t, os.Symlink("file", dir+"/link"))
	must(t, os.Symlink("folder", dir+"/way"))
	must(t, unix.Mkfifo(dir+"/fifo", 0o600))
	l, err := net.Listen("unix", dir+"/socket")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return dir
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
	must(t, os.Chmod(path, mode))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRead: links, FIFOs, sockets, devices and folders give an error that names the type, at
// once, with openat2 and without.
func TestRead(t *testing.T) {
	dir := place(t)
	for _, old := range []bool{false, true} {
		setOpenat2(t, !old)
		for name, want := range map[string]string{
			dir + "/file": "", dir + "/folder/in": "", dir + "/link": "symbolic link", dir + "/way/in": "symbolic link", dir + "/fifo": "a FIFO",
			dir + "/socket": "a socket", dir + "/folder": "a folder", "/dev/null": "a device", dir + "/none": "no such file", "file": "invalid", "/": "a folder",
			"/proc/self/cwd": "symbolic link", "/proc/self/root/etc/passwd": "symbolic link",
		} {
			if strings.HasPrefix(name, "/proc") && isDarwin {
				continue
			}
			_, err := Read(context.Background(), name, 10)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("openat2 %v: read %s: %v, want %q", !old, name, err, want)
			}
		}
	}
	var large *TooLargeError
	if _, err := Read(context.Background(), dir+"/file", 3); !errors.As(err, &large) || large.Size != 4 {
		t.Errorf("a file above the bound: %v", err)
	}
	if data, err := ReadStart(context.Background(), dir+"/file", 3); string(data) != "tex" || err != nil {
		t.Errorf("the start of a file: %q, %v", data, err)
	}
}

// TestWithin: something that never ends is left when its context ends.
func TestWithin(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	why := errors.New("a signal")
	cancel(why)
	if _, err := Within(ctx, func() ([]byte, error) { return io.ReadAll(r) }); !errors.Is(err, why) {
		t.Errorf("a read that waits: %v", err)
	}
}

// TestOpenFile: only a regular file is truncated or opened for writing.
func TestOpenFile(t *testing.T) {
	dir := place(t)
	for _, name := range []string{"link", "way/in", "fifo", "socket", "folder"} {
		if f, err := OpenFile(dir+"/"+name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
			f.Close()
			t.Errorf("%s was opened to be written", name)
		}
	}
	if data, _ := os.ReadFile(dir + "/file"); string(data) != "text" {
		t.Errorf("the file behind the link holds %q", data)
	}
	f, err := OpenFile(dir+"/new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	must(t, err)
	must(t, f.Close())
}

// TestReplace: the file is complete, keeps its mode, and no link is followed.
func TestReplace(t *testing.T) {
	dir := place(t)
	must(t, Write(dir+"/file", []byte("new"), 0o600))
	info, err := os.Lstat(dir + "/file")
	must(t, err)
	if data, _ := os.ReadFile(dir + "/file"); string(data) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("holds %q with mode %v", data, info.Mode())
	}
	for name, want := range map[string]string{"link": "symbolic link", "way/in": "symbolic link", "fifo": "FIFO", "socket": "socket", "folder": "folder"} {
		if err := Write(dir+"/"+name, nil, 0o600); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("write %s: %v", name, err)
		}
	}
	r, err := Replace(dir+"/answer", 0o600)
	must(t, err)
	defer r.Close()
	must(t, os.Symlink("file", dir+"/answer")) // planted during the run
	must(t, r.Write(func(w io.Writer) error { return second(io.WriteString(w, "mine")) }))
	if info, err := os.Lstat(dir + "/answer"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("in the place of a planted link stands %v, %v", info, err)
	}
	if data, _ := os.ReadFile(dir + "/file"); string(data) != "new" {
		t.Errorf("the file behind a planted link holds %q", data)
	}
	must(t, os.Remove(dir+"/answer"))
	broken := errors.New("broken")
	if err := r.Write(func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a writer that fails: %v", err)
	}
	entries, err := ReadDir(dir, -1)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".codeagent-") || e.Name() == "answer" {
			t.Errorf("%s was left", e.Name())
		}
	}
}

// TestReplaceInPlace: a file in a folder in which no file can be created.
func TestReplaceInPlace(t *testing.T) {
	dir := place(t)
	write(t, dir+"/folder/mine", "a longer text", 0o600)
	must(t, os.Chmod(dir+"/folder", 0o555))
	t.Cleanup(func() { os.Chmod(dir+"/folder", 0o755) })
	asUser(t, dir, dir+"/folder/mine")
	must(t, Write(dir+"/folder/mine", []byte("new"), 0o600))
	if data, _ := os.ReadFile(dir + "/folder/mine"); string(data) != "new" {
		t.Errorf("holds %q", data)
	}
	if os.Getuid() != 0 || !isDarwin { // on macOS root may write everywhere
		if err := Write(dir+"/folder/other", nil, 0o600); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a new file: %v", err)
		}
	}
}

// TestEntries: functions that change names follow no link.
func TestEntries(t *testing.T) {
	dir := place(t)
	must(t, MkdirAll(dir+"/a/b/c", 0o700))
	made, err := MkdirTemp(dir+"/a", "session-")
	must(t, err)
	must(t, Rename(dir+"/file", dir+"/a/b/file"))
	must(t, Link(dir+"/a/b/file", dir+"/again"))
	when := time.Unix(1_000_000_000, 0)
	must(t, Touch(dir+"/again", when))
	must(t, Chmod(dir+"/again", 0o600))
	info, err := Lstat(dir + "/again")
	must(t, err)
	if !info.ModTime().Equal(when) || info.Mode() != 0o600 || info.Size() != 4 {
		t.Errorf("%v %v %d", info.ModTime(), info.Mode(), info.Size())
	}
	if info, err := Lstat(dir + "/link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	must(t, Sync(dir))
	for name, err := range map[string]error{
		"mkdir": Mkdir(dir+"/way/x", 0o700), "mkdirall": MkdirAll(dir+"/way", 0o700), "remove": Remove(dir + "/way/in"), "remove all": RemoveAll(dir + "/way/in"),
		"rename": Rename(dir+"/again", dir+"/way/x"), "link": Link(dir+"/again", dir+"/way/x"), "chmod": Chmod(dir+"/link", 0o777), "root": second(OpenRoot(dir + "/way")),
		"list": second(ReadDir(dir+"/way", -1)), "look": second(Lstat(dir + "/way/in")), "touch": Touch(dir+"/way/in", when),
	} {
		if err == nil {
			t.Errorf("%s went through a link", name)
		}
	}
	must(t, Remove(dir+"/link"))
	must(t, Remove(made))
	must(t, RemoveAll(dir+"/a"))
	must(t, RemoveAll(dir+"/none/at/all"))
	if _, err := os.Lstat(dir + "/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a is still there: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestRemoveAll: thousands of nested folders, and many files in one; the target of a link
// stays.
func TestRemoveAll(t *testing.T) {
	dir := place(t)
	tree := dir + "/tree"
	must(t, os.Mkdir(tree, 0o755))
	must(t, os.Symlink(dir+"/folder", tree+"/link"))
	for i := range 2500 {
		write(t, fmt.Sprintf("%s/%d", tree, i), "", 0o400)
	}
	at, err := unix.Open(tree, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	must(t, err)
	for range 3000 {
		must(t, unix.Mkdirat(at, "deeper", 0o700))
		next, err := unix.Openat(at, "deeper", unix.O_DIRECTORY|unix.O_RDONLY, 0)
		must(t, err)
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	must(t, RemoveAll(tree))
	if _, err := os.Lstat(tree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Lstat(dir + "/folder/in"); err != nil {
		t.Errorf("behind the link: %v", err)
	}
}

// TestRemoveShut: folders whose mode denies their owner access.
func TestRemoveShut(t *testing.T) {
	dir := place(t)
	tree := dir + "/folder/tree"
	must(t, os.MkdirAll(tree+"/shut/in", 0o755))
	write(t, tree+"/shut/in/f", "", 0)
	must(t, os.Symlink(dir+"/file", tree+"/shut/in/link"))
	for _, shut := range []string{"/shut/in", "/shut", ""} {
		must(t, os.Chmod(tree+shut, 0))
	}
	asUser(t, dir, dir+"/folder", tree, tree+"/shut", tree+"/shut/in", tree+"/shut/in/f")
	must(t, RemoveAll(tree))
	if _, err := os.Lstat(tree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if info, err := os.Lstat(dir + "/file"); err != nil || info.Mode() != 0o640 {
		t.Errorf("behind the link: %v, %v", info, err)
	}
}

// TestLock: one process at a time holds the lock of a folder. A caller that does not get it in time
// gets an error.
func TestLock(t *testing.T) {
	dir := place(t)
	unlock, err := Lock(dir)
	must(t, err)
	if second, err := lockWithin(dir, 30*time.Millisecond); !errors.Is(err, errLocked) || second != nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("while it is locked: %v", err)
	}
	waiting := make(chan error)
	go func() {
		second, err := Lock(dir)
		if err == nil {
			second()
		}
		waiting <- err
	}()
	unlock()
	if err := <-waiting; err != nil {
		t.Errorf("after it was unlocked: %v", err)
	}
	if _, err := Lock(dir + "/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestCopyAllOrNothing: a copy that cannot be made whole leaves nothing, and what was there before stays.
func TestCopyAllOrNothing(t *testing.T) {
	for name, spoil := range map[string]func(from, to string) error{
		"a pipe": func(from, _ string) error { return unix.Mkfifo(from+"/z/pipe", 0o644) },
		"a link": func(from, _ string) error { return os.Symlink("f", from+"/z/link") },
		"a large file": func(from, _ string) error {
			return errors.Join(os.WriteFile(from+"/z/large", nil, 0o644), os.Truncate(from+"/z/large", 2<<30))
		},
		"a refused name": func(from, _ string) error { return os.WriteFile(from+"/z/refused", nil, 0o644) },
		"a folder there": func(_, to string) error {
			return errors.Join(os.Mkdir(to, 0o755), os.WriteFile(to+"/mine", nil, 0o644))
		},
	} {
		dir := t.TempDir()
		from, to := dir+"/from", dir+"/to"
		err := errors.Join(os.MkdirAll(from+"/z", 0o755), os.WriteFile(from+"/f", []byte("x"), 0o644))
		if err = errors.Join(err, spoil(from, to)); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadDir(to)
		c := Copy{Perm: 0o666, Judge: func(to, _ string) error {
			if filepath.Base(to) == "refused" {
				return errors.New("refused")
			}
			return nil
		}}
		if err := c.New(from, to); err == nil {
			t.Errorf("%s: copied", name)
		}
		if after, _ := os.ReadDir(to); len(after) != len(before) {
			t.Errorf("%s: left %v", name, after)
		}
		if _, err := os.Lstat(to); err == nil && before == nil {
			t.Errorf("%s: the folder was left", name)
		}
	}
}
