package undo

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// keepOne makes a session with one stored file of n bytes, last used that long ago.
func keepOne(t *testing.T, b *bench, id string, n int, ago time.Duration) {
	t.Helper()
	ses, err := b.store.Open(id)
	b.must(err)
	b.user("f", strings.Repeat("x", n))
	ses.Begin("")
	b.call = ses.Call()
	b.write("f", "new")
	b.call.Settle()
	ses.End()
	b.must(ses.Close())
	then := time.Now().Add(-ago)
	b.must(filepath.Walk(ses.dir, func(p string, _ os.FileInfo, err error) error {
		b.must(err)
		return os.Chtimes(p, then, then)
	}))
}

// TestSweep: old turns are removed, and beyond the bound those used longest ago; sessions in
// use stay.
func TestSweep(t *testing.T) {
	b := newBench(t)
	b.store.bounds.store = 25_000
	names := []string{"0000000000000001", "0000000000000002", "0000000000000003", "0000000000000004"}
	keepOne(t, b, names[0], 10_000, 40*24*time.Hour)
	keepOne(t, b, names[1], 10_000, 3*time.Hour)
	keepOne(t, b, names[2], 10_000, 2*time.Hour)
	keepOne(t, b, names[3], 10_000, time.Hour)
	b.must(os.WriteFile(filepath.Join(b.store.dir, "other"), nil, 0o600))
	held, err := b.store.Open(names[1])
	b.must(err)
	if _, err := b.store.Open(names[1]); !errors.Is(err, ErrInUse) {
		t.Errorf("a session was opened twice: %v", err)
	}
	if err := b.store.Remove(names[1]); !errors.Is(err, ErrInUse) {
		t.Errorf("a session in use was removed: %v", err)
	}
	b.store.Sweep()
	var left []string
	for _, n := range names {
		if b.store.Has(n) {
			left = append(left, n)
		}
	}
	if want := []string{names[1], names[3]}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	b.must(held.Close())
	b.must(b.store.Remove(names[1]))
	if _, err := os.Lstat(held.dir); err == nil {
		t.Error("a removed session is still there")
	}
}

// TestOldTurnsGo: a long session keeps its last turns.
func TestOldTurnsGo(t *testing.T) {
	b := newBench(t)
	b.store.bounds.turn, b.store.bounds.log, b.store.bounds.session = 10_000, 1000, 40_000
	for i := range 8 {
		if i == 5 {
			b.must(b.ses.Close())
			b.open()
		}
		b.user("f", strings.Repeat("x", 9000))
		b.turn(func() { b.write("f", "new") })
	}
	turns, err := b.ses.turns()
	b.must(err)
	slices.Sort(turns)
	if len(turns) < 2 || len(turns) > 4 || turns[len(turns)-1] != 8 {
		t.Errorf("kept are %v", turns)
	}
}
