//go:build linux

package escapes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"

	"golang.org/x/sys/unix"
)

// protected is a row that changes what is read-only inside the workspace. watch must not change. All
// paths of such rows may have words of protecttest.
func protected(name, escape, watch string, do func(p place) error) attempt {
	return attempt{
		name: name, escape: escape, protects: "what runs or is trusted outside the sandbox later", weakness: "protected",
		do: do, watch: []string{protecttest.In(watch)}, before: repository,
	}
}

// repository creates git directories in a row's folder: a normal one, a nested one, a module, a
// worktree, and a folder that points to another one's.
func repository(h *host, p place) {
	for _, git := range []string{"/.git", "/sub/.git", "/.git/modules/m"} {
		h.put(p.in+git+"/config", "[core]\n\tbare = false\n", 0o644)
		h.put(p.in+git+"/HEAD", "ref: refs/heads/main\n", 0o644)
		h.put(p.in+git+"/hooks/pre-commit.sample", "#!/bin/sh\n", 0o755)
		for _, dir := range []string{"objects", "refs"} {
			if err := os.MkdirAll(filepath.Join(p.in+git, dir), 0o755); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	h.put(p.in+"/.git/worktrees/w/commondir", "../..\n", 0o644)
	h.put(p.in+"/.git/worktrees/w/gitdir", p.in+"/linked/.git\n", 0o644)
	h.put(p.in+"/linked/.git", "gitdir: "+p.in+"/.git/worktrees/w\n", 0o644)
	h.put(p.in+protecttest.In("/{shell}"), "export A=1\n", 0o644)
	h.put(p.in+protecttest.In("/{agent}/settings.toml"), "model = \"m\"\n", 0o644)
}

// made creates a file in the workspace with the folders above it.
func made(path string) func(p place) error {
	return func(p place) error {
		full := p.in + "/" + protecttest.In(path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		return os.WriteFile(full, []byte("evil\n"), 0o755)
	}
}

// do runs steps until one fails.
func do(steps ...func() error) error {
	for _, s := range steps {
		if err := s(); err != nil {
			return err
		}
	}
	return nil
}

func renamed(p place, from, to string) func() error {
	return func() error { return unix.Rename(p.in+"/"+protecttest.In(from), p.in+"/"+protecttest.In(to)) }
}

func exchanged(p place, a, b string) func() error {
	return func() error {
		return unix.Renameat2(unix.AT_FDCWD, p.in+"/"+a, unix.AT_FDCWD, p.in+"/"+b, unix.RENAME_EXCHANGE)
	}
}

func planted(p place, path string) func() error { return func() error { return made(path)(p) } }

func gitEscapes() []attempt {
	return []attempt{
		protected("git: write config", "E26", ".git/config", made(".git/config")),
		protected("git: append to config", "E26", ".git/config", func(p place) error { return writeTo(p.in+"/.git/config", unix.O_WRONLY|unix.O_APPEND) }),
		protected("git: empty config", "E26", ".git/config", func(p place) error { return unix.Truncate(p.in+"/.git/config", 0) }),
		protected("git: unlink config", "E26", ".git/config", func(p place) error { return unix.Unlink(p.in + "/.git/config") }),
		protected("git: replace config", "E26", ".git/config", func(p place) error { return renamed(p, "mine", ".git/config")() }),
		protected("git: exchange config", "E26", ".git/config", func(p place) error { return exchanged(p, "mine", ".git/config")() }),
		protected("git: config through a symlink", "E1", ".git/config", func(p place) error {
			return errors.Join(os.Symlink(".git/config", p.in+"/l"), writeTo(p.in+"/l", unix.O_WRONLY))
		}),
		protected("git: config through a symlinked folder", "E22", ".git/config", func(p place) error {
			return errors.Join(os.Symlink(".git", p.in+"/g"), writeTo(p.in+"/g/config", unix.O_WRONLY))
		}),
		protected("git: config through /proc/self/cwd", "E6", ".git/config", func(p place) error { return writeTo("/proc/self/cwd/.git/config", unix.O_WRONLY) }),
		protected("git: config through a new hard link", "E19", ".git/config", func(p place) error {
			return do(func() error { return unix.Link(p.in+"/.git/config", p.in+"/c") }, func() error { return writeTo(p.in+"/c", unix.O_WRONLY) })
		}),
		protected("git: a symlink in place of config", "E14", ".git/config", func(p place) error {
			return do(func() error { return os.Symlink("../mine", p.in+"/.git/x") }, renamed(p, ".git/x", ".git/config"))
		}),
		protected("git: chmod of config", "E18", ".git/config", func(p place) error { return unix.Chmod(p.in+"/.git/config", 0o666) }),
		protected("git: an address of a remote", "E26", ".git/remotes/origin", made(".git/remotes/origin")),
		protected("git: an address of a branch", "E26", ".git/branches/origin", made(".git/branches/origin")),
		protected("git: config.worktree that was absent", "E13", ".git/config.worktree", made(".git/config.worktree")),
		protected("git: commondir that was absent", "E15", ".git/commondir", made(".git/commondir")),
		protected("git: commondir as a symlink", "E15", ".git/commondir", func(p place) error { return os.Symlink("../mine", p.in+"/.git/commondir") }),
		protected("git: gitdir that was absent", "E15", ".git/gitdir", made(".git/gitdir")),
		protected("git: a hook", "E25", ".git/hooks", made(".git/hooks/pre-commit")),
		protected("git: a hook moved into place", "E25", ".git/hooks", func(p place) error { return renamed(p, "mine", ".git/hooks/pre-commit")() }),
		protected("git: chmod of a hook", "E25", ".git/hooks", func(p place) error { return unix.Chmod(p.in+"/.git/hooks/pre-commit.sample", 0o700) }),
		protected("git: another folder of hooks", "E25", ".git/hooks", func(p place) error {
			return do(planted(p, "sub/pre-commit"), renamed(p, ".git/hooks", ".git/old"), renamed(p, "sub", ".git/hooks"))
		}),
		protected("git: hooks exchanged", "E25", ".git/hooks", func(p place) error { return exchanged(p, ".git/hooks", "sub")() }),
		protected("git: its folder moved, another made", "E11", ".git", func(p place) error {
			return do(renamed(p, ".git", "x"), planted(p, ".git/hooks/pre-commit"))
		}),
		protected("git: its folder exchanged", "E11", ".git", func(p place) error { return exchanged(p, ".git", "sub")() }),
		protected("git: a hook of a nested repository", "E10", "sub/.git/hooks", made("sub/.git/hooks/pre-commit")),
		protected("git: config of a nested repository", "E10", "sub/.git/config", made("sub/.git/config")),
		protected("git: the ancestor of a nested repository moved", "E11", "sub", func(p place) error {
			return do(renamed(p, "sub", "sub2"), planted(p, "sub/.git/hooks/pre-commit"))
		}),
		protected("git: config of a module", "E26", ".git/modules/m/config", made(".git/modules/m/config")),
		protected("git: a hook of a module", "E26", ".git/modules/m/hooks", made(".git/modules/m/hooks/post-checkout")),
		protected("git: commondir of a worktree", "E15", ".git/worktrees/w/commondir", made(".git/worktrees/w/commondir")),
		protected("git: gitdir of a worktree", "E15", ".git/worktrees/w/gitdir", made(".git/worktrees/w/gitdir")),
		protected("git: a .git file pointed elsewhere", "E15", "linked/.git", made("linked/.git")),
		protected("git: a .git file replaced by a folder", "E14", "linked/.git", func(p place) error {
			return do(func() error { return unix.Unlink(p.in + "/linked/.git") }, planted(p, "linked/.git/config"))
		}),
		protected("git: a step of a rebase", "E26", ".git/rebase-merge/git-rebase-todo", made(".git/rebase-merge/git-rebase-todo")),
		protected("git: a step of a rebase, renamed", "E26", ".git/rebase-merge/git-rebase-todo", func(p place) error {
			return do(planted(p, ".git/rebase-merge/x"), renamed(p, ".git/rebase-merge/x", ".git/rebase-merge/git-rebase-todo"))
		}),
		protected("git: a step of a rebase, in a folder moved", "E26", ".git/rebase-merge/git-rebase-todo", func(p place) error {
			return do(planted(p, ".git/x/git-rebase-todo"), renamed(p, ".git/x", ".git/rebase-merge"))
		}),
		stepLater(),
		protected("git: a step of a rebase in a worktree", "E26", ".git/worktrees/w/rebase-merge/git-rebase-todo", made(".git/worktrees/w/rebase-merge/git-rebase-todo")),
		protected("git: a strategy of a rebase", "E26", ".git/rebase-merge/strategy", made(".git/rebase-merge/strategy")),
		protected("git: options of am", "E26", ".git/rebase-apply/apply-opt", made(".git/rebase-apply/apply-opt")),
		protected("git: paths of rerere", "E26", ".git/MERGE_RR", made(".git/MERGE_RR")),
		protected("git config itself", "E26", ".git/config", func(p place) error {
			return exec.Command("git", "-C", p.in, "config", "core.fsmonitor", "evil").Run()
		}),
	}
}

// stepLater writes a step through a descriptor from before the rename.
func stepLater() attempt {
	const steps = "/.git/rebase-merge/git-rebase-todo"
	a := protected("git: a step of a rebase, through a descriptor kept", "E26", steps[1:], func(p place) error {
		if err := os.MkdirAll(filepath.Dir(p.in+steps), 0o755); err != nil {
			return err
		}
		f, err := os.Create(p.in + "/mine2")
		if err != nil {
			return err
		}
		defer f.Close()
		return do(renamed(p, "mine2", steps[1:]), func() error { _, err := f.WriteString("exec evil\n"); return err })
	})
	a.watch = nil
	a.landed = func(h *host, p place) bool {
		text, _ := os.ReadFile(p.in + steps)
		return len(text) > 0
	}
	return a
}

func protectedEscapes() []attempt {
	rows := gitEscapes()
	absent := []struct{ escape, path string }{
		{"E13", "{agent}/hooks.toml"}, {"E29", "{agent2}"}, {"E29", "sub/{agent2}"}, {"E28", "deep/below/{shell}"},
		{"E28", "{editor}"}, {"E28", protecttest.Nested(protect.Editor)[1]}, {"E28", protecttest.Plain(protect.Editor)[0] + "/workspace.xml"},
	}
	for _, agent := range protecttest.Plain(protect.Agent)[2:7] {
		absent = append(absent, struct{ escape, path string }{"E29", agent + "/settings.json"})
	}
	for _, a := range absent {
		rows = append(rows, protected("absent at the start: "+a.path, a.escape, a.path, made(a.path)))
	}
	return append(rows,
		protected("{shell}", "E28", "{shell}", made("{shell}")),
		protected("{shell} replaced", "E28", "{shell}", func(p place) error { return renamed(p, "mine", "{shell}")() }),
		protected("{agent}: a setting", "E13", "{agent}", made("{agent}/settings.toml")),
		protected("{agent}: its folder moved, another made", "E13", "{agent}", func(p place) error {
			return do(renamed(p, "{agent}", "x"), planted(p, "{agent}/settings.toml"))
		}),
		protected("{agent}: a symlink in its place", "E13", "{agent}", func(p place) error {
			return do(renamed(p, "{agent}", "x"), func() error { return os.Symlink("sub", p.in+protecttest.In("/{agent}")) })
		}),
		protected("{editor/} as a symlink to a folder with {/editor}", "E14", "{editor/}", func(p place) error {
			return do(planted(p, "sub/{/editor}"), func() error { return os.Symlink("sub", p.in+protecttest.In("/{editor/}")) })
		}),
		protected("a folder moved to a protected name", "E13", "{agent2}", func(p place) error {
			return do(planted(p, "sub/settings.json"), renamed(p, "sub", "{agent2}"))
		}),
		aboveRoots(),
		protected("a package moved to where people work", "E13", "a", func(p place) error {
			return do(planted(p, "node_modules/a/{agent}/settings.json"), renamed(p, "node_modules/a", "a"))
		}),
		protected("a package exchanged with a folder", "E13", "sub", func(p place) error {
			return do(planted(p, "node_modules/a/{shell}"), func() error { return exchanged(p, "sub", "node_modules/a")() })
		}),
		protected("the folder of packages renamed", "E13", "a", func(p place) error {
			return do(planted(p, "node_modules/{agent}/settings.json"), renamed(p, "node_modules", "a"))
		}),
		protected("a folder of a package moved to a protected name", "E13", "{agent2}", func(p place) error {
			return do(planted(p, "node_modules/a/{agent2}/settings.json"), renamed(p, "node_modules/a/{agent2}", "{agent2}"))
		}),
		protected("a file of a package moved to a protected name", "E13", "{shell}", func(p place) error {
			return do(planted(p, "node_modules/a/{shell}"), renamed(p, "node_modules/a/{shell}", "{shell}"))
		}),
		protected("a link into a package", "E14", "a", func(p place) error {
			return do(planted(p, "node_modules/a/{shell}"), func() error { return os.Symlink("node_modules/a", p.in+"/a") })
		}),
		protected("a link into a package, moved out of another", "E14", "a", func(p place) error {
			return do(planted(p, "node_modules/a/{shell}"), func() error { return os.Symlink(p.in+"/node_modules/a", p.in+"/node_modules/b") },
				renamed(p, "node_modules/b", "a"))
		}),
		protected("a second name of a link into a package", "E14", "a", func(p place) error {
			return do(planted(p, "node_modules/a/{shell}"), func() error { return os.Symlink(p.in+"/node_modules/a", p.in+"/node_modules/b") },
				func() error { return unix.Link(p.in+"/node_modules/b", p.in+"/a") })
		}),
		clonedPackage("git: config of a package that is a clone", ".git/config"),
		clonedPackage("{repository} of a package that is a clone", "{repository}"),
	)
}

// clonedPackage writes what version control runs in a package that has a repository of its own.
func clonedPackage(name, path string) attempt {
	a := protected(name, "E26", "node_modules/a/"+path, made("node_modules/a/"+path))
	a.before = func(h *host, p place) {
		repository(h, p)
		h.put(p.in+protecttest.In("/node_modules/a/{repository/}/requires"), "store\n", 0o644)
		h.put(p.in+"/node_modules/a/.git/HEAD", "ref: refs/heads/main\n", 0o644)
	}
	return a
}

// aboveRoots: protected names begin at or above the only write roots.
func aboveRoots() attempt {
	paths := []string{protecttest.In("{editor}"), protecttest.In("{agent}/skills/deep/{shell}")}
	a := protected("names that begin at or above a write root", "E14", "", func(p place) error {
		err := made("{editor/}/mine")(p)
		for _, path := range paths {
			err = errors.Join(err, made(path)(p))
		}
		return err
	})
	a.policy, a.watch = "above", nil
	a.before = func(h *host, p place) {
		for _, path := range paths {
			h.put(filepath.Dir(p.in+"/"+path)+"/old", "data\n", 0o644)
		}
	}
	a.landed = func(h *host, p place) bool {
		if _, err := os.Stat(p.in + protecttest.In("/{editor/}/mine")); err != nil {
			h.t.Errorf("what is not protected cannot be made in the write root: %v", err)
		}
		return slices.ContainsFunc(paths, func(path string) bool { _, err := os.Stat(p.in + "/" + path); return err == nil })
	}
	return a
}
