package draft_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/draft"
	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

var tests = backendtest.Tests("codeagent/draft")

func TestMain(m *testing.M) {
	if name := os.Getenv(envHidden); name != "" {
		if err := hide(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	backendtest.Main(m)
}

// place is a workspace with drafts.
type place struct {
	ws, drafts string
	policy     sandbox.Policy
	runner     *exec.Runner
}

func newPlace(t testing.TB) *place {
	t.Helper()
	b := backendtest.New(t)
	t.Cleanup(func() { _ = b.Close() })
	if f := backendtest.Facts(t, b); !f.Namespaces || !f.Broker {
		t.Skipf("no drafts without mounts of its own (%s) and a broker (%s)", f.NamespacesWhy, f.NoBroker)
	}
	dir, err := os.MkdirTemp("/var/tmp", "drafts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hostfile.RemoveAll(dir) })
	p := &place{ws: filepath.Join(dir, "ws"), drafts: filepath.Join(dir, "drafts")}
	for _, d := range []string{p.ws, p.drafts, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.policy = sandbox.WorkspaceWrite(p.ws)
	p.policy.Temp = filepath.Join(dir, "tmp")
	p.runner = exec.New(exec.Options{Backend: b, Files: exec.OS{}, Environ: os.Environ()})
	return p
}

// try runs a command on a draft.
func (p *place) try(ctx context.Context, t testing.TB, argv ...string) (*draft.Draft, exec.Outcome) {
	t.Helper()
	d, err := draft.New(p.drafts, p.ws, argv, p.policy)
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.runner.Run(ctx, p.policy, exec.Command{Argv: argv, Dir: p.ws, Timeout: time.Minute, Draft: d}, nil)
	if err != nil && ctx.Err() == nil { // else it was killed before it began
		t.Fatal(err)
	}
	return d, o
}

func (p *place) changes(t *testing.T, d *draft.Draft) []draft.Change {
	t.Helper()
	list, err := d.Changes()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (p *place) keep(t *testing.T, d *draft.Draft, list []draft.Change) []draft.Left {
	t.Helper()
	files, err := p.runner.Files(t.Context(), p.policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	_, left, err := d.Keep(t.Context(), files, list)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// native runs a command without a sandbox.
func native(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := osexec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// everything is all that can be seen of a tree.
func everything(dir string) string {
	var b strings.Builder
	attack.Describe(&b, dir)
	return b.String()
}

// kept is what a draft keeps of a tree: names, types, permissions, contents, link targets.
func kept(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		target, _ := os.Readlink(path)
		var text []byte
		if e.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %q %x\n", strings.TrimPrefix(path, dir), info.Mode(), target, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// aTree is a shell script that makes a small tree.
const aTree = `umask 022
for d in a b c/d c/e/f; do mkdir -p $d; for n in 1 2 3; do echo $d $n >$d/$n; done; done
ln -s a/1 link; ln -s nowhere dangling; ln c/d/1 second; chmod 755 a/1; chmod 600 a/2; mkdir empty; seq 1 2000 >long
setfattr -n user.x -v y a/3 2>/dev/null || true`

// TestNothingStays: whatever a program does on a draft, and whenever it is killed, no file changes in anything that
// can be seen, and no server is reached.
func TestNothingStays(t *testing.T) {
	python := attack.Need(t, "python3")
	p := newPlace(t)
	native(t, p.ws, "sh", "-c", aTree)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	reached := make(chan string, 1)
	go func() { // ends with the server
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			c.Close()
			reached <- "a connection"
		}
	}()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	before := everything(p.ws)
	program := "import socket\ntry: socket.create_connection(('127.0.0.1', " + port + "), 1)\nexcept OSError: pass\n" + backendtest.RandomOperations
	runs, changed := machine.Times(10, 20), 0
	if machine.Everything() {
		runs = 500
	}
	for seed := range runs {
		ctx, end := context.WithCancel(t.Context())
		if seed%4 == 3 {
			time.AfterFunc(time.Duration(5+7*(seed%60))*time.Millisecond, end)
		}
		d, _ := p.try(ctx, t, python, "-c", program, "150", fmt.Sprint(seed))
		end()
		if len(p.changes(t, d)) > 0 {
			changed++
		}
		if now := everything(p.ws); now != before {
			t.Fatalf("seed %d: the files changed:\n%s\nwere\n%s", seed, now, before)
		}
		if err := d.Drop(); err != nil {
			t.Errorf("seed %d: drop: %v", seed, err)
		}
	}
	if changed < runs/2 {
		t.Errorf("%d of %d drafts have changes: the test shows little", changed, runs)
	}
	select {
	case what := <-reached:
		t.Error(what)
	default:
	}
	if left, _ := os.ReadDir(p.drafts); len(left) > 0 {
		t.Errorf("drafts are left: %v", left)
	}
}

// changing is a program that changes a tree at random, in ways that a draft keeps exactly. It says what failed.
const changing = `
import os, random, shutil, sys
r = random.Random(int(sys.argv[1]))
def old():
    all = [os.path.join(d, n) for d, ds, fs in os.walk(".") for n in sorted(ds) + sorted(fs)]
    return r.choice(sorted(all))
def new(): return os.path.join(r.choice(sorted(d for d, _, _ in os.walk("."))), r.choice("pqrst"))
def text(p, mode):
    with open(p, mode) as f: f.write(str(r.random()) * r.randrange(9))
do = [
    lambda: text(new(), "w"), lambda: text(old(), "a"), lambda: text(old(), "w"), lambda: text(old(), "r+"),
    lambda: os.mkdir(new()), lambda: os.makedirs(new() + "/deep/er"), lambda: os.symlink(r.choice(["x", "../a"]), new()),
    lambda: os.unlink(old()), lambda: os.rmdir(old()), lambda: shutil.rmtree(old()), lambda: os.truncate(old(), r.randrange(20)),
    lambda: os.rename(old(), new()), lambda: os.rename(old(), old()), lambda: os.rename(old(), new()),
    lambda: os.chmod(old(), r.choice([0o700, 0o755, 0o750])) if r.random() < .9 else None, lambda: os.utime(old()),
    lambda: shutil.copytree("c", r.choice("pqrst"), symlinks=True), lambda: shutil.move(old(), new()),
]
for i in range(40):
    try: r.choice(do)()
    except OSError as e: print(i, e.errno)
    except shutil.Error: print(i, "shutil")
`

// TestKeptIsNative: a program on a draft, and the draft kept, leave what the program would have left. Two hard links
// of a file become two files.
func TestKeptIsNative(t *testing.T) {
	python := attack.Need(t, "python3")
	for seed := range machine.Times(15, 40) {
		p := newPlace(t)
		native(t, p.ws, "sh", "-c", aTree)
		if err := os.Remove(filepath.Join(p.ws, "second")); err != nil {
			t.Fatal(err)
		}
		copied := p.ws + "-native"
		native(t, filepath.Dir(p.ws), "cp", "-a", p.ws, copied)
		cmd := osexec.Command(python, "-c", changing, fmt.Sprint(seed))
		cmd.Dir = copied
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
		d, o := p.try(t.Context(), t, python, "-c", changing, fmt.Sprint(seed))
		if got := o.Output.Text(); got != string(out) {
			t.Errorf("seed %d: on a draft the program says\n%s\nelse\n%s", seed, got, out)
		}
		if left := p.keep(t, d, p.changes(t, d)); len(left) > 0 {
			t.Errorf("seed %d: not kept: %+v", seed, left)
		}
		if got, want := kept(t, p.ws), kept(t, copied); got != want {
			t.Errorf("seed %d: kept\n%s\nwant\n%s", seed, got, want)
		}
		if again := p.changes(t, d); len(again) > 0 {
			t.Errorf("seed %d: kept changes are still in the draft: %+v", seed, again)
		}
	}
}

// TestSomebodyElsesChange: what was changed meanwhile is left alone, is named, and stays in the draft.
func TestSomebodyElsesChange(t *testing.T) {
	p := newPlace(t)
	native(t, p.ws, "sh", "-c", aTree)
	const command = `echo mine >>a/1; echo mine >a/2; rm a/3 b/1; echo mine >new; rm -r c/e; mkdir dir; chmod 700 b/2; ln -sf x link`
	d, o := p.try(t.Context(), t, "sh", "-c", command)
	if o.Failed() {
		t.Fatalf("%+v", o)
	}
	native(t, p.ws, "sh", "-c", `echo theirs >>a/1; cp -p a/2 x; echo theirs >a/2; touch -r x a/2; rm x
		echo theirs >>a/3; echo theirs >new; echo theirs >c/e/f/9; mkdir dir; chmod 711 b/2; ln -sf y link`)
	theirs := kept(t, p.ws)
	var names []string
	for _, l := range p.keep(t, d, p.changes(t, d)) {
		if l.Why == "" {
			t.Errorf("%s: no reason", l.Path)
		}
		names = append(names, strings.TrimPrefix(l.Path, p.ws+"/"))
	}
	for _, want := range []string{"a/1", "a/2", "a/3", "new", "c/e", "c/e/f", "dir", "b/2", "link"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("%s is not among what was left alone: %q", want, names)
		}
	}
	now := kept(t, p.ws)
	for line := range strings.Lines(theirs) {
		if name, _, _ := strings.Cut(line, " "); !strings.Contains(now, line) && name != "" && name != "/b" && name != "/b/1" && !strings.HasPrefix(name, "/c/e/") {
			t.Errorf("%q is no longer there", line)
		}
	}
	for _, name := range []string{"/c/e/f/9 "} {
		if !strings.Contains(now, name) {
			t.Errorf("%s was removed", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(p.ws, "b/1")); err == nil {
		t.Error("b/1, which nobody else changed, was not removed")
	}
}

// TestTheirEdits: of what somebody else changes at random after the command has ended, a keep overwrites nothing.
func TestTheirEdits(t *testing.T) {
	python := attack.Need(t, "python3")
	const edits = `
import os, random, sys
r = random.Random(int(sys.argv[1])); done = []
while len(done) < 10:
    p = os.path.join(r.choice(sys.argv[2:]), "") if r.random() < .2 else r.choice(sys.argv[2:])
    if p.endswith("/"): p += r.choice("pqrst123")
    try:
        how = r.randrange(4)
        if os.path.islink(p): continue
        if how == 0:
            os.unlink(p)
        elif how == 1:
            os.chmod(p, 0o711 ^ os.stat(p).st_mode & 0o700)
        else:
            with open(p, "w") as f: f.write("theirs %d" % len(done))
    except OSError: continue
    done.append(p)
`
	edited := 0
	for seed := range machine.Times(3, 15) {
		p := newPlace(t)
		native(t, p.ws, "sh", "-c", aTree)
		d, _ := p.try(t.Context(), t, python, "-c", changing, fmt.Sprint(seed))
		list := p.changes(t, d)
		args := []string{python, "-c", edits, fmt.Sprint(seed)}
		for _, c := range list {
			args = append(args, c.Path)
		}
		for _, n := range []string{"a", "a/1", "b", "b/2", "c/d", "c/e/f", "long"} {
			args = append(args, filepath.Join(p.ws, n))
		}
		before := entries(t, p.ws)
		native(t, p.ws, args...)
		theirs := entries(t, p.ws)
		p.keep(t, d, list)
		now := entries(t, p.ws)
		for name := range maps.Keys(theirs) {
			before[name] += "" // what they made, too
		}
		for name, was := range before {
			if theirs[name] == was {
				continue
			}
			if edited++; now[name] != theirs[name] {
				t.Errorf("seed %d: %s is %.80q; somebody else had left %.80q", seed, name, now[name], theirs[name])
			}
		}
	}
	t.Logf("%d edits", edited)
}

// entries is kept, by the path of each entry.
func entries(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(kept(t, dir)) {
		name, state, _ := strings.Cut(line, " ")
		out[name] = state
	}
	return out
}

// TestOddNamesInTheRecord: a draft that was opened again knows the version of each file, whatever its name.
func TestOddNamesInTheRecord(t *testing.T) {
	p := newPlace(t)
	names := []string{"\xff\xfe", "a\"b\\c\n", "\u2028%41", "ä"}
	for _, n := range names {
		if err := errors.Join(os.WriteFile(filepath.Join(p.ws, n), []byte("old"), 0o644), os.Symlink(n, filepath.Join(p.ws, "to"+n))); err != nil {
			t.Fatal(err)
		}
	}
	made, _ := p.try(t.Context(), t, "sh", "-c", "for f in *; do [ -L \"$f\" ] || echo mine >>\"$f\"; done; for l in to*; do ln -sfn x \"$l\"; done; chmod 0 *")
	p.changes(t, made)
	if err := made.Save(); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := errors.Join(os.WriteFile(filepath.Join(p.ws, n), []byte("theirs"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := draft.Open(p.drafts, made.ID())
	if err != nil {
		t.Fatal(err)
	}
	if left := p.keep(t, d, p.changes(t, d)); len(left) != len(names) {
		t.Errorf("left alone: %v; want the %d files that somebody else changed", left, len(names))
	}
	for _, n := range names {
		if text, err := os.ReadFile(filepath.Join(p.ws, n)); string(text) != "theirs" {
			t.Errorf("%q holds %q, %v", n, text, err)
		}
		if to, _ := os.Readlink(filepath.Join(p.ws, "to"+n)); to != "x" {
			t.Errorf("the link to %q leads to %q", n, to)
		}
	}
}

// TestKeepsWhatWasShown: what changes on a draft after it was listed is not kept, though it looks alike.
func TestKeepsWhatWasShown(t *testing.T) {
	p := newPlace(t)
	d, _ := p.try(t.Context(), t, "sh", "-c", "echo shown >f; echo other >g; echo y >z; chmod 0 z")
	list := p.changes(t, d)
	upper := filepath.Join(p.drafts, d.ID(), "0/upper")
	info, err := os.Stat(filepath.Join(upper, "f"))
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(upper, "f"), []byte("evil!\n"), 0o644), os.Chtimes(filepath.Join(upper, "f"), info.ModTime(), info.ModTime()))
	}
	if err != nil {
		t.Fatal(err)
	}
	if left := p.keep(t, d, list); len(left) != 1 || filepath.Base(left[0].Path) != "f" {
		t.Errorf("left %v", left)
	}
	for name, want := range map[string]string{"g": "other\n", "z": "y\n"} {
		_ = os.Chmod(filepath.Join(p.ws, name), 0o600)
		if data, err := os.ReadFile(filepath.Join(p.ws, name)); string(data) != want {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	// What a command made of an entry that codeagent had opened counts, not how the entry was before.
	for script, want := range map[string]string{"rm x": "delete", "chmod 755 x": "update -rwxr-xr-x", "rm x; ln -s y x": "add link"} {
		native(t, p.ws, "sh", "-c", "rm -f x; echo x >x; chmod 644 x")
		d, _ := p.try(t.Context(), t, "sh", "-c", "chmod 0 x")
		p.changes(t, d)
		if _, err := p.runner.Run(t.Context(), p.policy, exec.Command{Argv: []string{"sh", "-c", script}, Dir: p.ws, Draft: d}, nil); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range p.changes(t, d) {
			_, mode := c.Mode()
			if got = string(c.Kind); c.Kind == sandbox.Updated {
				got += " " + mode.String()
			} else if c.Type == "link" {
				got += " link"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

// TestSweepLeavesWhatIsUsed: an old draft goes, unless a session works on it.
func TestSweepLeavesWhatIsUsed(t *testing.T) {
	p := newPlace(t)
	old := time.Now().Add(-8 * 24 * time.Hour)
	for _, used := range []bool{true, false} {
		d, _ := p.try(t.Context(), t, "sh", "-c", "echo x >x")
		at, unlock := filepath.Join(p.drafts, d.ID()), func() {}
		if used {
			var err error
			if unlock, err = d.Lock(); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(at, old, old); err != nil {
			t.Fatal(err)
		}
		draft.Sweep(p.drafts)
		if _, err := os.Stat(at); (err == nil) != used {
			t.Errorf("used %v: %v", used, err)
		}
		unlock()
	}
}

// TestNoMarksOnFiles: no command gives a file an attribute that the overlay of a later draft would obey.
func TestNoMarksOnFiles(t *testing.T) {
	python := attack.Need(t, "python3")
	p := newPlace(t)
	native(t, p.ws, "sh", "-c", "echo x >f")
	const script = `
import os
for n in ["user.mine", "user.overlay.whiteout", "user.overlay.metacopy"]:
    try: os.setxattr("f", n, b"y"); print("set")
    except OSError as e: print(e.errno)`
	o, err := p.runner.Run(t.Context(), p.policy, exec.Command{Argv: []string{python, "-c", script}, Dir: p.ws}, nil)
	if err != nil || o.Output.Text() != "set\n95\n95\n" {
		t.Errorf("%q, %v", o.Output.Text(), err)
	}
}

// hostile are attempts to leave a draft, to forge or read one, and to carry the content of a file that is closed to
// reading out through a keep. out is outside the workspace, secret is closed, drafts is the folder of drafts.
var hostile = []struct{ what, script string }{
	{"forge a deletion by a device", `os.mknod("a/1x", stat.S_IFCHR, 0)`},
	{"forge a deletion by renameat2", `os.link("a/1", "y"); libc.renameat2(-100, b"y", -100, b"z", 4)`},
	{"forge marks by attributes", `
for n in ["user.overlay.opaque", "user.overlay.whiteout", "user.overlay.redirect", "user.overlay.metacopy", "user.overlay.origin", "trusted.overlay.opaque"]:
    for p in ["a", "b", "a/1", "."]:
        try: os.setxattr(p, n, b"y")
        except OSError: pass`},
	{"redirect a folder to a closed one", `os.mkdir("q"); os.setxattr("q", "user.overlay.redirect", os.path.dirname(secret).encode()); os.setxattr("q", "user.overlay.opaque", b"n")`},
	{"read a draft by its path", `open("got", "w").write(str(os.listdir(drafts)))`},
	{"read a draft by what mountinfo names", `
for word in open("/proc/self/mountinfo").read().replace(",", " ").replace("=", " ").split():
    if "upper" in word: open(word + "/forged", "w").write("x"); open("got", "w").write(str(os.listdir(word)))`},
	{"write into the upper folder", `
for d, ds, fs in os.walk(drafts):
    for n in ds: open(d + "/" + n + "/forged", "w").write("x")`},
	{"mount over the workspace", `libc.mount(b"none", b".", b"tmpfs", 0, 0)`},
	{"unmount the overlay", `libc.umount2(os.getcwd().encode(), 2)`},
	{"write outside", `open(out + "/x", "w").write("x")`},
	{"write outside through a link", `os.symlink(out, "w"); open("w/x", "w").write("x")`},
	{"rename out", `os.rename("a/1", out + "/x")`},
	{"link a file from outside and write it", `os.link(out + "/theirs", "own"); open("own", "w").write("x")`},
	{"write through /proc/self/root", `open("/proc/self/root" + out + "/x", "w").write("x")`},
	{"write through /proc/1/root", `open("/proc/1/root" + os.getcwd() + "/a/1", "w").write("x")`},
	{"write through an open folder", `f = os.open("..", os.O_RDONLY); os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=f))`},
	{"a nameless file, linked outside", `f = os.open(".", os.O_TMPFILE | os.O_RDWR); libc.linkat(-100, b"/proc/self/fd/%d" % f, -100, (out + "/x").encode(), 0x400)`},
	{"map a file and write it", `
import mmap
f = os.open("a/1", os.O_RDWR); m = mmap.mmap(f, 0); m[0] = 65; m.flush()`},
	{"copy a closed file", `shutil.copyfile(secret, "got")`},
	{"link a closed file", `os.link(secret, "got")`},
	{"lead a link to a closed file", `os.symlink(secret, "got")`},
	{"replace a file by a link to a closed one", `os.unlink("a/1"); os.symlink(secret, "a/1")`},
	{"replace a folder by a link to outside", `shutil.rmtree("a"); os.symlink(out, "a")`},
	{"open by handle", `
class H(ctypes.Structure): _fields_ = [("n", ctypes.c_uint), ("t", ctypes.c_int), ("h", ctypes.c_char * 128)]
h = H(128, 0); m = ctypes.c_int()
libc.name_to_handle_at(-100, b"a/1", ctypes.byref(h), ctypes.byref(m), 0); f = libc.open_by_handle_at(-100, ctypes.byref(h), 2); os.write(f, b"x")`},
	{"clone a closed file", `import fcntl; fcntl.ioctl(os.open("got", os.O_CREAT | os.O_WRONLY), 0x40049409, os.open(secret, os.O_RDONLY))`},
	{"hooks of git", `os.makedirs(".git/hooks"); open(".git/hooks/pre-commit", "w").write("x"); os.chmod(".git/hooks/pre-commit", 0o755)`},
	{"a name that leads up", `open("a/..\nx", "w").write("x"); os.makedirs("...")`},
	{"permissions of another user", `open("s", "w").write("x"); os.chmod("s", 0o6777)`},
	{"a process that stays", `
if os.fork() == 0:
    os.setsid()
    import time; time.sleep(1); open("a/1", "w").write("late"); open(out + "/x", "w").write("late"); os._exit(0)`},
	{"exchange two folders", `libc.renameat2(-100, b"a", -100, b"c", 2)`},
	{"a pipe where a keep reads", `os.unlink("a/1"); os.mkfifo("a/1")`},
	{"namespaces of its own", `
libc.unshare(0x10000000); libc.unshare(0x20000); libc.umount2(os.getcwd().encode(), 2); os.chdir("/"); os.chdir(os.path.dirname(out) + "/ws"); open("a/1", "w").write("mine")`},
	{"splice a closed file", `r, w = os.pipe(); n = os.splice(os.open(secret, os.O_RDONLY), w, 99); os.splice(r, os.open("got", os.O_CREAT | os.O_WRONLY), n)`},
	{"run a closed file", `import subprocess; open("got", "wb").write(subprocess.run(["sh", secret], capture_output=True).stderr + subprocess.run(["cat", secret], capture_output=True).stdout)`},
	{"a closed file through a folder that was open", `f = os.open(os.path.dirname(out), os.O_RDONLY); open("got", "wb").write(os.read(os.open("closed/secret", os.O_RDONLY, dir_fd=f), 99))`},
	{"move a folder over the place of a closed one", `os.rename("c", os.path.dirname(secret))`},
	{"names that no text can hold", `os.mkdir(b"\xff\xfe"); open(b"\xff\xfe/\xed\xa0\x80", "w").write("x"); open(b'"}],"Roots":[{"Path":"', "w").write("x")`},
	{"capabilities on a file", `os.setxattr("a/1", "security.capability", bytes.fromhex("0100000200000400000000000000000000000000"))`},
	{"an open file of the host's folder", `f = os.open("a/2", os.O_PATH); open("/proc/self/fd/%d" % f, "w").write("mine")`},
	{"write through a thread's root", `open("/proc/thread-self/cwd/../away/x", "w").write("x")`},
	{"remove everything", `
for n in os.listdir("."):
    (shutil.rmtree if os.path.isdir(n) and not os.path.islink(n) else os.unlink)(n)`},
}

// TestHostileDrafts: no attempt leaves the draft, and what is kept of it holds nothing that the command could not read.
func TestHostileDrafts(t *testing.T) {
	python := attack.Need(t, "python3")
	p := newPlace(t)
	away := filepath.Join(filepath.Dir(p.ws), "away")
	native(t, filepath.Dir(p.ws), "sh", "-c", "mkdir away closed; echo theirs >away/theirs; echo TOPSECRET >closed/secret")
	secret := filepath.Join(filepath.Dir(p.ws), "closed", "secret")
	p.policy.DenyRead = []string{filepath.Dir(secret), p.drafts}
	head := fmt.Sprintf("import ctypes, os, shutil, stat\nlibc = ctypes.CDLL(None)\nout, secret, drafts = %q, %q, %q\n", away, secret, p.drafts)
	for _, h := range hostile {
		t.Run(h.what, func(t *testing.T) {
			native(t, p.ws, "sh", "-c", "find . -mindepth 1 -delete; "+aTree+"; git init -q -b main; rm -r .git/hooks")
			before := everything(p.ws) + everything(away)
			d, o := p.try(t.Context(), t, python, "-c", head+h.script)
			if now := everything(p.ws) + everything(away); now != before {
				t.Fatalf("the files changed:\n%s\nwere\n%s\n%s", now, before, o.Output.Text())
			}
			list := p.changes(t, d)
			for _, c := range list {
				if !sandbox.Covers(p.ws, c.Path) || c.Path == p.ws {
					t.Errorf("a change outside: %s", c.Path)
				}
			}
			aways := everything(away)
			p.keep(t, d, list)
			if now := everything(away); now != aways {
				t.Errorf("keeping changed files outside:\n%s\nwere\n%s", now, aways)
			}
			after := kept(t, p.ws)
			for _, wrong := range []string{fmt.Sprintf("%x", "TOPSECRET"), "hooks/pre-commit", fmt.Sprintf("%x", "forged"), " u", fmt.Sprintf("%x", "late")} {
				if strings.Contains(after, wrong) {
					t.Errorf("%q was kept:\n%s", wrong, after)
				}
			}
		})
	}
}

// BenchmarkDraft is `true` natively, in the sandbox, and on a draft, which is made for it and dropped; in a folder with
// a few files, and in one with 100,000.
func BenchmarkDraft(b *testing.B) {
	for _, files := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) { benchmarkDraft(b, files) })
	}
}

func benchmarkDraft(b *testing.B, files int) {
	p := newPlace(b)
	for i := range files {
		dir := filepath.Join(p.ws, fmt.Sprint(i/1000))
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("x"), 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("native", func(b *testing.B) {
		for b.Loop() {
			if err := osexec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sandbox", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.runner.Run(b.Context(), p.policy, exec.Command{Argv: []string{"/bin/true"}, Dir: p.ws}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("draft", func(b *testing.B) {
		// The workspace's place in it, which the sandbox made.
		if err := errors.Join(os.RemoveAll(p.policy.Temp), os.Mkdir(p.policy.Temp, 0o755)); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			d, _ := p.try(b.Context(), b, "/bin/true")
			if err := d.Drop(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestTraps: what an overlay and a keep have difficulties with.
func TestTraps(t *testing.T) {
	for _, c := range []struct {
		what, script string
		// left are the parts of what is not kept, "" if all is; want is what a shell then finds.
		left, want string
	}{
		{"a changed file with two names", "echo new >second", "several names", "cat second; cat c/d/1; stat -c %h second"},
		{"a file with two new names", "echo new >x; ln x y; echo newer >>x", "", "cat y; cmp x y"},
		{"a new name of an old file", "ln a/1 y; echo more >>y", "", "cat a/1 y"},
		{"a sparse file", "truncate -s 4G sparse; printf x | dd of=sparse bs=1 seek=2G conv=notrunc 2>/dev/null", "larger than 64 MB", "ls sparse"},
		{"closed files of before", "rm -f a/locked; mv b/locked moved; chmod 600 c/locked", "", "ls a b; stat -c %a moved c/locked"},
		{"times and attributes alone", "touch -d 2001-01-01 a/1 b; setfattr -n user.y -v z a/2 2>/dev/null; true", "", "stat -c %y a/1 | cut -c1-4 | grep -v 2001"},
		{"a folder for everybody", "umask 0; mkdir -m 777 open; mkdir -m 700 shut; echo x >open/x; chmod 666 open/x", "", "stat -c %a open shut open/x"},
		{"a closed file and a closed folder", "echo x >x; chmod 0 x; mkdir d; echo y >d/y; chmod 0 d; chmod 500 empty", "", "stat -c %a x d empty"},
		{"a folder in place of a file, and a file in place of a folder", "rm a/1; mkdir a/1; echo x >a/1/x; rm -r c; echo file >c", "", "cat a/1/x c"},
		{"a folder emptied and filled", "rm -r a; mkdir a; echo x >a/x", "", "ls a"},
		{"a folder with long contents, renamed", "mv c moved; mv moved/e/f moved/e/g", "", "find moved | sort; ls c"},
		{"names with odd letters", `mkdir 'a:b,c\d'; echo x >'a:b,c\d/e
f'; rm -r b; touch ' '`, "", `ls -b 'a:b,c\d'; ls -bd ' '`},
		{"a socket and a pipe", "mkfifo p; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'", "a pipe, a socket or a device", "ls p s"},
	} {
		t.Run(c.what, func(t *testing.T) {
			p := newPlace(t)
			native(t, p.ws, "sh", "-c", aTree)
			copied := p.ws + "-native"
			native(t, filepath.Dir(p.ws), "cp", "-a", p.ws, copied)
			for _, dir := range []string{p.ws, copied} {
				native(t, dir, "sh", "-c", "for d in a b c; do echo $d >$d/locked; chmod 0 $d/locked; done")
			}
			d, o := p.try(t.Context(), t, "sh", "-c", c.script)
			if o.Failed() {
				t.Fatalf("status %d: %s", o.Status.Exit, o.Output.Text())
			}
			left := fmt.Sprint(p.keep(t, d, p.changes(t, d)))
			if c.left == "" && left != "[]" || !strings.Contains(left, c.left) {
				t.Errorf("not kept: %s; want %q", left, c.left)
			}
			find := func(in string) string {
				cmd := osexec.Command("sh", "-c", c.want)
				cmd.Dir = in
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			if c.left != "" {
				return
			}
			native(t, copied, "sh", "-c", c.script)
			got, want := find(p.ws), find(copied)
			if times := c.what == "times and attributes alone"; !times && got != want || times && got == "" {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestTooLarge: a file that cannot be kept is not copied either. It can be read, replaced and deleted, and the command's own
// large files can be changed.
func TestTooLarge(t *testing.T) {
	p := newPlace(t)
	native(t, p.ws, "sh", "-c", "mkdir d; truncate -s 65M d/big d/old d/gone")
	d, o := p.try(t.Context(), t, "sh", "-c", `
no() { "$@" 2>>errors && echo "$*: done"; }
no sh -c 'echo x >>d/big'; no chmod 600 d/big; no touch d/big; no truncate -s 1 d/big; no ln d/big l; no mv d other
head -c 1 d/big | wc -c; : >d/old; rm d/gone; truncate -s 65M own; echo x >>own; chmod 600 own; wc -l <own; grep -c 'File too large' errors; rm errors`)
	if text := o.Output.Text(); o.Failed() || text != "1\n1\n6\n" {
		t.Errorf("status %d, %q", o.Status.Exit, text)
	}
	got := map[string]string{}
	for _, c := range p.changes(t, d) {
		got[string(c.Kind)+" "+filepath.Base(c.Path)] = c.Why
	}
	want := map[string]string{"delete gone": "", "update old": "", "update big": "it is larger than 64 MB: the command could not change it", "add own": "it is larger than 64 MB"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if left := p.keep(t, d, p.changes(t, d)); len(left) != 2 {
		t.Errorf("not kept: %v", left)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(p.ws, "d/big"), &st); err != nil || st.Size != 65<<20 || st.Blocks != 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestTemp: what a command leaves in the session's temporary folder goes with its draft, by each of the folder's names.
func TestTemp(t *testing.T) {
	p := newPlace(t)
	was := filepath.Join(p.policy.Temp, "was")
	if err := os.WriteFile(was, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `cat /tmp/was /var/tmp/was $TMPDIR/was && echo 1 >/tmp/one && cat /var/tmp/one $TMPDIR/one && echo 2 >$TMPDIR/was && rm /tmp/one && mkdir /tmp/d && mv /tmp/d /var/tmp/e && echo 3 >$TMPDIR/e/three && cat /tmp/e/three >out`
	d, o := p.try(t.Context(), t, "/bin/sh", "-ec", script)
	if got := o.Output.Text(); o.Failed() || got != "beforebeforebefore1\n1\n" {
		t.Fatalf("%+v %q", o.Status, got)
	}
	if data, err := os.ReadFile(was); err != nil || string(data) != "before" {
		t.Errorf("%q, %v", data, err)
	}
	if names, err := os.ReadDir(p.policy.Temp); err != nil || len(names) > 2 { // and the place of the workspace
		t.Errorf("left %v, %v", names, err)
	}
	if list := p.changes(t, d); len(list) != 1 {
		t.Errorf("changes %v", list)
	}
}

// TestEmptyTemp: an empty temporary folder has no overlay on a draft. It has one as soon as something is in it, and the
// draft's own files stay.
func TestEmptyTemp(t *testing.T) {
	p := newPlace(t)
	d, o := p.try(t.Context(), t, "sh", "-c", `echo own >"$TMPDIR/own"; ln "$TMPDIR/own" "$TMPDIR/two"`)
	if o.Failed() {
		t.Fatalf("%+v %q", o.Status, o.Output.Text())
	}
	if _, err := os.Lstat(filepath.Join(p.policy.Temp, "own")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the draft's file is in the session's folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(p.policy.Temp, "theirs"), []byte("theirs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		script := `cd "$TMPDIR"; cat own two theirs; rm theirs; ls theirs 2>/dev/null; echo theirs >theirs; : >new`
		o, err := p.runner.Run(t.Context(), p.policy, exec.Command{Argv: []string{"sh", "-c", script}, Dir: p.ws, Draft: d}, nil)
		if got := o.Output.Text(); err != nil || got != "own\nown\ntheirs\n" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if names, err := filepath.Glob(filepath.Join(p.policy.Temp, "[a-z]*")); err != nil || !slices.Contains(names, filepath.Join(p.policy.Temp, "theirs")) || slices.Contains(names, filepath.Join(p.policy.Temp, "new")) {
		t.Errorf("%q, %v", names, err)
	}
}
