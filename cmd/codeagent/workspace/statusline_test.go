package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInRepository(t *testing.T) {
	top := t.TempDir()
	below := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if inRepository(below) {
		t.Skip("the folder for temporary files lies in a repository")
	}
	if err := os.WriteFile(filepath.Join(top, ".git"), []byte("gitdir: elsewhere\n"), 0o644); err != nil { // of a worktree
		t.Fatal(err)
	}
	if !inRepository(below) || !inRepository(top) {
		t.Error("the repository above is not found")
	}
}
