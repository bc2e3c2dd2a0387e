//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// protected is a row that changes what is read-only inside the workspace. watch must not change.
func protected(name, escape, watch string, do func(p place) error) attempt {
	return attempt{
		name: name, escape: escape, protects: "what runs or is trusted outside the sandbox later", weakness: "protected",
		do: do, watch: []string{watch}, before: repository,
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
	h.put(p.in+"/.envrc", "export A=1\n", 0o644)
	h.put(p.in+"/.codeagent/settings.toml", "model = \"m\"\n", 0o644)
}

// made creates a file in the workspace with the folders above it.
func made(path string) func(p place) error {
	return func(p place) error {
		full := p.in + "/" + path
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
	return func() error { return unix.Rename(p.in+"/"+from, p.in+"/"+to) }
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
		protected("git config itself", "E26", ".git/config", func(p place) error {
			return exec.Command("git", "-C", p.in, "config", "core.fsmonitor", "evil").Run()
		}),
	}
}

func protectedEscapes() []attempt {
	rows := gitEscapes()
	for _, absent := range []struct{ escape, path string }{
		{"E13", ".codeagent/hooks.toml"}, {"E29", ".claude/settings.json"}, {"E29", ".cursor/mcp.json"}, {"E29", ".codex/config.toml"},
		{"E29", ".gemini/settings.json"}, {"E29", ".agents/hooks"}, {"E29", ".mcp.json"}, {"E28", ".vscode/tasks.json"},
		{"E28", ".vscode/settings.json"}, {"E28", ".idea/workspace.xml"}, {"E28", "deep/below/.envrc"}, {"E29", "sub/.mcp.json"},
	} {
		rows = append(rows, protected("absent at the start: "+absent.path, absent.escape, absent.path, made(absent.path)))
	}
	return append(rows,
		protected(".envrc", "E28", ".envrc", made(".envrc")),
		protected(".envrc replaced", "E28", ".envrc", func(p place) error { return renamed(p, "mine", ".envrc")() }),
		protected(".codeagent: a setting", "E13", ".codeagent", made(".codeagent/settings.toml")),
		protected(".codeagent: its folder moved, another made", "E13", ".codeagent", func(p place) error {
			return do(renamed(p, ".codeagent", "x"), planted(p, ".codeagent/settings.toml"))
		}),
		protected(".codeagent: a symlink in its place", "E13", ".codeagent", func(p place) error {
			return do(renamed(p, ".codeagent", "x"), func() error { return os.Symlink("sub", p.in+"/.codeagent") })
		}),
		protected(".vscode as a symlink to a folder with tasks", "E14", ".vscode", func(p place) error {
			return do(planted(p, "sub/tasks.json"), func() error { return os.Symlink("sub", p.in+"/.vscode") })
		}),
		protected("a folder moved to a protected name", "E13", ".claude", func(p place) error {
			return do(planted(p, "sub/settings.json"), renamed(p, "sub", ".claude"))
		}),
	)
}
