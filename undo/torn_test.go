package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

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
