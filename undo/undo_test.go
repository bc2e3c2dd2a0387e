package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bench is a workspace, a store, and an agent that changes the one and tells the
// other, as the broker would.
type bench struct {
	t     *testing.T
	ws    string
	store *Store
	ses   *Session
	call  *Call
}

const sessionID = "0123456789abcdef"

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ws: filepath.Join(dir, "ws"), store: New(filepath.Join(dir, "undo"))}
	for _, d := range []string{b.ws, b.store.dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	ses, err := b.store.Open(sessionID)
	if err != nil {
		b.t.Fatal(err)
	}
	b.ses = ses
	b.t.Cleanup(func() { ses.Close() })
}

// turn is one turn with one call.
func (b *bench) turn(do func()) {
	b.t.Helper()
	b.ses.Begin("do it")
	b.during(do)
	b.ses.End()
}

// during is one call.
func (b *bench) during(do func()) {
	b.call = b.ses.Call()
	do()
	b.call.Settle()
}

func (b *bench) at(name string) string { return filepath.Join(b.ws, name) }

// tell tells of an entry as the broker does: by its open folder.
func (b *bench) tell(name string) {
	b.t.Helper()
	dir, err := os.Open(filepath.Dir(b.at(name)))
	if err != nil {
		b.t.Fatal(err)
	}
	defer dir.Close()
	b.call.BeforeChange(int(dir.Fd()), filepath.Base(name), b.at(name))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// The agent's hands.
func (b *bench) write(name, content string) {
	b.t.Helper()
	b.tell(name)
	b.must(os.WriteFile(b.at(name), []byte(content), 0o644))
}
func (b *bench) remove(name string) { b.tell(name); b.must(os.Remove(b.at(name))) }
func (b *bench) mkdir(name string)  { b.tell(name); b.must(os.Mkdir(b.at(name), 0o755)) }
func (b *bench) link(target, name string) {
	b.tell(name)
	b.must(os.Symlink(target, b.at(name)))
}
func (b *bench) rename(from, to string) {
	b.tell(from)
	b.tell(to)
	b.must(os.Rename(b.at(from), b.at(to)))
}
func (b *bench) chmod(name string, mode fs.FileMode) {
	if info, err := os.Lstat(b.at(name)); err == nil && info.IsDir() {
		dir, err := os.Open(b.at(name))
		b.must(err)
		b.call.BeforeChange(int(dir.Fd()), ".", b.at(name))
		dir.Close()
	} else {
		b.tell(name)
	}
	b.must(os.Chmod(b.at(name), mode))
}

// user is what the user does: nobody is told.
func (b *bench) user(name, content string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.at(name)), 0o755))
	b.must(os.WriteFile(b.at(name), []byte(content), 0o644))
}

func all(string) string { return "" }

func (b *bench) plan() *Plan {
	b.t.Helper()
	p, err := b.ses.Plan(all)
	b.must(err)
	return p
}

// undo undoes the last turn and fails where something could not be done.
func (b *bench) undo() *Plan {
	b.t.Helper()
	p := b.plan()
	r, err := b.ses.Apply(context.Background(), p, hands{})
	b.must(err)
	for _, f := range r.Failed {
		b.t.Errorf("%s: %s", f.Path, f.Why)
	}
	return p
}

// hands are Files without a sandbox.
type hands struct{}

func (hands) Put(path string, content []byte, mode fs.FileMode, now Expect) error {
	info, err := os.Lstat(path)
	if now.Absent != errors.Is(err, fs.ErrNotExist) {
		return errors.New("not what was expected")
	}
	if err == nil && info.Sys().(*syscall.Stat_t).Ino != now.Ino {
		return errors.New("another file")
	}
	if now.InPlace {
		return os.WriteFile(path, content, 0)
	}
	os.MkdirAll(filepath.Dir(path), 0o777)
	os.Remove(path)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
func (hands) Link(path, target string) error                { return os.Symlink(target, path) }
func (hands) Mkdir(path string, mode fs.FileMode) error     { return os.MkdirAll(path, mode) }
func (hands) Chmod(p string, m fs.FileMode, _ Expect) error { return os.Chmod(p, m) }
func (hands) Move(from, to string) error                    { return os.Rename(from, to) }
func (hands) Remove(path string, _ Expect) error            { return os.Remove(path) }

// tree is all of a folder: type, permissions and content of each entry.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		is := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			is += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			is = "link to " + to
		}
		out[strings.TrimPrefix(p, root+"/")] = is
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same says how a folder is not what it was.
func same(t *testing.T, was map[string]string, root string) {
	t.Helper()
	now := tree(t, root)
	for name, is := range was {
		if now[name] != is {
			t.Errorf("%q is %.80q, was %.80q", name, now[name], is)
		}
	}
	for name, is := range now {
		if _, ok := was[name]; !ok {
			t.Errorf("%q is new: %.80q", name, is)
		}
	}
}

// TestUndo: whatever one turn does to files, undoing it puts all of it back.
func TestUndo(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", smallFile/8)
	for name, do := range map[string]func(b *bench){
		"change":                func(b *bench) { b.write("a", "new") },
		"change a large one":    func(b *bench) { b.write("big", "small") },
		"change twice":          func(b *bench) { b.write("a", "new"); b.write("a", "newer") },
		"make":                  func(b *bench) { b.write("new", "new") },
		"make with odd names":   func(b *bench) { b.write("a b\nc", "new"); b.write("\xff\xfe", "x"); b.write("d/\xf0", "x") },
		"change with odd names": func(b *bench) { b.write("odd \xff\n name", "new") },
		"remove":                func(b *bench) { b.remove("a") },
		"remove a link":         func(b *bench) { b.remove("l") },
		"turn a link":           func(b *bench) { b.remove("l"); b.link("elsewhere", "l") },
		"file for link":         func(b *bench) { b.remove("l"); b.write("l", "file") },
		"link for file":         func(b *bench) { b.remove("a"); b.link("d", "a") },
		"folder for file":       func(b *bench) { b.remove("a"); b.mkdir("a"); b.write("a/x", "x") },
		"file for folder":       func(b *bench) { b.remove("empty"); b.write("empty", "file") },
		"mode":                  func(b *bench) { b.chmod("a", 0o755) },
		"mode and content":      func(b *bench) { b.write("a", "new"); b.chmod("a", 0o600) },
		"mode of a folder":      func(b *bench) { b.write("d/x", "new"); b.chmod("d", 0o500) },
		"rename":                func(b *bench) { b.rename("a", "moved") },
		"rename over":           func(b *bench) { b.write("tmp", "new"); b.rename("tmp", "a") },
		"move a folder":         func(b *bench) { b.rename("d", "moved") },
		"move a folder, change": func(b *bench) { b.rename("d", "moved"); b.must(os.WriteFile(b.at("moved/x"), []byte("y"), 0o644)) },
		"move a folder over one": func(b *bench) {
			b.tell("d")
			b.tell("empty")
			b.must(syscall.Rename(b.at("d"), b.at("empty")))
			b.must(os.WriteFile(b.at("empty/x"), []byte("y"), 0o644))
		},
		"a folder made anew": func(b *bench) {
			b.remove("d/sub/y")
			b.remove("d/sub")
			b.mkdir("d/sub")
			b.must(os.WriteFile(b.at("d/sub/z"), []byte("z"), 0o644))
		},
		"two folders exchanged": func(b *bench) {
			b.tell("d")
			b.tell("empty")
			b.must(os.Rename(b.at("d"), b.at("t")))
			b.must(os.Rename(b.at("empty"), b.at("d")))
			b.must(os.Rename(b.at("t"), b.at("empty")))
			b.must(os.WriteFile(b.at("d/new"), []byte("x"), 0o644))
			b.must(os.WriteFile(b.at("empty/x"), []byte("y"), 0o644))
		},
		"move a folder, and out": func(b *bench) { b.rename("d", "moved"); b.must(os.Rename(b.at("moved/sub"), b.at("moved/other"))) },
		"make a tree": func(b *bench) {
			b.mkdir("t")
			b.must(os.MkdirAll(b.at("t/u/v"), 0o755))
			b.must(os.WriteFile(b.at("t/u/v/w"), []byte("w"), 0o600))
		},
		"make a tree, move it": func(b *bench) {
			b.mkdir("t")
			b.must(os.MkdirAll(b.at("t/u/v"), 0o755))
			b.rename("t", "t2")
		},
		"make a fifo":         func(b *bench) { b.tell("pipe"); b.must(syscall.Mkfifo(b.at("pipe"), 0o600)) },
		"a read-only file":    func(b *bench) { b.chmod("d/ro", 0o600); b.write("d/ro", "new"); b.chmod("d/ro", 0o444) },
		"empty folder":        func(b *bench) { b.remove("empty") },
		"told and not done":   func(b *bench) { b.tell("a"); b.tell("never") },
		"remove a whole tree": func(b *bench) { b.tell("d"); b.must(os.RemoveAll(b.at("d"))) },
		"through another name": func(b *bench) {
			b.tell("a")
			b.tell("hard")
			b.must(os.Link(b.at("a"), b.at("hard")))
			b.must(os.WriteFile(b.at("hard"), []byte("new"), 0o644))
		},
		"a file with two names": func(b *bench) { b.write("two", "new") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old a\r\n")
			b.user("big", big)
			b.user("d/x", "old x")
			b.user("d/sub/y", "old y")
			b.user("odd \xff\n name", "old")
			b.user("two", "old two")
			b.must(os.Link(b.at("two"), b.at("names")))
			b.must(os.Symlink("a", b.at("l")))
			b.must(os.Mkdir(b.at("empty"), 0o751))
			b.user("d/ro", "old ro")
			b.must(os.Chmod(b.at("d/ro"), 0o444))
			was := tree(t, b.ws)
			b.turn(func() { do(b) })
			if name == "told and not done" {
				if _, err := b.ses.Plan(all); !errors.Is(err, ErrNothing) {
					t.Fatalf("nothing was changed: %v", err)
				}
				return
			}
			// Another process undoes: all that is known stands on the disk.
			b.ses.Close()
			b.open()
			p := b.undo()
			if len(p.Conflicts)+len(p.NotKept) > 0 || p.Cut {
				t.Errorf("conflicts %v, not kept %v, cut %v", p.Conflicts, p.NotKept, p.Cut)
			}
			same(t, was, b.ws)
			if _, err := b.ses.Plan(all); !errors.Is(err, ErrNothing) {
				t.Errorf("it can be undone twice: %v", err)
			}
		})
	}
}

// TestTurnByTurn: undoing again goes back one more turn.
func TestTurnByTurn(t *testing.T) {
	b := newBench(t)
	b.user("a", "0")
	var was []map[string]string
	for _, step := range []func(){
		func() { b.write("a", "1"); b.mkdir("d"); b.write("d/new", "1") },
		func() { b.write("a", "2"); b.write("d/new", "2") },
		func() { b.remove("a"); b.rename("d", "e") },
	} {
		was = append(was, tree(t, b.ws))
		b.turn(step)
	}
	b.turn(func() {}) // a turn without changes is passed over
	for _, w := range slices.Backward(was) {
		if p := b.undo(); len(p.Conflicts) > 0 {
			t.Errorf("conflicts: %v", p.Conflicts)
		}
		same(t, w, b.ws)
	}
}

// TestUsersEdits: what the user changed after the agent, or between its calls, is
// shown and left alone.
func TestUsersEdits(t *testing.T) {
	b := newBench(t)
	for _, n := range []string{"later", "between", "before", "mode", "content", "back"} {
		b.user(n, "old")
	}
	b.ses.Begin("")
	b.user("before", "user's")
	b.during(func() {
		for _, n := range []string{"later", "between", "before", "back"} {
			b.write(n, "agent's")
		}
		b.chmod("mode", 0o600)
		b.write("content", "agent's")
		b.mkdir("d")
		b.write("d/x", "agent's")
		b.write("gone", "agent's")
		b.write("made", "agent's")
	})
	b.user("between", "agent's and user's")
	b.during(func() { b.write("between", "agent's again") })
	b.ses.End()
	b.user("later", "user's")
	b.user("mode", "user's")
	b.must(os.Chmod(b.at("content"), 0o600))
	b.user("d/mine", "user's")
	b.user("made", "user's")
	b.user("back", "user's")
	b.user("back", "agent's") // the same bytes again are the agent's
	b.must(os.Remove(b.at("gone")))
	p := b.undo()
	var conflicts []string
	for _, c := range p.Conflicts {
		conflicts = append(conflicts, strings.TrimPrefix(c.Path, b.ws+"/"))
	}
	if want := []string{"between", "d", "later", "made"}; !slices.Equal(conflicts, want) {
		t.Errorf("conflicts %v, want %v", conflicts, want)
	}
	for name, want := range map[string]string{
		"later": "-rw-r--r-- user's", "between": "-rw-r--r-- agent's again", "before": "-rw-r--r-- user's",
		"mode": "-rw-r--r-- user's", "content": "-rw------- old", "d/mine": "-rw-r--r-- user's", "d/x": "", "gone": "",
		"made": "-rw-r--r-- user's", "back": "-rw-r--r-- old",
	} {
		if is := tree(t, b.ws)[name]; is != want {
			t.Errorf("%s is %q, want %q", name, is, want)
		}
	}
}

// TestNotKept: what was not kept is listed with the reason, if it was changed.
func TestNotKept(t *testing.T) {
	b := newBench(t)
	b.store.bounds = bounds{file: 1000, turn: 2500, session: 1 << 20, entries: 8}
	b.user("large", strings.Repeat("x", 1001))
	b.user("large and left", strings.Repeat("x", 1001))
	b.must(os.Chmod(b.at("large and left"), 0o600))
	for _, n := range []string{"1", "2", "3"} {
		b.user(n, strings.Repeat("x", 1000))
	}
	b.must(syscall.Mkfifo(b.at("pipe"), 0o600))
	b.turn(func() {
		b.write("large", "new")
		b.chmod("large and left", 0o644)
		b.write("1", "new")
		b.write("2", "new")
		b.write("3", "new")
		b.remove("pipe")
		for _, n := range []string{"n1", "n2", "n3"} {
			b.write(n, "new")
		}
	})
	p := b.undo()
	var lost []string
	for _, l := range p.NotKept {
		lost = append(lost, strings.TrimPrefix(l.Path, b.ws+"/")+": "+l.Why)
	}
	want := []string{"3: the turn changed over 2500 bytes", "large: over 1000 bytes", "pipe: it is neither a file nor a link nor a folder"}
	if !slices.Equal(lost, want) {
		t.Errorf("not kept:\n%s\nwant:\n%s", strings.Join(lost, "\n"), strings.Join(want, "\n"))
	}
	if p.More != "the turn changed over 8 files" {
		t.Errorf("more: %q", p.More)
	}
	if is := tree(t, b.ws)["large and left"]; !strings.HasPrefix(is, "-rw-------") {
		t.Errorf("the mode of a file that was too large to keep was not put back: %.20q", is)
	}
}

// TestLargeMoved: what is too large to be kept and was moved is moved back, with the
// folder that it lies in.
func TestLargeMoved(t *testing.T) {
	b := newBench(t)
	b.store.bounds.file = 1000
	large := strings.Repeat("x", 1001)
	b.user("large", large)
	b.user("d/sub/large", large+"y")
	b.user("d/small", "small")
	was := tree(t, b.ws)
	b.turn(func() {
		b.rename("large", "other")
		b.chmod("other", 0o755)
		b.rename("d", "e")
	})
	if p := b.undo(); len(p.Conflicts)+len(p.NotKept) > 0 {
		t.Errorf("conflicts %v, not kept %v", p.Conflicts, p.NotKept)
	}
	same(t, was, b.ws)
}

// TestNothingIsLost: where a turn destroyed what is not kept, nothing that it made is
// taken away: it may be all that is left of it.
func TestNothingIsLost(t *testing.T) {
	b := newBench(t)
	b.store.bounds.file = 1000
	b.user("large", strings.Repeat("x", 1001))
	b.user("a", "old")
	b.turn(func() {
		b.mkdir("d")
		b.write("d/packed", "1001 times x")
		b.remove("large")
		b.write("a", "new")
	})
	p := b.undo()
	is := tree(t, b.ws)
	if is["d/packed"] != "-rw-r--r-- 1001 times x" || is["a"] != "-rw-r--r-- old" || len(p.NotKept) != 1 || len(p.Conflicts) != 2 {
		t.Errorf("%v\nconflicts %v, not kept %v", is, p.Conflicts, p.NotKept)
	}
}

// TestStalePlan: what was shown is not done any more after another turn.
func TestStalePlan(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.turn(func() { b.write("a", "new") })
	p := b.plan()
	b.ses.Begin("")
	if _, err := b.ses.Apply(context.Background(), p, hands{}); !errors.Is(err, ErrBusy) {
		t.Errorf("in the middle of a turn: %v", err)
	}
	b.during(func() { b.write("a", "newer") })
	b.ses.End()
	if _, err := b.ses.Apply(context.Background(), p, hands{}); !errors.Is(err, errStale) {
		t.Errorf("after another turn: %v", err)
	}
}

// TestBounds: a file of 65 MB is not kept, one of 64 MB is.
func TestBounds(t *testing.T) {
	b := newBench(t)
	for name, size := range map[string]int64{"65": 65 << 20, "64": 64 << 20} {
		b.user(name, "")
		b.must(os.Truncate(b.at(name), size)) // all of it a hole
	}
	b.turn(func() { b.write("65", "new"); b.write("64", "new") })
	p := b.undo()
	if len(p.NotKept) != 1 || p.NotKept[0] != (Left{b.at("65"), "over 64 MB"}) {
		t.Errorf("not kept: %v", p.NotKept)
	}
	if is, err := os.Stat(b.at("64")); err != nil || is.Size() != 64<<20 {
		t.Errorf("%d bytes, %v", is.Size(), err)
	}
}

// TestNothingIsFollowed: keeping opens no FIFO, which would wait, and reads nothing
// through a link, whatever stands under a name.
func TestNothingIsFollowed(t *testing.T) {
	b := newBench(t)
	secret := filepath.Join(filepath.Dir(b.ws), "secret")
	b.must(os.WriteFile(secret, []byte("secret content"), 0o600))
	b.must(os.Symlink(secret, b.at("link")))
	b.must(os.Symlink(filepath.Dir(b.ws), b.at("way")))
	b.must(syscall.Mkfifo(b.at("pipe"), 0o600))
	dir, err := os.Open(b.ws)
	b.must(err)
	defer dir.Close()
	for name, was := range map[string]string{"link": "a", "pipe": "a"} {
		// What was a file when it was looked at is something else when it is opened.
		b.user(was, "x")
		s, err := look(int(dir.Fd()), was)
		b.must(err)
		if f, err := openFile(int(dir.Fd()), name, s); err == nil {
			f.Close()
			t.Errorf("a %s was opened as a file", name)
		}
	}
	var w walker
	defer w.close()
	if _, err := w.folder(b.at("way")); err == nil {
		t.Error("a link on the way was followed")
	}
	if s, err := w.lookInto(b.at("way/secret"), maxFile); err != nil || s.Kind != absent {
		t.Errorf("behind a link stands %v, %v", s.Kind, err)
	}
	b.turn(func() {
		b.remove("link")
		b.remove("pipe")
		b.remove("way")
	})
	b.must(filepath.WalkDir(b.store.dir, func(p string, d fs.DirEntry, err error) error {
		if data, _ := os.ReadFile(p); strings.Contains(string(data), "secret content") {
			t.Errorf("%s holds what a link led to", p)
		}
		return err
	}))
}

// TestCutOff: a turn that codeagent did not live to end can be undone, and what
// was changed after that is left alone.
func TestCutOff(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("b", "old")
	b.user("gone", "old")
	b.ses.Begin("")
	b.call = b.ses.Call()
	b.write("a", "new")
	b.write("b", "new")
	b.remove("gone")
	b.write("made", "new")
	log := filepath.Join(b.ses.folder(1), logName)
	data, err := os.ReadFile(log)
	b.must(err)
	b.must(b.ses.Close()) // as the kernel does for the dead
	// A torn line at the end, and a log that was last written a while ago.
	b.must(os.WriteFile(log, append(data, `{"kind":"bef`...), 0o600))
	b.open()
	p := b.plan()
	if !p.Cut || len(p.Steps) != 4 || len(p.Conflicts) != 0 {
		t.Errorf("cut %v, steps %v, conflicts %v", p.Cut, p.Steps, p.Conflicts)
	}
	long := time.Now().Add(-time.Hour)
	b.must(os.Chtimes(log, long, long))
	if p = b.plan(); len(p.Conflicts) != 3 || len(p.Steps) != 1 || p.Steps[0].Do != Recreate {
		t.Errorf("what may be somebody else's work: steps %v, conflicts %v", p.Steps, p.Conflicts)
	}
}
