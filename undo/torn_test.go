package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNothingWrittenIsNotOurs: what could not be written, for somebody changed it
// in that moment, stays somebody's.
func TestNothingWrittenIsNotOurs(t *testing.T) {
	b := newBench(t)
	b.user("a", "what it was before")
	b.turn(func() { b.write("a", "agent's") })
	p := b.plan()
	b.must(os.WriteFile(b.at("a"), []byte("the user's own"), 0))
	r, err := b.ses.Apply(context.Background(), p, refusing{})
	b.must(err)
	if len(r.Failed) == 0 {
		t.Error("nothing failed")
	}
	b.isConflict("a")
}

// refusing are hands that find something else than they expect.
type refusing struct{ hands }

func (refusing) Put(string, []byte, fs.FileMode, Expect) error { return errors.New("was changed") }
func (refusing) Chmod(string, fs.FileMode, Expect) error       { return errors.New("was changed") }

// isConflict fails where the next plan does not leave a name alone.
func (b *bench) isConflict(name string) {
	b.t.Helper()
	if p, err := b.ses.Plan(all); err != nil || len(p.Conflicts) == 0 || p.Conflicts[0].Path != b.at(name) {
		b.t.Errorf("%+v, %v; want a conflict for %s", p, err, name)
	}
}

// logWritten sets when the log of the first turn was last written.
func (b *bench) logWritten(at time.Time) {
	b.t.Helper()
	b.must(os.Chtimes(filepath.Join(b.ses.folder(1), logName), at, at))
}

// killing are hands under which codeagent is killed before it puts a file back.
type killing struct {
	hands
	kill func()
}

func (h killing) Put(string, []byte, fs.FileMode, Expect) error {
	h.kill()
	return context.Canceled
}

// TestKilledWhileUndoing: a folder that a killed undo had opened gets its permissions
// from the next, and what somebody changed later does not.
func TestKilledWhileUndoing(t *testing.T) {
	for _, late := range []bool{false, true} {
		b := newBench(t)
		b.user("d/x", "old")
		was := tree(t, b.ws)
		b.turn(func() {
			b.write("d/x", "new")
			b.chmod("d", 0o500)
		})
		began := time.Now().Add(time.Hour) // whatever is written now is written before that
		if late {
			began = began.Add(-2 * time.Hour)
		}
		b.store.now = func() time.Time { return began }
		b.logWritten(began.Add(-time.Hour))
		ctx, kill := context.WithCancel(context.Background())
		_, err := b.ses.Apply(ctx, b.plan(), killing{kill: kill})
		if err == nil {
			t.Error("a killed undo came to its end")
		}
		if info, err := os.Lstat(b.at("d")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder is not half done: %v, %v", info.Mode(), err)
		}
		b.must(b.ses.Close())
		b.open()
		if late {
			b.isConflict("d")
			continue
		}
		b.undo()
		same(t, was, b.ws)
	}
}

// TestUndoingIsNotTheTurn: of a turn that was cut off, what undoing found changed in
// the last moment does not become the turn's by what undoing writes down.
func TestUndoingIsNotTheTurn(t *testing.T) {
	b := newBench(t)
	b.user("d/x", "old")
	b.user("c", "old")
	b.ses.Begin("it")
	b.call = b.ses.Call()
	b.chmod("d", 0o500)
	b.write("c", "new")
	b.must(b.ses.Close())
	b.logWritten(time.Now().Add(time.Hour)) // so that all of it is the agent's
	b.open()
	p := b.plan()
	if len(p.Steps) != 2 {
		t.Fatalf("%+v", p)
	}
	long := time.Now().Add(-time.Hour) // when the turn ended, by the clock of the files
	p.kept.last = long
	_, err := b.ses.Apply(context.Background(), p, refusing{})
	b.must(err)
	if p := b.plan(); len(p.Steps) > 0 || len(p.Conflicts) != 2 {
		t.Errorf("it would %+v", p.Steps)
	}
}
