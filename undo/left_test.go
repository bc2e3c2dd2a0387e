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
)

// has says how a file is not what it should be.
func (b *bench) has(name, want string) {
	b.t.Helper()
	if is, err := os.ReadFile(b.at(name)); err != nil || string(is) != want {
		b.t.Errorf("%s is %q, %v; want %q", name, is, err, want)
	}
}

// names are paths without the workspace.
func (b *bench) names(list []Left) string {
	var out []string
	for _, l := range list {
		out = append(out, strings.TrimPrefix(l.Path, b.ws+"/"))
	}
	return strings.Join(out, " ")
}

// TestLeftStaysUndoable: what was left alone is undone once it is again what the
// agent left, alone or beside what was put back before.
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
	b.must(b.ses.Close()) // another process knows it, too
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

// TestHalfPutBack: of one file the permissions are put back and the content, which
// the user changed, is not: that stays undoable.
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

// clumsy are hands that cannot put one file.
type clumsy struct {
	hands
	name string
}

func (c clumsy) Put(path string, content []byte, mode fs.FileMode, now Expect) error {
	if filepath.Base(path) == c.name {
		return errors.New("it slips")
	}
	return c.hands.Put(path, content, mode, now)
}

// TestFailedStaysUndoable: another try does what one could not.
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

// TestCutOffInParts: undoing a part of a turn that was cut off does not make what was
// changed after it the turn's.
func TestCutOffInParts(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("gone", "old")
	b.ses.Begin("")
	b.call = b.ses.Call()
	b.write("a", "new")
	b.remove("gone")
	log := filepath.Join(b.ses.folder(1), logName)
	data, err := os.ReadFile(log)
	b.must(err)
	b.must(b.ses.Close())
	b.must(os.WriteFile(log, data, 0o600))
	long := time.Now().Add(-time.Hour)
	b.must(os.Chtimes(log, long, long))
	b.open()
	for range 2 {
		if p := b.undo(); b.names(p.Conflicts) != "a" {
			t.Fatalf("conflicts %v, steps %v", p.Conflicts, p.Steps)
		}
	}
	b.has("a", "new")
	b.has("gone", "old")
}

// TestEarlier: a turn can be passed over. What it changed is left alone by the undoing
// of those before it, and it can be undone afterwards.
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
	// Now the later one, and after it what was left of the first.
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

// TestEarlierCutOff: what a turn left that was cut off is not known. What a later turn
// changed, however soon, is not taken for that.
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
	soon := time.Now().Add(time.Hour) // no clock decides
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
