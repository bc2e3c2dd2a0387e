package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codeagent/exec/worker"
)

// TestNothingWrittenIsNotOurs: a file that could not be restored because somebody changed it
// at that moment stays somebody else's.
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

// refusing is a Files that finds something else than expected.
type refusing struct{ hands }

func (refusing) Put(string, []byte, fs.FileMode, worker.Expect) (worker.Info, error) {
	return worker.Info{}, errors.New("was changed")
}
func (refusing) Chmod(string, fs.FileMode, worker.Expect) error { return errors.New("was changed") }

// isConflict fails unless the next plan leaves a name alone.
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

// killing is a Files under which codeagent is killed before it restores a file.
type killing struct {
	hands
	kill func()
}

func (h killing) Put(string, []byte, fs.FileMode, worker.Expect) (worker.Info, error) {
	h.kill()
	return worker.Info{}, context.Canceled
}

// TestKilledWhileUndoing: a folder whose permissions a killed undo had changed gets them back
// from the next undo, and what somebody changed later does not.
func TestKilledWhileUndoing(t *testing.T) {
	for _, late := range []bool{false, true} {
		b := newBench(t)
		b.user("d/x", "old")
		was := tree(t, b.ws)
		b.turn(func() {
			b.write("d/x", "new")
			b.chmod("d", 0o500)
		})
		began := time.Now().Add(time.Hour) // everything is written before that
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

// TestUndoingIsNotTheTurn: what undo found changed at the last moment of a cut-off turn is not
// attributed to the turn because of undo's own records.
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
	long := time.Now().Add(-time.Hour) // the end of the turn, by the files' clock
	p.kept.last = long
	_, err := b.ses.Apply(context.Background(), p, refusing{})
	b.must(err)
	if p := b.plan(); len(p.Steps) > 0 || len(p.Conflicts) != 2 {
		t.Errorf("it would %+v", p.Steps)
	}
}
