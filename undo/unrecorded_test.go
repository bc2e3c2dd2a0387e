package undo

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// full replaces a log on a full disk: every write fails with ENOSPC.
func full(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// fillLog makes every further record of the running turn fail.
func (b *bench) fillLog() {
	b.ses.current.log.Close()
	b.ses.current.log = full(b.t)
}

// TestUnrecordedTurn: whichever part of a turn's record cannot be written, a later process does
// not undo the previous turn in its place.
func TestUnrecordedTurn(t *testing.T) {
	for name, second := range map[string]func(b *bench){
		"no log": func(b *bench) {
			b.must(os.MkdirAll(filepath.Join(b.ses.folder(2), logName), 0o700))
			b.turn(func() { b.write("a", "second") })
		},
		"no line of the log": func(b *bench) {
			b.ses.Begin("do it")
			b.ses.current.mu.Lock()
			b.must(b.ses.current.ready())
			b.ses.current.mu.Unlock()
			b.fillLog()
			b.during(func() { b.write("a", "second") })
			b.ses.End()
		},
		"an empty log": func(b *bench) {
			b.turn(func() { b.write("a", "second") })
			b.must(os.Truncate(filepath.Join(b.ses.folder(2), logName), 0))
		},
		"a torn log": func(b *bench) {
			b.turn(func() { b.write("a", "second") })
			b.must(os.Truncate(filepath.Join(b.ses.folder(2), logName), 20))
		},
		"a log of a later version": func(b *bench) {
			b.turn(func() { b.write("a", "second") })
			b.must(os.WriteFile(filepath.Join(b.ses.folder(2), logName), []byte(`{"kind":"turn","version":9}`+"\n"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old")
			b.turn(func() { b.write("b", "first") })
			second(b)
			for _, where := range []string{"on the screen", "in another process"} {
				p := b.plan()
				if !p.Unrecorded || p.More == "" || len(p.Steps) != 0 {
					t.Fatalf("%s: unrecorded %v, more %q, steps %v", where, p.Unrecorded, p.More, p.Steps)
				}
				if _, err := b.ses.Apply(context.Background(), p, hands{}); name != "no line of the log" && err == nil {
					t.Errorf("%s: it was undone", where)
				}
				b.again()
			}
			p, err := b.ses.Earlier(b.plan(), all)
			b.must(err)
			if len(p.Steps) != 1 || p.Steps[0].Path != b.at("b") {
				t.Errorf("the turn before it: %v", p.Steps)
			}
		})
	}
}

// TestRoomAgain: if the disk has space again at the end of the turn, the turn's own log is
// marked as incomplete.
func TestRoomAgain(t *testing.T) {
	b := newBench(t)
	b.turn(func() { b.write("b", "first") })
	b.must(os.WriteFile(b.ses.folder(2), nil, 0o600))
	b.ses.Begin("the second")
	b.during(func() { b.write("a", "second") })
	b.must(os.Remove(b.ses.folder(2)))
	b.ses.End()
	b.again()
	if p := b.plan(); !p.Unrecorded || p.Title != "the second" {
		t.Errorf("plan %+v", p)
	}
}

// TestTornBeforeUndo: undo's records are not appended to a line that a dead process left torn:
// otherwise the turn would be undone repeatedly.
func TestTornBeforeUndo(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.ses.Begin("")
	b.call = b.ses.Call()
	b.write("a", "new")
	log := filepath.Join(b.ses.folder(1), logName)
	data, err := os.ReadFile(log)
	b.must(err)
	b.must(b.ses.Close())
	b.must(os.WriteFile(log, append(data, `{"kind":"bef`...), 0o600))
	b.open()
	b.undo()
	b.again()
	if k, err := b.ses.load(1); err != nil || !k.undone {
		t.Errorf("the log does not say that it was undone: %v", err)
	}
}
