package undo

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/exec/worker"
)

// has reports if a file differs from what it should be.
func (b *bench) has(name, want string) {
	b.t.Helper()
	if is, err := os.ReadFile(b.at(name)); err != nil || string(is) != want {
		b.t.Errorf("%s is %q, %v; want %q", name, is, err, want)
	}
}

// names returns paths relative to the workspace.
func (b *bench) names(list []Skip) string {
	var out []string
	for _, l := range list {
		out = append(out, strings.TrimPrefix(l.Path, b.ws+"/"))
	}
	return strings.Join(out, " ")
}

// TestLeftStaysUndoable: what was left alone is undone once it is again in the state that the
// agent left, alone or together with what was restored before.
func TestLeftStaysUndoable(t *testing.T) {
	b := newBench(t)
	b.user("a", "precious")
	b.user("b", "old")
	b.turn(func() { b.write("a", "agent's") })
	b.user("a", "agent's and user's")
	if p := b.undo(); b.names(p.Conflicts) != "a" || len(p.Steps) != 0 {
		t.Errorf("conflicts %v, steps %v", p.Conflicts, p.Steps)
	}
	b.user("a", "agent's")
	b.undo()
	b.has("a", "precious")
	if _, err := b.ses.Plan(all); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing is left: %v", err)
	}

	b.turn(func() { b.write("a", "agent's"); b.write("b", "agent's"); b.write("made", "agent's") })
	b.user("a", "agent's and user's")
	b.undo()
	b.has("b", "old")
	b.user("b", "the user's next")
	b.user("made", "agent's")
	b.must(b.ses.Close()) // another process knows this too
	b.open()
	if p := b.plan(); b.names(p.Conflicts) != "a" || len(p.Steps) != 0 {
		t.Errorf("what was put back is not the turn's any more: conflicts %v, steps %v", p.Conflicts, p.Steps)
	}
	b.user("a", "agent's")
	b.undo()
	b.has("a", "precious")
	b.has("b", "the user's next")
	b.has("made", "agent's")
}

// TestHalfPutBack: a file's permissions are restored, but not its content, which the user
// changed: that stays undoable.
func TestHalfPutBack(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.turn(func() { b.write("a", "agent's"); b.chmod("a", 0o600) })
	b.must(os.WriteFile(b.at("a"), []byte("user's"), 0))
	b.undo()
	if is := tree(t, b.ws)["a"]; is != "-rw-r--r-- user's" {
		t.Errorf("it is %q", is)
	}
	b.must(os.WriteFile(b.at("a"), []byte("agent's"), 0))
	b.undo()
	b.has("a", "old")
}

// clumsy is a Files that fails for one file.
type clumsy struct {
	hands
	name string
}

func (c clumsy) Put(path string, content []byte, mode fs.FileMode, now worker.Expect) (worker.Info, error) {
	if filepath.Base(path) == c.name {
		return worker.Info{}, errors.New("it slips")
	}
	return c.hands.Put(path, content, mode, now)
}

// TestFailedStaysUndoable: a failed step can be tried again.
func TestFailedStaysUndoable(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("b", "old")
	b.turn(func() { b.write("a", "new"); b.write("b", "new") })
	r, err := b.ses.Apply(context.Background(), b.plan(), clumsy{name: "a"})
	if err != nil || b.names(r.Failed) != "a" || len(r.Done) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	b.has("b", "old")
	if p := b.undo(); len(p.Steps) != 1 {
		t.Errorf("steps %v", p.Steps)
	}
	b.has("a", "old")
}

// TestCutOffInParts: after part of a cut-off turn was undone, later changes are not attributed
// to the turn.
func TestCutOffInParts(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("gone", "old")
	b.cutOff(func() {
		b.write("a", "new")
		b.remove("gone")
	}, time.Now().Add(-time.Hour))
	for range 2 {
		if p := b.undo(); b.names(p.Conflicts) != "a" {
			t.Fatalf("conflicts %v, steps %v", p.Conflicts, p.Steps)
		}
	}
	b.has("a", "new")
	b.has("gone", "old")
}

// cutOff runs do in a call that is not over when codeagent is killed; the turn's log was last
// written at that time.
func (b *bench) cutOff(do func(), at time.Time) {
	b.ses.Begin("")
	b.call = b.ses.Call()
	do()
	log := filepath.Join(b.ses.folder(1), logName)
	data, err := os.ReadFile(log)
	b.must(err)
	b.must(b.ses.Close())
	b.must(os.WriteFile(log, data, 0o600))
	b.must(os.Chtimes(log, at, at))
	b.open()
}

// TestCutOffInFolder: what a call put into folders that it made, moved or replaced stays if codeagent was killed
// before it looked there. All that was there before comes back.
func TestCutOffInFolder(t *testing.T) {
	b := newBench(t)
	b.user("old/deep/f", "old")
	b.user("replaced/gone", "old")
	b.user("same/stays", "old")
	was := tree(t, b.ws)
	b.cutOff(func() {
		b.rename("old", "new")
		b.must(os.WriteFile(b.at("new/deep/f"), []byte("new"), 0o644))
		b.must(os.WriteFile(b.at("new/deep/made"), []byte("new"), 0o644))
		b.mkdir("made")
		b.must(os.MkdirAll(b.at("made/in/it"), 0o755))
		b.must(os.Symlink("/", b.at("made/in/root")))
		b.tell("replaced")
		b.must(os.Rename(b.at("replaced"), b.at("made/in/moved")))
		b.must(os.Mkdir(b.at("replaced"), 0o755))
		b.must(os.WriteFile(b.at("replaced/new"), []byte("new"), 0o644))
		b.chmod("same", 0o700)
	}, time.Now().Add(time.Hour)) // all that was done is soon enough
	b.undo()
	is := tree(t, b.ws)
	for name, before := range was {
		if is[name] != before {
			t.Errorf("%s is %q, was %q", name, is[name], before)
		}
	}
	b.has("new/deep/made", "new")
	b.has("replaced/new", "new")
}

// TestCutOffThenFilled: what somebody puts into such a folder later is kept.
func TestCutOffThenFilled(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.cutOff(func() {
		b.remove("a")
		b.mkdir("made")
	}, time.Now().Add(-time.Hour))
	b.must(os.WriteFile(b.at("made/mine"), []byte("mine"), 0o644))
	for range 2 {
		if p := b.undo(); b.names(p.Conflicts) != "made" {
			t.Fatalf("conflicts %v, steps %v", p.Conflicts, p.Steps)
		}
	}
	b.has("made/mine", "mine")
	b.has("a", "old")
}

// TestEarlier: a turn can be skipped. Undoing earlier turns leaves its changes alone, and it
// can be undone afterwards.
func TestEarlier(t *testing.T) {
	b := newBench(t)
	for _, n := range []string{"both", "first", "second", "d/gone"} {
		b.user(n, "0")
	}
	b.turn(func() {
		b.write("both", "1")
		b.write("first", "1")
		b.remove("d/gone")
		b.mkdir("made")
		b.write("made/x", "1")
		b.write("removed", "1")
	})
	b.turn(func() {
		b.write("both", "2")
		b.write("second", "2")
		b.write("d/gone", "2")
		b.write("made/y", "2")
		b.remove("removed")
	})
	was := tree(t, b.ws)
	p, err := b.ses.Earlier(b.plan(), all)
	b.must(err)
	if is := b.names(p.Conflicts); is != "both d/gone made" {
		t.Errorf("conflicts %s", is)
	}
	_, err = b.ses.Apply(context.Background(), p, hands{})
	b.must(err)
	was["first"] = "-rw-r--r-- 0"
	delete(was, "made/x")
	same(t, was, b.ws)
	if _, err := b.ses.Earlier(p, all); !errors.Is(err, ErrNothing) {
		t.Errorf("there is no earlier one: %v", err)
	}
	// Now the later one, and then the rest of the first.
	if p := b.undo(); len(p.Conflicts) > 0 {
		t.Errorf("conflicts %v", p.Conflicts)
	}
	if p := b.undo(); len(p.Conflicts) > 0 {
		t.Errorf("conflicts %v", p.Conflicts)
	}
	for _, n := range []string{"both", "first", "second", "d/gone"} {
		b.has(n, "0")
	}
	if left := slices.Sorted(maps.Keys(tree(t, b.ws))); !slices.Equal(left, []string{"both", "d", "d/gone", "first", "second"}) {
		t.Errorf("left are %q", left)
	}
}

// TestEarlierCutOff: the result of a turn that was cut off is not known. A change by a later
// turn, however soon, is not taken for it.
func TestEarlierCutOff(t *testing.T) {
	b := newBench(t)
	b.user("a", "0")
	b.ses.Begin("")
	b.call = b.ses.Call()
	b.write("a", "1")
	log := filepath.Join(b.ses.folder(1), logName)
	data, err := os.ReadFile(log)
	b.must(err)
	b.must(b.ses.Close())
	b.must(os.WriteFile(log, data, 0o600))
	b.open()
	b.turn(func() { b.write("a", "2") })
	soon := time.Now().Add(time.Hour) // times must not decide
	b.must(os.Chtimes(log, soon, soon))
	p, err := b.ses.Earlier(b.plan(), all)
	b.must(err)
	if b.names(p.Conflicts) != "a" || len(p.Steps) != 0 {
		t.Errorf("conflicts %v, steps %v", p.Conflicts, p.Steps)
	}
	b.undo()
	b.has("a", "1")
	b.undo()
	b.has("a", "0")
}

// TestClosedStaysUndoable: a file that may not be written now is not restored, keeps its folder
// from being removed, and can be restored later.
func TestClosedStaysUndoable(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("out/a", "old")
	was := tree(t, b.ws)
	b.turn(func() {
		b.write("a", "agent's")
		b.write("out/a", "agent's")
		b.mkdir("made")
		b.write("made/x", "agent's")
	})
	out := func(s Step) string {
		if s.Path == b.at("out/a") || s.Path == b.at("made/x") {
			return "outside"
		}
		return ""
	}
	p, err := b.ses.Plan(out)
	b.must(err)
	var closed []Skip
	for _, c := range p.Closed {
		closed = append(closed, Skip{c.Path, c.Why})
	}
	if b.names(closed) != "made/x out/a" || closed[0].Why != "outside" || b.names(p.Conflicts) != "made" || len(p.NotKept) > 0 {
		t.Errorf("closed %v, conflicts %v, not kept %v", closed, p.Conflicts, p.NotKept)
	}
	_, err = b.ses.Apply(context.Background(), p, hands{})
	b.must(err)
	b.has("a", "old")
	b.has("out/a", "agent's")
	b.undo()
	same(t, was, b.ws)

	// A permission for the name alone allows writing and making a file, but not removing it.
	b.turn(func() { b.write("a", "agent's"); b.write("new", "x"); b.remove("out/a"); b.mkdir("folder") })
	inFolder := map[string]bool{"a": false, "new": true, "out/a": false, "folder": true}
	for _, s := range b.plan().Steps {
		if want, ok := inFolder[strings.TrimPrefix(s.Path, b.ws+"/")]; !ok || s.InFolder() != want {
			t.Errorf("%s %s changes its folder: %v", s.Do, s.Path, s.InFolder())
		}
	}
}

// TestRemade: a folder that calls of one turn made, removed and made again is theirs as a whole, also what was not reported in it.
func TestRemade(t *testing.T) {
	b := newBench(t)
	b.user("old", "precious")
	was := tree(t, b.ws)
	b.ses.Begin("do it")
	for _, content := range []string{"first", "second"} {
		b.during(func() { b.mkdir("c"); b.must(os.Mkdir(b.at("c/d"), 0o755)); b.user("c/d/f", content) })
		if content == "first" {
			b.during(func() { b.remove("c/d/f"); b.remove("c/d"); b.remove("c") })
		}
	}
	b.ses.End()
	if p := b.undo(); len(p.Conflicts)+len(p.NotKept) != 0 {
		t.Errorf("conflicts %v, not kept %v", p.Conflicts, p.NotKept)
	}
	same(t, was, b.ws)
}
