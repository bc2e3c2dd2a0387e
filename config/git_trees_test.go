package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"codeagent/config"
	"codeagent/sandbox/protect"
)

// planted makes folders and files below a new folder; a folder ends in a slash.
func planted(t *testing.T, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(top, name)
		if name[len(name)-1] == '/' {
			err = os.MkdirAll(file, 0o755)
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// found returns what GitTrees finds: the tops, the git directories and the closed folders, below
// top.
func found(ctx context.Context, top, root string) (tops, dirs, closed []string) {
	short := func(p string) string {
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return p
		}
		return rel
	}
	trees, _ := config.GitTrees(ctx, disk{}, []string{root}, nil)
	for _, tree := range trees {
		if tree.Err != nil {
			closed = append(closed, short(tree.Closed))
			continue
		}
		if tree.Top != "" {
			tops = append(tops, short(tree.Top))
		}
		for _, dir := range tree.Dirs {
			dirs = append(dirs, short(dir))
		}
	}
	return tops, dirs, closed
}

// TestGitTrees: all repositories around a root, those in it, worktrees and submodules, however
// damaged they are.
func TestGitTrees(t *testing.T) {
	top := planted(t, map[string]string{
		"repo/.git/modules/m/HEAD": "ref: x\n", "repo/.git/modules/n/config": "", "repo/.git/worktrees/w/commondir": "../..\n",
		"repo/sub/.git/":         "", // without HEAD; it must not hide the repository around it
		"repo/sub/a/b/.git/HEAD": "garbage", "repo/sub/.x/.git/config": "",
		"repo/sub/tree/.git": "gitdir: ../../.git/worktrees/w\n", "repo/sub/no/.git": "nothing",
	})
	if err := os.Symlink("../.x/.git", filepath.Join(top, "repo/sub/a/.git")); err != nil {
		t.Fatal(err)
	}
	tops, dirs, closed := found(t.Context(), top, top+"/repo/sub")
	slices.Sort(tops)
	slices.Sort(dirs)
	if want := []string{"repo", "repo/sub", "repo/sub/.x", "repo/sub/a", "repo/sub/a/b", "repo/sub/tree"}; !slices.Equal(tops, want) {
		t.Errorf("tops %q, want %q", tops, want)
	}
	want := []string{
		"repo/.git", "repo/.git", "repo/.git/modules/m", "repo/.git/modules/m", "repo/.git/modules/n", "repo/.git/modules/n", "repo/.git/worktrees/w",
		"repo/sub/.git", "repo/sub/.x/.git", "repo/sub/.x/.git", "repo/sub/a/b/.git",
	}
	if !slices.Equal(dirs, want) || closed != nil {
		t.Errorf("git directories %q, want %q; closed %q", dirs, want, closed)
	}
}

// TestGitTreesClosed: what cannot be looked at is closed.
func TestGitTreesClosed(t *testing.T) {
	top := planted(t, map[string]string{"w/shut/n/.git/config": "", "w/.git/modules/": "", "w/tree/.git": "gitdir: /dev/null/..\n", "w/d/.git/commondir/": ""})
	if err := os.Chmod(top+"/w/shut", 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(top+"/w/shut", 0o700)
	_, _, closed := found(t.Context(), top, top+"/w")
	want := []string{"w/d", "w/shut"}
	if os.Geteuid() == 0 {
		want = want[:1] // root lists every folder
	}
	if slices.Sort(closed); !slices.Equal(closed, want) {
		t.Errorf("closed %q, want %q", closed, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, closed = found(ended, top, top+"/w"); !slices.Contains(closed, "w") {
		t.Errorf("not closed, although it was not searched: %q", closed)
	}
}

// TestGitTreesOfAFile: a single file that commands may write closes nothing.
func TestGitTreesOfAFile(t *testing.T) {
	top := planted(t, map[string]string{"f": "text"})
	if tops, _, closed := found(t.Context(), top, top+"/f"); tops != nil || closed != nil {
		t.Errorf("repositories %q, closed %q", tops, closed)
	}
}

// TestGitTreesWide: many folders hide nothing.
func TestGitTreesWide(t *testing.T) {
	files := map[string]string{"z/n/.git/config": ""}
	for i := range 600 {
		files["d"+strconv.Itoa(i)+"/"] = ""
	}
	for i := range 40 {
		files["r"+strconv.Itoa(i)+"/.git/"] = ""
	}
	top := planted(t, files)
	if tops, _, closed := found(t.Context(), top, top); len(tops) != 41 || closed != nil {
		t.Errorf("%d repositories, closed %q", len(tops), closed)
	}
}

// TestLinks: what protected names lead to through links is protected, with each link on the way,
// also out of a folder that a link leads to and from git's hooks.
func TestLinks(t *testing.T) {
	name := protect.Git("/.git")[1]
	top := planted(t, map[string]string{
		"w/cfg/mcp.json": "{}", "w/tooling/claude/settings.json": "{}", "w/scripts/run.sh": "", "w/scripts/hook.sh": "", "w/deep/er/code/": "", "w/free/x": "",
		"w/.git/HEAD": "", "w/.git/objects/": "", "w" + name + "/": "", "outside/x": "",
	})
	for link, to := range map[string]string{
		".mcp.json": "one", "one": "cfg/mcp.json", ".claude": "tooling/claude", "tooling/claude/run.sh": "../../scripts/run.sh", name[1:] + "/x": "../../scripts/hook.sh",
		"sub": "free", "deep/.vscode": "er/code", ".codex": "../outside", ".cursor": ".", ".gemini": "missing", ".idea": ".idea2", ".idea2": ".idea",
	} {
		if err := os.Symlink(to, filepath.Join(top, "w", link)); err != nil {
			t.Fatal(err)
		}
	}
	_, links := config.GitTrees(t.Context(), disk{}, []string{top + "/w"}, []string{".mcp.json", ".claude", ".vscode/tasks.json", ".codex", ".cursor", ".gemini", ".idea"})
	var got []string
	for p, why := range links {
		rel, err := filepath.Rel(top+"/w", p)
		if err != nil || why == "" {
			t.Errorf("%s: %q %v", p, why, err)
		}
		got = append(got, rel)
	}
	slices.Sort(got)
	want := []string{".idea2", "cfg/mcp.json", "deep/er/code", "missing", "one", "scripts/hook.sh", "scripts/run.sh", "tooling/claude"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
