//go:build linux

package pathwalk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// self is the calling thread of the test.
type self struct{}

func (self) Thread() int { return unix.Gettid() }
func (self) Waits() bool { return true }

// gone is a caller that was killed.
type gone struct{ self }

func (gone) Waits() bool { return false }

// newWalker returns a walker for a command without mounts of its own. The test keeps its thread.
func newWalker(t *testing.T) *Walker {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	w := &Walker{Instead: func(path string) string { return path }, OnHost: func(string) bool { return false }}
	t.Cleanup(func() { w.Close() })
	return w
}

// newTree makes a folder with files and links:
//
//	file d/ d/file d/e/             a folder of files
//	up -> d/e/..                    links
//	to -> file    dir -> d    abs -> /…/d    missing -> nothing    round -> round    slash -> d/
//	shut/ shut/file                 a folder without search permission
func newTree(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	err = errors.Join(os.MkdirAll(at("d/e"), 0o755), os.WriteFile(at("file"), nil, 0o644), os.WriteFile(at("d/file"), nil, 0o644),
		os.Mkdir(at("shut"), 0o755), os.WriteFile(at("shut/file"), nil, 0o644), os.Chmod(at("shut"), 0o600))
	for name, text := range map[string]string{
		"up": "d/e/..", "to": "file", "dir": "d", "abs": at("d"), "missing": "nothing", "round": "round", "slash": "d/", "tofile": "to",
	} {
		err = errors.Join(err, os.Symlink(text, at(name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(at("shut"), 0o755) })
	return root
}

// walks are paths in the tree, and what is at the end: the path of the file, or the errno. A path
// that ends in "?" is a missing file that may be made there.
var walks = []struct{ path, follow, noFollow string }{
	{"file", "file", "file"},
	{"./file", "file", "file"},
	{"d//file", "d/file", "d/file"},
	{"d/e/../file", "d/file", "d/file"},
	{"d/../d/./file", "d/file", "d/file"},
	{"d/../../../../../../../../../../../../../../../../etc/..", "/", "/"},
	{"d", "d", "d"},
	{"d/", "d", "d"},
	{"d/.", "d", "d"},
	{"d/e/..", "d", "d"},
	{"file/", "file", "file"}, // the handler decides by Spot.Slash
	{"file/.", "not a directory", "not a directory"},
	{"file/..", "not a directory", "not a directory"},
	{"file/x", "not a directory", "not a directory"},
	{"new", "new?", "new?"},
	{"d/new", "d/new?", "d/new?"},
	{"new/x", "no such file or directory", "no such file or directory"},
	{"new/.", "no such file or directory", "no such file or directory"},
	{"", "no such file or directory", "no such file or directory"},
	{"to", "file", "to"},
	{"tofile", "file", "tofile"},
	{"dir", "d", "dir"},
	{"dir/", "d", "dir"}, // the handler decides by Spot.Slash
	{"dir/file", "d/file", "d/file"},
	{"abs/file", "d/file", "d/file"},
	{"abs", "d", "abs"},
	{"up/file", "d/file", "d/file"},
	{"slash", "d", "slash"},
	{"missing", "nothing?", "missing"},
	{"missing/x", "no such file or directory", "no such file or directory"},
	{"round", "too many levels of symbolic links", "round"},
	{"round/x", "too many levels of symbolic links", "too many levels of symbolic links"},
	{"shut/file", "permission denied", "permission denied"},
	{"shut/new", "permission denied", "permission denied"},
	{"shut", "shut", "shut"},
	{strings.Repeat("n", 256), "file name too long", "file name too long"},
	{strings.Repeat("d/../", 700) + "file", "file", "file"},
}

// TestTarget: a walk ends where the kernel's own walk would, from each kind of start.
func TestTarget(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	asUser(t)
	dir, err := unix.Open(root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	t.Chdir(root)
	for _, row := range walks {
		for _, start := range []struct {
			what   string
			dir    int32
			prefix string
		}{{"the working directory", unix.AT_FDCWD, ""}, {"a descriptor", int32(dir), ""}, {"the root", -1, root + "/"}} {
			m := Name{Dir: start.dir, Path: start.prefix + row.path}
			if row.path == "" {
				m.Path = "" // not the root itself
			}
			for follow, want := range map[bool]string{true: row.follow, false: row.noFollow} {
				got, err := w.Target(self{}, m, follow)
				if is := endOf(got, err, root); is != want {
					t.Errorf("%.60q from %s, follow %v: %s, want %s", row.path, start.what, follow, is, want)
				}
			}
		}
	}
}

// endOf describes and closes what a walk reached.
func endOf(t *Target, err error, root string) string {
	if err != nil {
		return err.Error()
	}
	defer t.Close()
	path := strings.TrimPrefix(t.Path, root+"/")
	if t.FD < 0 {
		return path + "?"
	}
	if now := kernel.PathOf(t.FD); now != t.Path {
		return "the descriptor is of " + now + ", not of " + t.Path
	}
	return path
}

// asUser gives up the capabilities of the thread, so that a folder without search permission is
// shut. The thread ends with the test.
func asUser(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // once more than is unlocked
	if err := kernel.KeepCaps(0); err != nil {
		t.Fatal(err)
	}
}

// TestSpot: the folder and the last component of a path, which need not exist.
func TestSpot(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	t.Chdir(root)
	for _, row := range []struct {
		path, folder, last string
		slash, odd         bool
	}{
		{"file", "", "file", false, false},
		{"dir/new", "/d", "new", false, false},
		{"d/e/", "/d", "e", true, false},
		{"d/e///", "/d", "e", true, false},
		{"d/e/..", "/d/e", "..", false, true},
		{"d/.", "/d", ".", false, true},
		{"missing", "", "missing", false, false}, // a spot follows no link
	} {
		s, err := w.Spot(self{}, Name{Dir: unix.AT_FDCWD, Path: row.path})
		if err != nil {
			t.Errorf("%q: %v", row.path, err)
			continue
		}
		if s.Path != root+row.folder || s.Last != row.last || s.Slash != row.slash || s.Odd() != row.odd || s.Asked != row.path {
			t.Errorf("%q: %+v", row.path, s)
		}
		if s.Full() != s.Path+"/"+s.Last || s.Gone() {
			t.Errorf("%q: full %q, gone %v", row.path, s.Full(), s.Gone())
		}
		s.Close()
	}
	if s := (Spot{Path: "/", Last: "etc"}); s.Full() != "/etc" {
		t.Errorf("in the root: %q", s.Full())
	}
	s, err := w.Spot(self{}, Name{Dir: unix.AT_FDCWD, Path: "d/e/x"})
	if err == nil {
		err = os.Remove("d/e")
	}
	if err != nil || !s.Gone() {
		t.Errorf("a removed folder: gone %v, %v", s.Gone(), err)
	}
	s.Close()
}

// TestScopedTarget: the limits of openat2 hold for each part of a path and for the links in it.
func TestScopedTarget(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	t.Chdir(root)
	dir, err := unix.Open(root+"/d", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	if err := errors.Join(os.Symlink("../file", "d/out"), os.Symlink("/file", "d/rooted"), os.Symlink("file", "d/in")); err != nil {
		t.Fatal(err)
	}
	const cross, loop, invalid = "invalid cross-device link", "too many levels of symbolic links", "invalid argument"
	for _, row := range []struct {
		path    string
		resolve uint64
		want    string
	}{
		{"file", unix.RESOLVE_BENEATH, "d/file"},
		{"in", unix.RESOLVE_BENEATH, "d/file"},
		{"new", unix.RESOLVE_BENEATH, "d/new?"},
		{"../file", unix.RESOLVE_BENEATH, cross},
		{"e/../../file", unix.RESOLVE_BENEATH, cross},
		{"out", unix.RESOLVE_BENEATH, cross},
		{"rooted", unix.RESOLVE_BENEATH, cross},
		{root + "/d/file", unix.RESOLVE_BENEATH, cross},
		{"../file", unix.RESOLVE_IN_ROOT, "d/file"},
		{"out", unix.RESOLVE_IN_ROOT, "d/file"},
		{"rooted", unix.RESOLVE_IN_ROOT, "d/file"},
		{"/file", unix.RESOLVE_IN_ROOT, "d/file"},
		{"in", unix.RESOLVE_NO_SYMLINKS, loop},
		{"../dir/file", unix.RESOLVE_NO_SYMLINKS, loop},
		{"../file", unix.RESOLVE_NO_SYMLINKS, "file"},
		{"out", unix.RESOLVE_NO_MAGICLINKS, "file"},
		{root + "/dir/file", unix.RESOLVE_NO_MAGICLINKS, "d/file"},
		{"/proc/self/status", unix.RESOLVE_NO_XDEV, cross},
		{"file", unix.RESOLVE_NO_XDEV, "d/file"},
		{"file", unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT, invalid},
		{"file", 1 << 20, invalid},
		{"file", resolveCached, "resource temporarily unavailable"},
		{"", unix.RESOLVE_BENEATH, "no such file or directory"},
	} {
		got, err := w.ScopedTarget(self{}, Name{Dir: int32(dir), Path: row.path}, true, row.resolve)
		if is := endOf(got, err, root); is != row.want {
			t.Errorf("%q with %#x: %s, want %s", row.path, row.resolve, is, row.want)
		}
	}
}

// TestProc: /proc/self means the caller, and its links that jump to open files are followed. Those
// of other processes are not.
func TestProc(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	t.Chdir(root)
	fd, err := unix.Open("d/file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	number, parent := strconv.Itoa(fd), strconv.Itoa(os.Getppid())
	for _, row := range []struct{ path, want string }{
		{"/proc/self/fd/" + number, "d/file"},
		{"/proc/thread-self/fd/" + number, "d/file"},
		{"/proc/" + strconv.Itoa(os.Getpid()) + "/fd/" + number, "d/file"},
		{"/proc/self/cwd/file", "file"},
		{"/proc/self/cwd/dir/file", "d/file"},
		{"/proc/self/root" + root + "/file", "file"},
		{"/proc/self/fd/999", "/proc/" + strconv.Itoa(os.Getpid()) + "/fd/999?"},
		{"/proc/" + parent + "/root/etc", "permission denied"},
		{"/proc/" + parent + "/cwd", "permission denied"},
	} {
		got, err := w.Target(self{}, Name{Dir: unix.AT_FDCWD, Path: row.path}, true)
		if is := endOf(got, err, root); is != row.want {
			t.Errorf("%s: %s, want %s", row.path, is, row.want)
		}
	}
}

// TestStraight: only a path that is the file's own name is taken as such.
func TestStraight(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	t.Chdir(root)
	for path, want := range map[string]error{
		root + "/d/file": nil, root: nil, root + "/absent": unix.ENOENT, root + "/file/x": unix.ENOTDIR,
		root + "/dir/file": unix.ELOOP, root + "//file": unix.ELOOP, root + "/d/../file": unix.ELOOP, root + "/d/": unix.ELOOP, "file": unix.ELOOP, "": unix.ELOOP,
		"/proc/self/cwd/file": unix.ELOOP,
	} {
		fd, err := w.Straight(self{}, Name{Dir: unix.AT_FDCWD, Path: path})
		if err == nil {
			unix.Close(fd)
		}
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}

// TestReached: how far a path leads.
func TestReached(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	t.Chdir(root)
	for _, row := range []struct{ path, at, rest string }{
		{root + "/d/file", "d/file", ""},
		{root + "/d/new", "d/new", ""},
		{root + "/dir/file/x/y", "d/file", "x/y"},
		{"d/file/x", "d/file", "x"},
		{"dir/no/x/../y", "d/no", "y"},
	} {
		at, rest, err := w.Reached(self{}, Name{Dir: unix.AT_FDCWD, Path: row.path})
		if err != nil || at != root+"/"+row.at || rest != row.rest {
			t.Errorf("%q: %q, %q, %v", row.path, at, rest, err)
		}
	}
	if _, _, err := w.Reached(self{}, Name{Dir: 999, Path: "x/y"}); err == nil {
		t.Error("from a closed descriptor something was reached")
	}
}

// TestOthers: a report may follow the links of other processes in /proc.
func TestOthers(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Dir = root
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	m := Name{Dir: unix.AT_FDCWD, Path: fmt.Sprintf("/proc/%d/cwd/file", cmd.Process.Pid)}
	if _, err := w.Open(self{}, m); err != unix.EACCES {
		t.Errorf("for a decision: %v", err)
	}
	m.Others = true
	got, err := w.Target(self{}, m, true)
	if is := endOf(got, err, root); is != "file" {
		t.Errorf("for a report: %s", is)
	}
}

// TestItself: a descriptor that is the file, or the start of a path.
func TestItself(t *testing.T) {
	w, root := newWalker(t), newTree(t)
	file, err := os.Open(root + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	own := int32(file.Fd())
	for _, row := range []struct {
		what string
		name Name
		want error
	}{
		{"a file", Name{Dir: own, Itself: true}, nil},
		{"the working directory", Name{Dir: unix.AT_FDCWD, Itself: true}, nil},
		{"a closed descriptor", Name{Dir: 999, Itself: true}, unix.EBADF},
		{"a negative descriptor", Name{Dir: -7, Itself: true}, unix.EBADF},
		{"a path from a file", Name{Dir: own, Path: "x"}, unix.ENOTDIR},
		{"a path from a closed descriptor", Name{Dir: 999, Path: "x"}, unix.EBADF},
		{"an absolute path, whatever the descriptor", Name{Dir: 999, Path: root + "/file"}, nil},
		{"an empty path", Name{Dir: own}, unix.ENOENT},
	} {
		fd, err := w.Open(self{}, row.name)
		if err == nil {
			unix.Close(fd)
		}
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.what, err, row.want)
		}
	}
	if _, err := (&Walker{}).Open(gone{}, Name{Path: "/"}); err != unix.ESRCH {
		t.Errorf("for a caller that is gone: %v", err)
	}
}

// TestPolicyPath: with mounts of its own a command has other files at some paths.
func TestPolicyPath(t *testing.T) {
	root := newTree(t)
	fd, err := kernel.OpenPath(root + "/d/file")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		t.Fatal(err)
	}
	file := root + "/d/file"
	for _, row := range []struct {
		what string
		view view
		want string
	}{
		{"no places", view{}, file},
		{"in a private folder", view{places: []ownPlace{{dir: root, mount: st.Mnt_id, policy: "/temp"}}}, "/temp/d/file"},
		{"the private folder itself", view{places: []ownPlace{{dir: file, mount: st.Mnt_id, policy: "/temp"}}}, "/temp"},
		{"in a folder of its own", view{places: []ownPlace{{dir: root, mount: st.Mnt_id, policy: root}}}, file},
		{"the host's, below a folder of its own", view{places: []ownPlace{{dir: root, mount: st.Mnt_id + 1, policy: root}}}, HostsOwn + file},
		{"the host's, below a private folder", view{places: []ownPlace{{dir: root, mount: st.Mnt_id + 1, policy: "/temp"}}}, file},
		{"shown again", view{places: []ownPlace{{dir: root, mount: st.Mnt_id, policy: "/temp"}}, shown: []string{root + "/d"}}, file},
		{"another folder", view{places: []ownPlace{{dir: root + "/d/fil", mount: st.Mnt_id, policy: "/temp"}}}, file},
	} {
		if got := row.view.PolicyPath(fd); got != row.want {
			t.Errorf("%s: %q, want %q", row.what, got, row.want)
		}
		w := Walker{view: &row.view}
		if got := w.HostPath(fd); got != strings.TrimPrefix(row.want, HostsOwn) {
			t.Errorf("%s: on the host %q", row.what, got)
		}
	}
}

// TestHidden: a host's file that a private folder hides, or a name in a host's folder.
func TestHidden(t *testing.T) {
	root := newTree(t)
	v := view{places: []ownPlace{{dir: root, policy: "/temp"}, {dir: "/etc", policy: "/etc"}}}
	for path, want := range map[string]string{
		"/d/file": "/d/file", "/d/new": "/d/new", "/file": "/file", "/new": "", "/d/no/new": "", "/file/new": "", "": "", "/dir/file": "",
	} {
		if want != "" {
			want = root + want
		}
		if got := v.hidden(unix.Gettid(), Name{Dir: unix.AT_FDCWD, Path: root + path}); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	if got := v.hidden(unix.Gettid(), Name{Dir: unix.AT_FDCWD, Path: "/etc/passwd"}); got != "" {
		t.Errorf("in a folder with the same path in the policy: %q", got)
	}
}

// TestWritten: the path that a call gives, as a report shows it.
func TestWritten(t *testing.T) {
	root := newTree(t)
	t.Chdir(root)
	for _, row := range []struct {
		name Name
		want string
	}{
		{Name{Dir: unix.AT_FDCWD, Path: "d/../x"}, root + "/x"},
		{Name{Dir: unix.AT_FDCWD, Path: "/a//b/"}, "/a/b"},
		{Name{Dir: 999, Path: "x"}, ""},
		{Name{Dir: 999, Path: "/x"}, "/x"},
		{Name{Dir: unix.AT_FDCWD}, ""},
		{Name{Dir: unix.AT_FDCWD, Path: "x", Itself: true}, ""},
	} {
		if got := row.name.Written(unix.Gettid()); got != row.want {
			t.Errorf("%+v: %q, want %q", row.name, got, row.want)
		}
	}
}

// TestCutName: the last component of a path.
func TestCutName(t *testing.T) {
	for path, want := range map[string][3]string{
		"a": {"./", "a", ""}, "a/": {"./", "a", "/"}, "/": {"/", "", "/"}, "//": {"/", "", "/"}, "/a": {"/", "a", ""},
		"/a/b": {"/a/", "b", ""}, "a//b": {"a//", "b", ""}, "a/..": {"a/", "..", ""}, "": {"/", "", ""}, "..": {"./", "..", ""},
	} {
		head, last, slash := cutName(path)
		if head != want[0] || last != want[1] || slash != (want[2] != "") {
			t.Errorf("%q: %q, %q, %v; want %q", path, head, last, slash, want)
		}
	}
}
