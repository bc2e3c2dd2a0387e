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
)

// TestNotKept: changed files that were not recorded are listed with the reason.
func TestNotKept(t *testing.T) {
	b := newBench(t)
	b.store.bounds = bounds{file: 10_000, turn: 25_000, session: 1 << 30, paths: 1 << 20, log: 1 << 20, entries: 8}
	b.user("large", strings.Repeat("x", 10_001))
	b.user("large and left", strings.Repeat("x", 10_001))
	b.must(os.Chmod(b.at("large and left"), 0o600))
	for _, n := range []string{"1", "2", "3"} {
		b.user(n, strings.Repeat("x", 10_000))
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
	want := []string{"3: the turn changed over 24.4 KiB", "large: over 9.8 KiB", "pipe: it is neither a file nor a link nor a folder"}
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

// TestLargeMoved: a moved file that is too large to be stored stays where it is now.
func TestLargeMoved(t *testing.T) {
	b := newBench(t)
	b.store.bounds.file = 1000
	large := strings.Repeat("x", 1001)
	b.user("large", large)
	b.user("d/sub/large", large+"y")
	b.user("d/small", "small")
	b.turn(func() {
		b.rename("large", "other")
		b.rename("d", "e")
	})
	p := b.undo()
	if is := tree(t, b.ws); is["other"] != "-rw-r--r-- "+large || is["e/sub/large"] != "-rw-r--r-- "+large+"y" || is["d/small"] == "" || len(p.NotKept) != 2 {
		t.Errorf("%v\nconflicts %v, not kept %v", is, p.Conflicts, p.NotKept)
	}
}

// TestNothingIsLost: if a turn destroyed content that is not recorded, nothing that it made is
// removed: that may be all that is left of the content.
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

// TestStalePlan: a plan is not executed after another turn.
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

// TestBounds: a file of 65 MiB is not stored, one of 64 MiB is.
func TestBounds(t *testing.T) {
	b := newBench(t)
	for name, size := range map[string]int64{"65": 65 << 20, "64": 64 << 20} {
		b.user(name, "")
		b.must(os.Truncate(b.at(name), size)) // a sparse file
	}
	b.turn(func() { b.write("65", "new"); b.write("64", "new") })
	p := b.undo()
	if len(p.NotKept) != 1 || p.NotKept[0] != (Skip{b.at("65"), "over 64 MiB"}) {
		t.Errorf("not kept: %v", p.NotKept)
	}
	if is, err := os.Stat(b.at("64")); err != nil || is.Size() != 64<<20 {
		t.Errorf("%d bytes, %v", is.Size(), err)
	}
}

// TestNothingIsFollowed: recording opens no FIFO, which would block, and reads nothing through
// a link, whatever has the name.
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
		// A file at the time of the look is something else at the time of the open.
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
