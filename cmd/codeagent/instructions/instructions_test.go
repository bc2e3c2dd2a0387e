package instructions

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// ownedBy is a file that belongs to uid.
type ownedBy struct {
	os.FileInfo
	uid uint32
}

func (o ownedBy) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// A stranger's file in a folder above the workspace is not followed.
func TestInstructionsOfStrangers(t *testing.T) {
	in := &Files{places: []string{"/u/AGENTS.md", filepath.Join(t.TempDir(), fileName)}}
	me := uint32(os.Getuid())
	for _, c := range []struct {
		owner uint32
		ok    bool
	}{{me, true}, {0, true}, {me + 1, false}, {65534, false}} {
		if err := in.trusted(ownedBy{uid: c.owner}); (err == nil) != c.ok {
			t.Errorf("owner %d: %v", c.owner, err)
		}
	}
}

// The root of a repository is the nearest folder with a .git of any kind: that of
// a worktree is a file.
func TestProjectInstructions(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(dirs ...string) []string {
		for i := range dirs {
			dirs[i] = filepath.Join(root, dirs[i], fileName)
		}
		return dirs
	}
	check := func(want []string) {
		t.Helper()
		got := projectPlaces(deep)
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(at("a/b"))
	if err := os.WriteFile(filepath.Join(root, "a", ".git"), []byte("gitdir: elsewhere"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(at("a", "a/b"))
	if err := os.Mkdir(filepath.Join(deep, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	check(at("a/b"))
}
