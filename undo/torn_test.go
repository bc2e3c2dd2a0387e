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

// tearing are hands that write the half of a content into a file and then fail.
type tearing struct {
	hands
	then func() error
}

func (h tearing) Put(path string, content []byte, mode fs.FileMode, now Expect) error {
	if !now.InPlace {
		return h.hands.Put(path, content, mode, now)
	}
	if err := h.hands.Put(path, content[:len(content)/2], mode, now); err != nil {
		return err
	}
	return h.then()
}

// linked is a workspace in which a file with two names was changed in place.
func linked(t *testing.T) (b *bench, was map[string]string) {
	b = newBench(t)
	b.user("a", "what it was before")
	b.must(os.Link(b.at("a"), b.at("b")))
	b.user("c", "c")
	was = tree(t, b.ws)
	b.turn(func() {
		b.into("a", "agent's")
		b.nextCall()
		b.into("b", "the agent's own")
		b.remove("c")
	})
	return b, was
}

// TestTornIsUndoneAgain: a file that was written in part, for the disk was full, can
// be put back later; what somebody makes of it meanwhile stays.
func TestTornIsUndoneAgain(t *testing.T) {
	for _, edited := range []bool{false, true} {
		b, was := linked(t)
		r, err := b.ses.Apply(context.Background(), b.plan(), tearing{then: func() error { return ErrTorn }})
		b.must(err)
		if len(r.Failed) == 0 {
			t.Fatal("nothing failed")
		}
		b.has("b", "what it w")
		if edited {
			b.user("a", "the user's own")
			b.undo()
			b.has("b", "the user's own")
			continue
		}
		if p := b.undo(); len(p.Conflicts) > 0 {
			t.Errorf("left: %q", p.Conflicts)
		}
		same(t, was, b.ws)
		if !b.one("a", "b") {
			t.Error("they are one file no more")
		}
	}
}

// TestNothingWrittenIsNotOurs: what could not be written, for somebody changed it
// in that moment, stays somebody's.
func TestNothingWrittenIsNotOurs(t *testing.T) {
	b, _ := linked(t)
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

// TestKilledWhileUndoing: what a killed undo had written in part is put back by the
// next, and what somebody changed later is not.
func TestKilledWhileUndoing(t *testing.T) {
	for _, late := range []bool{false, true} {
		b, was := linked(t)
		began := time.Now().Add(time.Hour) // whatever is written now is written before that
		if late {
			began = began.Add(-2 * time.Hour)
		}
		b.store.now = func() time.Time { return began }
		b.logWritten(began.Add(-time.Hour))
		ctx, kill := context.WithCancel(context.Background())
		_, err := b.ses.Apply(ctx, b.plan(), tearing{then: func() error { kill(); return context.Canceled }})
		if err == nil {
			t.Error("a killed undo came to its end")
		}
		b.has("b", "what it w")
		b.must(b.ses.Close())
		b.open()
		if late {
			b.isConflict("a")
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
	b.user("a", "old")
	b.must(os.Link(b.at("a"), b.at("b")))
	b.user("c", "old")
	b.ses.Begin("it")
	b.call = b.ses.Call()
	b.into("a", "new")
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
