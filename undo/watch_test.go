package undo

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// files are all files and folders of the workspace.
func (b *bench) files() (out []string) {
	b.t.Helper()
	b.must(filepath.WalkDir(b.ws, func(p string, _ fs.DirEntry, err error) error {
		if p != b.ws {
			out = append(out, p)
		}
		return err
	}))
	return out
}

// watched is a command whose changes are not reported.
func (b *bench) watched(do func()) {
	b.t.Helper()
	call := b.ses.Call()
	call.Watch(b.files())
	do()
	call.Made(b.files())
	call.Settle()
}

// TestWatched: unreported changes by commands are undone, and the user's changes between them
// are left alone.
func TestWatched(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	b.user("d/b", "old")
	b.user("left", "old")
	b.user("user's", "old")
	b.must(os.Chmod(b.at("d/b"), 0o600))
	was := tree(t, b.ws)
	// Files that were last changed long ago, as most are.
	b.store.now = func() time.Time { return time.Now().Add(time.Hour) }
	b.ses.Begin("")
	b.watched(func() {
		b.user("a", "new")
		b.must(os.MkdirAll(b.at("new/tree"), 0o755))
		b.user("new/tree/x", "x")
		b.must(os.Rename(b.at("d"), b.at("e")))
	})
	b.user("user's", "mine")
	b.watched(func() {
		b.user("a", "newer")
		b.must(os.Chmod(b.at("e/b"), 0o755))
		b.user("user's", "agent's")
	})
	b.ses.End()
	b.ses.Begin("")
	b.watched(func() { b.user("a", "newest") })
	b.ses.End()
	b.user("left", "mine")
	if p := b.undo(); len(p.Steps) != 1 || len(p.Conflicts) != 0 {
		t.Errorf("steps %v, conflicts %v", p.Steps, p.Conflicts)
	}
	p := b.undo()
	if len(p.Conflicts) != 1 || p.Conflicts[0].Path != b.at("user's") {
		t.Errorf("conflicts %v", p.Conflicts)
	}
	was["left"], was["user's"] = "-rw-r--r-- mine", "-rw-r--r-- agent's"
	same(t, was, b.ws)
}

// TestWatchedOnce: an unchanged file is stored once, and a later turn uses the stored copy.
func TestWatchedOnce(t *testing.T) {
	b := newBench(t)
	b.store.now = func() time.Time { return time.Now().Add(time.Hour) }
	b.user("a", "0123456789")
	b.user("b", "0123456789")
	for range 3 {
		b.ses.Begin("")
		b.watched(func() { b.user("a", "0123456789") })
		b.ses.End()
	}
	if is, err := os.Stat(filepath.Join(b.ses.folder(3), storedName)); err != nil || is.Size() != 10 {
		t.Errorf("the third turn keeps %d bytes, want those of one file: %v", is.Size(), err)
	}
	b.ses.Begin("")
	b.watched(func() { b.user("b", "new") })
	b.ses.End()
	b.undo()
	if is := tree(t, b.ws)["b"]; is != "-rw-r--r-- 0123456789" {
		t.Errorf("it is %q", is)
	}
}

// TestPatchedWithoutTelling: a file and the folders above it are known by their paths before
// they are made.
func TestPatchedWithoutTelling(t *testing.T) {
	b := newBench(t)
	b.user("a", "old")
	was := tree(t, b.ws)
	b.ses.Begin("")
	call := b.ses.Call()
	call.Watch([]string{b.at("deep/er/new"), b.at("a")})
	b.user("deep/er/new", "new")
	b.user("a", "new")
	call.Settle()
	b.ses.End()
	b.undo()
	same(t, was, b.ws)
}
