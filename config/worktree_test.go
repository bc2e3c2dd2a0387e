package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config"
)

// linkWorktree makes the workspace a linked worktree of the repository "repo", as git does, and
// a repository "victim" that does not know the workspace.
func linkWorktree(t *testing.T, h *home) {
	t.Helper()
	for _, repository := range []string{"repo", "victim"} {
		h.mkdir(t, repository+"/.git/objects/info", repository+"/.git/refs/heads", repository+"/.git/logs", repository+"/.git/hooks")
		h.write(t, repository+"/.git/HEAD", "ref: refs/heads/main\n")
		h.write(t, repository+"/.git/config", "")
		own := repository + "/.git/worktrees/app"
		h.write(t, own+"/HEAD", "ref: refs/heads/app\n")
		h.write(t, own+"/commondir", "../..\n")
		h.write(t, own+"/gitdir", filepath.Join(h.dir, "elsewhere/.git")+"\n")
	}
	h.write(t, "repo/.git/worktrees/app/gitdir", filepath.Join(h.ws, ".git")+"\n")
	h.write(t, "repo/.git/worktrees/other/HEAD", "ref: refs/heads/other\n")
	h.mkdir(t, "repo/.git/worktrees/other/logs", "repo/.git/worktrees/linked")
	h.link(t, h.dir+"/victim/.git/logs", "repo/.git/worktrees/linked/logs")
	h.write(t, "src/app/.git", "gitdir: "+filepath.Join(h.dir, "repo/.git/worktrees/app")+"\n")
}

// submodule makes a git directory that names its work tree.
func (h *home) submodule(t *testing.T, dir, tree string) {
	t.Helper()
	h.mkdir(t, dir+"/objects/info", dir+"/refs", dir+"/hooks")
	h.write(t, dir+"/HEAD", "ref: refs/heads/main\n")
	h.write(t, dir+"/config", "[core]\n\tworktree = "+tree+"\n")
}

// TestPolicySubmodule: git works where the workspace and a whole git directory elsewhere name each other.
func TestPolicySubmodule(t *testing.T) {
	for name, c := range map[string][2]string{
		"relative paths": {"../../super/.git/modules/a/b", "../../../../../src/app"},
		"absolute paths": {"HOME/super/.git/modules/a/b", "HOME/src/app"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.submodule(t, "super/.git", "/elsewhere")
			h.submodule(t, "super/.git/modules/a/b", strings.Replace(c[1], "HOME", h.dir, 1))
			h.submodule(t, "super/.git/modules/a/b/modules/n", "../../../../../../../src/app/n")
			h.write(t, "src/app/.git", "gitdir: "+strings.Replace(c[0], "HOME", h.dir, 1)+"\n")
			h.check(t, h.mustPolicy(t), map[string]bool{
				"w super/.git/modules/a/b/objects/x": true, "w super/.git/modules/a/b/index.lock": true, "w super/.git/modules/a/b/HEAD": true, "w super/.git/modules/a/b/refs/x": true,
				"git super/.git/modules/a/b":           false,
				"git super/.git/modules/a/b/modules/n": false, "w src/app/.git": false,
				"w super/.git/HEAD": false, "w super/.git/objects/x": false, "git super/.git": false, "w super/.git/modules/c": false, "w super/.git/modules/a/c": false, "w super/file": false,
			})
			h.check(t, h.mustPolicy(t, "sandbox.mode=read-only"), map[string]bool{"w super/.git/modules/a/b/HEAD": false})
		})
	}
}

func TestPolicyLinkedWorktree(t *testing.T) {
	for name, relative := range map[string]bool{"absolute paths": false, "relative paths": true} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			linkWorktree(t, h)
			if relative {
				h.write(t, "src/app/.git", "gitdir: ../../repo/.git/worktrees/app\n")
				h.write(t, "repo/.git/worktrees/app/gitdir", "../../../../src/app/.git\n")
			}
			h.check(t, h.mustPolicy(t), map[string]bool{
				"w repo/.git/objects/aa/b": true, "w repo/.git/refs/heads/x": true, "w repo/.git/logs/refs/heads/x": true, "w repo/.git/packed-refs": true,
				"w repo/.git/packed-refs.lock": true, "w repo/.git/worktrees/app/HEAD": true, "w repo/.git/worktrees/app/index.lock": true,
				"w repo/.git/worktrees/app/rebase-merge/done": true, "w src/app/file": true,
				"w src/app/.git": false, "git repo/.git": false, "w repo/.git/config.lock": false, "w repo/.git/HEAD": false, "w repo/.git/index": false,
				"w repo/.git/info/attributes": false, "w repo/.git/objects/info/alternates": false, "git repo/.git/modules/m": false,
				"git repo/.git/worktrees/app":      false,
				"w repo/.git/worktrees/other/HEAD": false, "w repo/.git/worktrees/other/index": false, "git repo/.git/worktrees/other": false, "w repo/.git/worktrees/new": false,
				"w repo/.git/HEAD.lock": true, "w repo/.git/worktrees/other/HEAD.lock": true, "w repo/.git/worktrees/other/logs/HEAD.lock": true,
				"w repo/.git/worktrees/linked/HEAD.lock": false, "w repo/.git/worktrees/linked/logs/HEAD": false, "w repo/.git": false, "w repo/file": false, "w victim/.git/objects/aa/b": false,
			})
			h.check(t, h.mustPolicy(t, "sandbox.mode=read-only"), map[string]bool{"w repo/.git/objects/aa/b": false, "w repo/.git/worktrees/app/HEAD": false})
			p := h.mustPolicy(t, `sandbox.protected=["~/repo/.git/refs", "logs"]`, `sandbox.deny_read=["~/repo/.git/objects"]`)
			h.check(t, p, map[string]bool{
				"w repo/.git/refs/heads/x": false, "w repo/.git/logs/HEAD": false, "w repo/.git/objects/aa/b": false, "w repo/.git/packed-refs": true,
			})
		})
	}
}

// TestPolicyInsideWorktree: a session in a subfolder may use the git directory of its worktree, and
// no other files of the worktree. The nearest .git counts, as for git. Another folder of the
// settings does not open the repository around it.
func TestPolicyInsideWorktree(t *testing.T) {
	opened := map[string]bool{"w repo/.git/objects/aa/b": true, "w repo/.git/worktrees/app/index.lock": true, "w src/app/a/b/file": true}
	shut := map[string]bool{
		"git repo/.git": false, "git repo/.git/worktrees/app": false,
		"git repo/.git/worktrees/app/modules/m": false, "w src/app/.git": false, "w src/app/file": false, "w src/app/a/file": false,
	}
	nothing := map[string]bool{"w repo/.git/objects/aa/b": false, "w repo/.git/worktrees/app/index.lock": false, "w repo/.git/worktrees/app/HEAD": false}
	for name, c := range map[string]struct {
		plant func(h *home)
		set   []string
		want  map[string]bool
	}{
		"a subfolder":                 {func(h *home) {}, nil, opened},
		"a repository between":        {func(h *home) { h.write(t, "src/app/a/.git/HEAD", "x") }, nil, nothing},
		"a forged .git between":       {func(h *home) { h.write(t, "src/app/a/.git", "gitdir: "+h.dir+"/victim/.git/worktrees/app\n") }, nil, nothing},
		"read-only":                   {func(h *home) {}, []string{"sandbox.mode=read-only"}, map[string]bool{"w repo/.git/objects/aa/b": false}},
		"another folder of settings":  {func(h *home) { h.mkdir(t, "plain"); h.place.Workspace = filepath.Join(h.dir, "plain") }, []string{`sandbox.add_dirs=["~/src/app/a/b"]`}, nothing},
		"a git directory of its own":  {func(h *home) { h.write(t, "src/app/a/b/.git/HEAD", "x") }, nil, nothing},
		"a link to the files of .git": {func(h *home) { h.link(t, "../.git", "src/app/a/.git") }, nil, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			linkWorktree(t, h)
			h.write(t, "repo/.git/worktrees/app/modules/m/HEAD", "x")
			h.mkdir(t, "src/app/a/b")
			h.place.Workspace = filepath.Join(h.dir, "src/app/a/b")
			c.plant(h)
			p := h.mustPolicy(t, c.set...)
			h.check(t, p, c.want)
			h.check(t, p, shut)
		})
	}
}

// TestPolicyForgedWorktree: nothing that a command could leave as .git, or in folders that it may
// write, opens a repository. The victim stays closed, and the reason is reported.
func TestPolicyForgedWorktree(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(h *home)
		why   string // "": top is not a linked worktree, and nothing is reported
	}{
		"the repository of another worktree": {func(h *home) {
			h.write(t, "src/app/.git", "gitdir: "+h.dir+"/victim/.git/worktrees/app\n")
		}, "elsewhere"},
		"the whole repository": {func(h *home) { h.write(t, "src/app/.git", "gitdir: "+h.dir+"/victim/.git\n") }, "does not name it"},
		"a git directory in the workspace that names the repository": {func(h *home) {
			h.write(t, "src/app/.git", "gitdir: .x/worktrees/app\n")
			h.write(t, "src/app/.x/HEAD", "ref: refs/heads/main\n")
			h.mkdir(t, "src/app/.x/objects")
			h.write(t, "src/app/.x/worktrees/app/HEAD", "ref: refs/heads/main\n")
			h.write(t, "src/app/.x/worktrees/app/gitdir", h.ws+"/.git\n")
			h.write(t, "src/app/.x/worktrees/app/commondir", h.dir+"/victim/.git\n")
		}, "commondir"},
		"the same, outside worktrees": {func(h *home) {
			h.write(t, "src/app/.git", "gitdir: .x\n")
			h.write(t, "src/app/.x/gitdir", h.ws+"/.git\n")
			h.write(t, "src/app/.x/commondir", h.dir+"/victim/.git\n")
		}, "not in the worktrees"},
		"a link to its worktrees": {func(h *home) {
			h.write(t, "src/app/.git", "gitdir: .x/worktrees/app\n")
			h.link(t, h.dir+"/victim/.git", "src/app/.x")
			h.write(t, "victim/.git/worktrees/app/gitdir", h.ws+"/.git\n")
		}, "symbolic link"},
		"a worktree whose .git is a link": {func(h *home) {
			h.write(t, "src/app/real", "gitdir: "+h.dir+"/repo/.git/worktrees/app\n")
			h.link(t, "real", "src/app/.git")
		}, ""},
		"refs that lead to another repository": {func(h *home) {
			h.link(t, h.dir+"/victim/.git/refs", "repo/.git/refs")
		}, "symbolic link"},
		"a repository without objects": {func(h *home) {}, "objects"},
		"a folder as gitdir":           {func(h *home) { h.mkdir(t, "repo/.git/worktrees/app/gitdir") }, "gitdir"},
		"a submodule that is absent":   {func(h *home) { h.write(t, "src/app/.git", "gitdir: "+h.dir+"/repo/.git/modules/m\n") }, ""},
		"another submodule": {func(h *home) {
			h.submodule(t, "victim/.git", "../../x")
			h.write(t, "src/app/.git", "gitdir: "+h.dir+"/victim/.git\n")
		}, "does not name it"},
		// The path ../../../app, seen from src/app/.x/app, is src/app.
		"another submodule, by a link": {func(h *home) {
			h.submodule(t, "victim/.git/modules/app", "../../../app")
			h.link(t, h.dir+"/victim/.git/modules", "src/app/.x")
			h.write(t, "src/app/.git", "gitdir: .x/app\n")
		}, "leads to"},
		"settings that name two work trees": {func(h *home) {
			h.submodule(t, "victim/.git", h.ws)
			h.write(t, "victim/.git/config.worktree", "[core]\nworktree = /elsewhere\n")
			h.write(t, "src/app/.git", "gitdir: "+h.dir+"/victim/.git\n")
		}, "does not name it"},
		"settings that cannot be read": {func(h *home) {
			h.submodule(t, "victim/.git", h.ws)
			h.write(t, "victim/.git/config", "[core]\nworktree = "+h.ws+"\n[x")
			h.write(t, "src/app/.git", "gitdir: "+h.dir+"/victim/.git\n")
		}, "cannot be read"},
		"refs of a submodule that lead out": {func(h *home) {
			h.submodule(t, "sub", h.ws)
			_ = os.RemoveAll(filepath.Join(h.dir, "sub/refs"))
			h.link(t, h.dir+"/victim/.git/refs", "sub/refs")
			h.write(t, "src/app/.git", "gitdir: ../../sub\n")
		}, "symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			linkWorktree(t, h)
			for _, gone := range map[string][]string{
				"a worktree whose .git is a link": {"src/app/.git"}, "refs that lead to another repository": {"repo/.git/refs"},
				"a repository without objects": {"repo/.git/objects"}, "a folder as gitdir": {"repo/.git/worktrees/app/gitdir"},
			}[name] {
				if err := os.RemoveAll(filepath.Join(h.dir, gone)); err != nil {
					t.Fatal(err)
				}
			}
			c.plant(h)
			p := h.mustPolicy(t)
			h.check(t, p, map[string]bool{
				"w victim/.git/objects/aa/b": false, "w victim/.git/refs/heads/x": false, "w victim/.git/worktrees/app/HEAD": false, "w victim/.git/packed-refs": false,
				"w repo/.git/objects/aa/b": false, "w repo/.git/refs/heads/x": false, "w repo/.git/worktrees/app/HEAD": false, "w src/app/file": true,
			})
			_, err := config.OpenWorktree(p, h.ws)
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("said %v, want %q", err, c.why)
			}
		})
	}
}

// TestPolicyWorktreeOfAnother: the files must belong to the user.
func TestPolicyWorktreeOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files to another user")
	}
	for _, name := range []string{"src/app/.git", "repo/.git", "repo/.git/worktrees/app", "repo/.git/worktrees/app/gitdir", "repo/.git/refs"} {
		h := newHome(t)
		linkWorktree(t, h)
		if err := os.Chown(filepath.Join(h.dir, name), 1234, 1234); err != nil {
			t.Fatal(err)
		}
		p := h.mustPolicy(t)
		h.check(t, p, map[string]bool{"w repo/.git/objects/aa/b": false, "w repo/.git/refs/heads/x": false, "w repo/.git/worktrees/app/HEAD": false})
		if _, err := config.OpenWorktree(p, h.ws); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("%s: said %v", name, err)
		}
	}
}
