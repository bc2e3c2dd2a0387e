package git

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"testing"
)

// TestTop: the nearest folder counts, and what cannot be looked at ends the search.
func TestTop(t *testing.T) {
	for _, c := range []struct {
		dir, has, bad, want string
	}{
		{"/a/b/c", "/a/b/.git", "", "/a/b"},
		{"/a/b", "/a/b/.git", "", "/a/b"},
		{"/a/b", "/.git", "", "/"},
		{"/a/b", "", "", ""},
		{"/a/b", "/.git", "/a/.git", ""},
		{"/", "/.git", "", "/"},
	} {
		top, ok := Top(c.dir, func(entry string) error {
			switch entry {
			case c.bad:
				return errors.New("no right")
			case c.has:
				return nil
			}
			return fs.ErrNotExist
		})
		if ok != (c.want != "") || top != cmp.Or(c.want, c.dir) {
			t.Errorf("%+v: %q, %v", c, top, ok)
		}
	}
}

func TestTarget(t *testing.T) {
	for text, want := range map[string]string{"gitdir: ../x\n": "../x", "gitdir: /a b\r\n": "/a b", "gitdir: x": "x", "gitdir:  x \n": " x ", "gitdir:x\n": "", "x": "", "": ""} {
		if got, ok := Target(text); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}

func TestPosition(t *testing.T) {
	for dir, want := range map[string][2]string{
		"/r/.git/modules/a": {"/r/.git", Modules}, "/r/.git/Worktrees/a": {"/r/.git", Worktrees}, "/r/x/MODULE\u017f/a": {"/r/x", Modules},
		"/r/.git/modules": {}, "/r/.git/modules/a/b": {}, "/": {},
	} {
		if of, position := Position(dir); of != want[0] || position != want[1] {
			t.Errorf("%s: %q, %q", dir, of, position)
		}
	}
	for dir, want := range map[string]string{"/r/.git/refs": "/r/.git", "/r/.git/logs/refs": "/r/.git", "/r/.git/Refs": "", "/r/.git/refs/a": ""} {
		if of, are := Branches(dir); are != (want != "") || are && of != want {
			t.Errorf("%s: %q, %v", dir, of, are)
		}
	}
}

// TestNames: whatever the spelling, what git runs, trusts or locks is recognised.
func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"config": true, "Config.Worktree": true, "commondir": true, "hooks": true, "HOOKS/pre-commit": true, "hooks/a/b": true, "hooks/a.sample": false,
		"hooks/config.worktree": false, "index": false, "HEAD": false, "config.lock": false, "x/config": false,
	} {
		if Runs(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
	for name, want := range map[string]string{
		"/g/Index.LOCK": "/g", "/g/sharedindex.a.lock": "/g", "/g/Rebase-merge/git-rebase-todo.lock": "/g", "/g/MERGE_RR.lock": "/g", "/g/config.lock": "settings",
		"/g/index": "", "/g/HEAD.lock": "", "/g/xindex.lock": "", "/g/git-rebase-todo.lock": "",
	} {
		if dir, settings := Locks(name); dir != want && !(settings && want == "settings") {
			t.Errorf("%s: %v, %v", name, dir, settings)
		}
	}
	has := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	if !Marked(has("HEAD", "objects")) || !Marked(has("HEAD", "commondir")) || Marked(has("objects", "commondir")) || Marked(has("HEAD")) || !IsMark("head") || IsMark("refs") {
		t.Error("wrong about the marks of a git directory")
	}
}
