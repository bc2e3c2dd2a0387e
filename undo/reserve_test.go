package undo

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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
		"no folder": func(b *bench) {
			b.must(os.WriteFile(b.ses.folder(2), nil, 0o600)) // in its way
			b.turn(func() { b.write("a", "second") })
		},
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

// TestRecordedInPart: the recorded part of a turn is restored, and the plan is marked as
// incomplete, even if the log had no room to say so.
func TestRecordedInPart(t *testing.T) {
	for name, second := range map[string]func(b *bench){
		"a content kept, its line not": func(b *bench) {
			b.during(func() { b.write("a", "second") })
			b.fillLog()
			b.during(func() { b.write("c", "second") })
		},
		"not settled": func(b *bench) {
			b.call = b.ses.Call()
			b.write("a", "second")
			b.fillLog()
			b.call.Settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old")
			b.user("c", "old")
			b.turn(func() { b.write("b", "first") })
			b.ses.Begin("do it")
			second(b)
			b.ses.End()
			for range 2 {
				p := b.plan()
				if p.More == "" || p.Unrecorded || len(p.Steps)+len(p.Conflicts) != 1 {
					t.Errorf("more %q, unrecorded %v, steps %v, conflicts %v", p.More, p.Unrecorded, p.Steps, p.Conflicts)
				}
				b.again()
			}
		})
	}
}

// TestUnrecordedAtFirst: a session whose only turn could not be recorded is reported by undo.
func TestUnrecordedAtFirst(t *testing.T) {
	b := newBench(t)
	b.must(os.WriteFile(b.ses.dir, nil, 0o600)) // in the way of its folder
	b.turn(func() { b.write("a", "new") })
	b.must(b.ses.Close())
	b.must(os.Remove(b.ses.dir))
	if !b.store.Has(sessionID) {
		t.Error("nothing is known of the session")
	}
	b.open()
	if p := b.plan(); !p.Unrecorded {
		t.Errorf("plan %+v", p)
	}
	b.must(b.ses.Close())
	b.must(b.store.Remove(sessionID))
	if b.store.Has(sessionID) {
		t.Error("it is known after its removal")
	}
}

// TestRoomAgain: if the disk has space again at the end of the turn, the turn's own log is
// marked as incomplete, and its slot in the reserve is freed.
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
	if list, err := b.store.unrecorded(sessionID); err != nil || len(list) != 0 {
		t.Errorf("the reserve has %v, %v", list, err)
	}
}

// TestReserve: the reserve never grows, keeps the newest turns, and its content is not
// trusted.
func TestReserve(t *testing.T) {
	b := newBench(t)
	name := filepath.Join(b.store.dir, reserveName)
	for n := range slots + 5 {
		b.must(b.store.noteUnrecorded(sessionID, n+1))
		b.must(b.store.noteUnrecorded(sessionID, n+1))
	}
	list, err := b.store.unrecorded(sessionID)
	b.must(err)
	info, err := os.Stat(name)
	b.must(err)
	if len(list) != slots || info.Size() != slots*slotSize || info.Size() > 4096 {
		t.Errorf("%d turns in %d bytes", len(list), info.Size())
	}
	b.must(b.store.forgetUnrecorded(sessionID, 0))
	for _, text := range []string{"", "x", strings.Repeat("\xff", 5000), sessionID + " 00000000-1 0000000001\n", "../../../../etc/x 0000000001 0000000001\n"} {
		b.must(os.WriteFile(name, []byte(text), 0o600))
		if list, err := b.store.unrecorded(sessionID); err != nil || len(list) != 0 {
			t.Errorf("%.20q: %v, %v", text, list, err)
		}
		b.must(b.store.makeReserve())
		b.must(b.store.noteUnrecorded(sessionID, 7))
		if list, err := b.store.unrecorded(sessionID); err != nil || len(list) != 1 {
			t.Errorf("%.20q: after a note %v, %v", text, list, err)
		}
	}
	b.must(os.Remove(name))
	b.must(os.Mkdir(name, 0o700))
	if _, err := b.store.Open("0000000000000001"); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a folder in its place: %v", err)
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

// TestUnrecordedSessions: the reserve lists a session that left no other trace.
func TestUnrecordedSessions(t *testing.T) {
	b := newBench(t)
	b.must(b.store.noteUnrecorded("00000000000000aa", 3))
	list, err := b.store.Unrecorded()
	b.must(err)
	if len(list) != 1 || list["00000000000000aa"].IsZero() {
		t.Errorf("%v", list)
	}
}

func TestSlotIsReadAsWritten(t *testing.T) {
	for _, s := range []slot{{}, {"0123456789abcdef", 12, 1700000009}} {
		if got := parseSlot([]byte(s.String())); got != s {
			t.Errorf("%+v became %+v", s, got)
		}
	}
}
