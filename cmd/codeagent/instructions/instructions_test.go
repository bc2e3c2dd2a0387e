package instructions

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

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
