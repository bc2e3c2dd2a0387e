//go:build linux

package gitrun_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	run "codeagent/exec"
	"codeagent/gitrun"
	"codeagent/sandbox"
)

// TestTrusted: git, asked in the sandbox, names what its settings trust inside a write root,
// and nothing that it only works on.
func TestTrusted(t *testing.T) {
	r := confined(t)
	for _, c := range []struct {
		name string
		set  func(t *testing.T, dir, home string)
		want []string // below the repository
	}{
		{"nothing", func(*testing.T, string, string) {}, nil},
		{"hooks, absent", config1("core.hooksPath", ".husky"), []string{".husky"}},
		{"hooks without a dot", config1("core.hooksPath", "githooks"), []string{"githooks"}},
		{"hooks of a manager", config1("core.hooksPath", ".husky/_"), []string{".husky", ".husky/_"}},
		{"hooks that stand there", func(t *testing.T, dir, _ string) {
			write(t, 0o755, "x", dir, "tools/hooks/pre-commit")
			git(t, dir, "config", "core.hooksPath", dir+"/tools/hooks")
		}, []string{"tools/hooks"}},
		{"hooks by a link", func(t *testing.T, dir, _ string) {
			if err := errors.Join(os.MkdirAll(dir+"/real", 0o755), os.Symlink("real", dir+"/named")); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "config", "core.hooksPath", "named")
		}, []string{"named", "real"}},
		{"the user's own setting", func(t *testing.T, _, home string) {
			write(t, 0o644, "[core]\n\thooksPath = .hooks\n", home, ".gitconfig")
		}, []string{".hooks"}},
		{"include, relative to its file", func(t *testing.T, dir, _ string) {
			write(t, 0o644, "[core]\n\tfsmonitor = tools/watch\n", dir, "team.config")
			git(t, dir, "config", "include.path", "../team.config")
		}, []string{"team.config", "tools/watch"}},
		{"include, absent", config1("include.path", "../absent.config"), []string{"absent.config"}},
		{"include that does not hold now", config1("includeIf.onbranch:other.path", "../other.config"), []string{"other.config"}},
		{"includes from includes", func(t *testing.T, dir, home string) {
			write(t, 0o644, "[include]\n\tpath = "+dir+"/a.config\n", home, ".gitconfig")
			write(t, 0o644, "[include]\n\tpath = sub/b.config\n", dir, "a.config")
			write(t, 0o644, "[gpg]\n\tprogram = ./sign\n", dir, "sub/b.config")
		}, []string{"a.config", "sign", "sub/b.config"}},
		{"programs of a file that does not hold now", func(t *testing.T, dir, _ string) {
			write(t, 0o644, "[core]\n\thooksPath = hooks\n[includeIf \"onbranch:third\"]\n\tpath = third.config\n", dir, "other.config")
			write(t, 0o644, "[diff]\n\texternal = ./diff\n", dir, "third.config")
			git(t, dir, "config", "includeIf.onbranch:other.path", "../other.config")
		}, []string{"diff", "hooks", "other.config", "third.config"}},
		{"fsmonitor", config1("core.fsmonitor", "./watch"), []string{"watch"}},
		{"ssh", config1("core.sshCommand", "tools/ssh -v"), []string{"tools/ssh"}},
		{"filter and its script", func(t *testing.T, dir, _ string) {
			write(t, 0o644, "x", dir, "clean.py")
			git(t, dir, "config", "filter.x.clean", "python3 clean.py %f")
			git(t, dir, "config", "filter.x.smudge", "'tools/smudge' --x=tools/table")
		}, []string{"clean.py", "tools/smudge", "tools/table"}},
		{"driver", config1("merge.mine.driver", "./merge %O %A %B"), []string{"merge"}},
		{"textconv", config1("diff.x.textconv", "sub/text"), []string{"sub/text"}},
		{"helper", config1("credential.helper", "!f() { ./helper; }; f"), []string{"helper"}},
		{"alias", config1("alias.ship", "!bash tools/ship.sh"), []string{"tools/ship.sh"}},
		{"editor", config1("core.editor", "./edit --wait"), []string{"edit"}},
		{"sequence editor", config1("sequence.editor", "tools/edit"), []string{"tools/edit"}},
		{"pager", config1("core.pager", "tools/pager | less"), []string{"tools/pager"}},
		{"attributes", config1("core.attributesFile", "attributes"), []string{"attributes"}},
		{"an unknown key", config1("new.thing.runs", "./run"), []string{"run"}},
		{"upload pack", config1("remote.origin.uploadpack", "tools/pack"), []string{"tools/pack"}},
		{"outside", config1("core.hooksPath", "/etc/hooks"), nil},
		{"the work tree itself", config1("core.hooksPath", "."), nil},
		{"its parent", config1("core.hooksPath", ".."), nil},
		{"what is worked on", func(t *testing.T, dir, _ string) {
			for _, name := range []string{"main", "origin", "src", "docs"} {
				write(t, 0o644, "x", dir, name+"/f")
			}
			git(t, dir, "init", "-q", "vendor/lib")
			git(t, dir, "config", "remote.origin.url", "vendor/lib")
			git(t, dir, "config", "remote.other.url", "git@example.org:docs/x.git")
			git(t, dir, "config", "branch.main.remote", "origin")
			git(t, dir, "config", "branch.main.merge", "refs/heads/main")
			git(t, dir, "config", "init.defaultBranch", "main")
			git(t, dir, "config", "user.name", "docs")
			git(t, dir, "config", "alias.lg", "log --oneline -- src docs/f a b")
			git(t, dir, "config", "format.pretty", "%h/%s")
			git(t, dir, "config", "core.quotePath", "false")
			git(t, dir, "config", "core.editor", "vim")
			git(t, dir, "config", "url.https://example.org/.insteadOf", "ex:")
			git(t, dir, "config", "safe.directory", dir+"/vendor/lib")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, home := repository(t), t.TempDir()
			c.set(t, dir, home)
			p := sandbox.WorkspaceWrite(dir)
			p.Protected.Paths = sandbox.GitProtected(dir + "/.git")
			g := gitrun.New(gitrun.Options{Runner: r, Program: gitProgram, Policy: p, Timeout: patience})
			got, err := g.Trusted(t.Context(), gitrun.Tree{Top: dir}, p, gitrun.Home{Dir: home}, run.OS{})
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], dir+"/")
			}
			slices.Sort(got)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

func config1(name, value string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, _ string) { git(t, dir, "config", name, value) }
}

// TestTrustedByASubmodule: its settings are in the repository around it, and its programs in
// its own work tree.
func TestTrustedByASubmodule(t *testing.T) {
	dir, other := repository(t), repository(t)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	git(t, filepath.Join(dir, "sub"), "config", "core.hooksPath", "hooks")
	p := sandbox.WorkspaceWrite(dir)
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: p, Timeout: patience})
	got, err := g.Trusted(t.Context(), gitrun.Tree{Dir: dir + "/.git/modules/sub"}, p, gitrun.Home{Dir: t.TempDir()}, run.OS{})
	if err != nil || !slices.Contains(got, dir+"/sub/hooks") {
		t.Errorf("%q %v", got, err)
	}
}

// TestTrustedStartsNothing, whatever the settings are, and ends if an included file is a pipe.
func TestTrustedStartsNothing(t *testing.T) {
	r := confined(t)
	for _, trap := range traps {
		dir := repository(t)
		marker := filepath.Join(t.TempDir(), "marker")
		program := write(t, 0o755, "#!/bin/sh\ntouch "+marker+"\n", dir, "program")
		trap.set(t, dir, program)
		p := sandbox.WorkspaceWrite(dir)
		g := gitrun.New(gitrun.Options{Runner: unconfined{r}, Program: gitProgram, Policy: p, Timeout: patience})
		_, _ = g.Trusted(t.Context(), gitrun.Tree{Top: dir}, p, gitrun.Home{Dir: t.TempDir()}, run.OS{})
		if _, err := os.Stat(marker); err == nil {
			t.Errorf("%s: a program was started", trap.name)
		}
	}
}

// slow is a git that reads from a FIFO without a writer.
type slow struct{ asked int }

func (s *slow) Run(context.Context, sandbox.Policy, run.Command, run.Sink) (run.Outcome, error) {
	s.asked++
	return run.Outcome{TimedOut: true}, nil
}

// TestTrustedWaitsOnce: a repository whose settings include a FIFO delays a start by one
// timeout, not by a second one without the user's settings.
func TestTrustedWaitsOnce(t *testing.T) {
	s := &slow{}
	g := gitrun.New(gitrun.Options{Runner: s, Program: "/usr/bin/git"})
	_, err := g.Trusted(t.Context(), gitrun.Tree{Top: "/w"}, sandbox.WorkspaceWrite("/w"), gitrun.Home{Dir: "/h"}, run.OS{})
	if err == nil || !strings.Contains(err.Error(), "it took too long") {
		t.Errorf("%v, want what happened", err)
	}
	if s.asked != 1 {
		t.Errorf("git was asked %d times, want once", s.asked)
	}
}
