package config_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codeagent/config"
)

// TestGitTrees: the repository around a root, those in it, worktrees and submodules.
func TestGitTrees(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := top + "/repo/sub"
	for _, dir := range []string{"repo/.git/modules/m/objects", "repo/.git/worktrees/w", "repo/.git/worktrees/away", "repo/sub/a/b/.git", "repo/sub/tree", "away"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"repo/.git/modules/m/HEAD": "ref: x\n", "repo/.git/worktrees/w/gitdir": root + "/tree/.git\n", "repo/.git/worktrees/away/gitdir": top + "/away/.git\n",
		"repo/sub/tree/.git": "gitdir: x\n", "away/.git": "gitdir: x\n",
	} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := config.GitTrees(t.Context(), disk{}, []string{root})
	want := []config.GitTree{{Top: top + "/repo"}, {Dir: top + "/repo/.git/modules/m"}, {Top: root + "/tree"}, {Top: root + "/a/b"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := config.GitTrees(ended, disk{}, []string{root}); len(got) > 3 {
		t.Errorf("looked on after the end: %+v", got)
	}
}
