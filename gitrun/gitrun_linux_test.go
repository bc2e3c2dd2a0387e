package gitrun_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	run "codeagent/exec"
	"codeagent/gitrun"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
)

// TestMain lets the test binary serve as the sandbox's helper.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		syscall.Exit(linuxsandbox.HelperMain(os.Args)) // os.Exit waits a second with the race detector
	}
	os.Exit(machine.Run(m))
}

const gitProgram = "/usr/bin/git"

// patience is git's time limit where the time is not tested.
const patience = 2 * time.Minute

// confined returns the runner that codeagent uses for git.
func confined(t *testing.T) *run.Runner {
	t.Helper()
	b, err := linuxsandbox.New(linuxsandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	r := run.New(run.Options{Backend: b, Files: run.OS{}})
	if _, err := r.Enforcement(sandbox.ReadOnly()); err != nil {
		t.Skip("this system cannot confine: ", err)
	}
	return r
}

// unconfined removes the sandbox, so that only the options protect.
type unconfined struct{ r *run.Runner }

func (u unconfined) Run(ctx context.Context, p sandbox.Policy, c run.Command, s run.Sink) (run.Outcome, error) {
	p.Unconfined = true
	return u.r.Run(ctx, p, c, s)
}

// bare runs git as a shell would, in dir.
func bare(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	out, err := bareCommand(dir, args).CombinedOutput()
	return string(out), err
}

// onTerminal is bare with a terminal as its output.
func onTerminal(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := bareCommand(dir, args)
	screen, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	out, _ := io.ReadAll(screen) // the far end's close is an error on Linux
	return string(out), cmd.Wait()
}

func bareCommand(dir string, args []string) *exec.Cmd {
	cmd := exec.Command(gitProgram, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org",
		"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org", "LC_ALL=C", "TERM=xterm",
	}
	return cmd
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := bare(t, dir, args...); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func write(t *testing.T, mode os.FileMode, text string, parts ...string) string {
	t.Helper()
	file := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// repository makes a repository with one commit of the files a and b; a was changed since.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(gitProgram); err != nil {
		if machine.Thorough() {
			t.Fatal(err)
		}
		t.Skip("needs ", gitProgram)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	write(t, 0o644, "one\n", dir, "a")
	write(t, 0o644, "b\n", dir, "b")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	write(t, 0o644, "two\n", dir, "a")
	return dir
}

func TestStatus(t *testing.T) {
	dir := repository(t)
	write(t, 0o644, "n", dir, "new file")
	write(t, 0o644, "n", dir, "b2")
	git(t, dir, "add", "b2")
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
	index := modified(t, dir)
	s, err := g.Status(t.Context(), dir)
	if want := (gitrun.Status{Branch: "main", Changed: 2, Untracked: 1}); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	if s.String() != "branch main, 2 changed, 1 untracked" {
		t.Error(s)
	}
	if c, err := g.Diff(t.Context(), dir, gitrun.Of{}); err != nil || c.Cut || !strings.Contains(c.Text, "-one\n+two\n") {
		t.Errorf("%+v, %v", c, err)
	}
	if modified(t, dir) != index {
		t.Error("the index was written")
	}
	git(t, dir, "checkout", "-q", "--detach")
	if s, err = g.Status(t.Context(), dir); err != nil || s.Branch != "" || !strings.HasPrefix(s.String(), "no branch, ") {
		t.Errorf("detached: %+v, %v", s, err)
	}
}

func TestBranch(t *testing.T) {
	dir := repository(t)
	g := gitrun.New(gitrun.Options{Runner: confined(t), Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
	if name, err := g.Branch(t.Context(), dir); err != nil || name != "main" {
		t.Errorf("%q, %v", name, err)
	}
	git(t, dir, "checkout", "-q", "-b", "of/mine")
	if name, err := g.Branch(t.Context(), dir); err != nil || name != "of/mine" {
		t.Errorf("%q, %v", name, err)
	}
	git(t, dir, "checkout", "-q", "--detach")
	commit, _ := bare(t, dir, "rev-parse", "HEAD")
	if name, err := g.Branch(t.Context(), dir); err != nil || len(name) < 4 || !strings.HasPrefix(commit, name) {
		t.Errorf("detached at %s: %q, %v", commit, name, err)
	}
	if name, err := g.Branch(t.Context(), t.TempDir()); err == nil {
		t.Errorf("without a repository: %q", name)
	}
}

func modified(t *testing.T, dir string) [2]int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	return [2]int64{info.ModTime().UnixNano(), info.Size()}
}

func TestStatusWithoutAnAnswer(t *testing.T) {
	r := confined(t)
	dir := repository(t)
	plain, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    gitrun.Options
		dir  string
	}{
		{"no repository", gitrun.Options{Runner: r, Program: gitProgram}, plain},
		{"no git", gitrun.Options{Runner: r}, dir},
		{"relative program", gitrun.Options{Runner: r, Program: "git"}, dir},
		{"unreadable", gitrun.Options{Runner: r, Program: gitProgram, Policy: sandbox.Policy{DenyRead: []string{dir}}}, dir},
	} {
		if s, err := gitrun.New(c.o).Status(t.Context(), c.dir); err == nil {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// trap is one way in which a repository makes git start a program (E25, E26, E27). set writes
// it into dir; program writes the marker. bare is the plain git call that triggers it.
type trap struct {
	name string
	set  func(t *testing.T, dir, program string)
	bare []string
	// terminal: plain git triggers it only on a terminal.
	terminal bool
}

func config(name string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, program string) { git(t, dir, "config", name, program) }
}

func attribute(text string, keys ...string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, program string) {
		write(t, 0o644, text, dir, ".gitattributes")
		for _, key := range keys {
			git(t, dir, "config", key, program)
		}
	}
}

var traps = []trap{
	{name: "core.fsmonitor", set: config("core.fsmonitor"), bare: []string{"status"}},
	{name: "core.hooksPath", bare: []string{"commit", "-qam", "x"}, set: func(t *testing.T, dir, program string) {
		write(t, 0o755, "#!/bin/sh\nexec "+program+"\n", dir, "h/pre-commit")
		write(t, 0o755, "#!/bin/sh\nexec "+program+"\n", dir, "h/post-index-change")
		git(t, dir, "config", "core.hooksPath", "h")
	}},
	{name: "hook of a nested repository", bare: []string{"-C", "in", "commit", "-qm", "x", "--allow-empty"}, set: func(t *testing.T, dir, program string) {
		git(t, dir, "init", "-q", "in")
		write(t, 0o755, "#!/bin/sh\nexec "+program+"\n", dir, "in/.git/hooks/pre-commit")
		write(t, 0o755, "#!/bin/sh\nexec "+program+"\n", dir, "in/.git/hooks/post-index-change")
	}},
	{name: "post-index-change", bare: []string{"status"}, set: func(t *testing.T, dir, program string) {
		write(t, 0o755, "#!/bin/sh\nexec "+program+"\n", dir, ".git/hooks/post-index-change")
		later(t, dir, "b") // so that a refresh writes the index
	}},
	{name: "diff.external", set: config("diff.external"), bare: []string{"diff"}},
	{name: "diff driver", set: attribute("a diff=x\n", "diff.x.command"), bare: []string{"diff"}},
	{name: "textconv", set: attribute("a diff=x\n", "diff.x.textconv"), bare: []string{"diff"}},
	{name: "filter clean", set: attribute("a filter=x\n", "filter.x.clean"), bare: []string{"diff"}},
	{name: "filter smudge", set: attribute("a filter=x\n", "filter.x.smudge"), bare: []string{"checkout", "a"}},
	{name: "filter process", set: attribute("a filter=x\n", "filter.x.process"), bare: []string{"diff"}},
	{name: "filter, required", bare: []string{"diff"}, set: func(t *testing.T, dir, program string) {
		attribute("a filter=x.y\n", "filter.x.y.clean")(t, dir, program)
		git(t, dir, "config", "filter.x.y.required", "true")
	}},
	{name: "filter of info/attributes", bare: []string{"diff"}, set: func(t *testing.T, dir, program string) {
		write(t, 0o644, "* filter=x\n", dir, ".git/info/attributes")
		git(t, dir, "config", "filter.x.clean", program)
	}},
	{name: "filter of an included file", bare: []string{"diff"}, set: func(t *testing.T, dir, program string) {
		write(t, 0o644, "a filter=x\n", dir, ".gitattributes")
		write(t, 0o644, "[filter \"x\"]\n\tclean = "+program+"\n", dir, "more")
		git(t, dir, "config", "include.path", "../more")
	}},
	{name: "monitor of an included file", bare: []string{"status"}, set: func(t *testing.T, dir, program string) {
		write(t, 0o644, "[core]\n\tfsmonitor = "+program+"\n", dir, "more")
		git(t, dir, "config", "includeIf.gitdir:"+dir+"/.path", "../more")
	}},
	{name: "core.sshCommand", bare: []string{"fetch", "ssh://host.invalid/x"}, set: config("core.sshCommand")},
	{name: "lazy fetch of a partial clone", bare: []string{"diff", "HEAD"}, set: func(t *testing.T, dir, program string) {
		git(t, dir, "config", "core.sshCommand", program)
		git(t, dir, "config", "protocol.ssh.allow", "always")
		git(t, dir, "config", "remote.o.url", "ssh://host.invalid/x")
		git(t, dir, "config", "remote.o.promisor", "true")
		git(t, dir, "config", "remote.o.partialclonefilter", "blob:none")
		git(t, dir, "config", "extensions.partialclone", "o")
		out, err := bare(t, dir, "rev-parse", "HEAD:a")
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSpace(out)
		if err := os.Remove(filepath.Join(dir, ".git/objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "core.pager", bare: []string{"diff"}, terminal: true, set: func(t *testing.T, dir, program string) {
		git(t, dir, "config", "core.pager", program)
		git(t, dir, "config", "pager.status", program)
		git(t, dir, "config", "pager.diff", program)
	}},
	{name: "alias", bare: []string{"st"}, set: func(t *testing.T, dir, program string) {
		for _, name := range []string{"st", "status", "diff", "config"} {
			git(t, dir, "config", "alias."+name, "!"+program)
		}
	}},
	{name: "gpg.program", bare: []string{"log", "--show-signature"}, set: func(t *testing.T, dir, program string) {
		git(t, dir, "config", "gpg.program", program)
		git(t, dir, "config", "log.showSignature", "true")
		raw, err := bare(t, dir, "cat-file", "commit", "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(raw, "\n\n")
		signed := write(t, 0o644, head+"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n"+body, dir, "../signed")
		id, err := bare(t, dir, "hash-object", "-t", "commit", "-w", signed)
		if err != nil {
			t.Fatal(err, id)
		}
		git(t, dir, "update-ref", "HEAD", strings.TrimSpace(id))
	}},
	{name: "submodule", bare: []string{"status"}, set: func(t *testing.T, dir, program string) {
		git(t, dir, "init", "-q", "sub")
		git(t, filepath.Join(dir, "sub"), "commit", "-qm", "x", "--allow-empty")
		write(t, 0o644, "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n", dir, ".gitmodules")
		git(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "sub", ".gitmodules")
		git(t, filepath.Join(dir, "sub"), "config", "core.fsmonitor", program)
		git(t, dir, "config", "submodule.sub.active", "true")
		git(t, dir, "config", "status.submoduleSummary", "true")
		git(t, dir, "config", "diff.ignoreSubmodules", "none")
	}},
	{name: "a bare repository that looks like a folder", bare: []string{"-C", "b.git", "--work-tree=.", "status"}, set: func(t *testing.T, dir, program string) {
		git(t, dir, "init", "-q", "--bare", "b.git")
		git(t, filepath.Join(dir, "b.git"), "config", "core.bare", "false")
		git(t, filepath.Join(dir, "b.git"), "--git-dir=.", "config", "core.fsmonitor", program)
	}},
}

// later makes a file's time differ from the one in the index.
func later(t *testing.T, dir, name string) {
	t.Helper()
	if out, err := exec.Command("touch", "-d", "2001-01-01", filepath.Join(dir, name)).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}

// TestTraps: plain git starts the program, and none of our calls does: not with the options
// alone, and not in the sandbox. In the sandbox even plain git leaves no mark.
func TestTraps(t *testing.T) {
	r := confined(t)
	plain := unconfined{run.New(run.Options{None: run.Plain{}, Files: run.OS{}})}
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			dir := repository(t)
			marker := filepath.Join(filepath.Dir(dir), filepath.Base(dir)+".marker")
			program := write(t, 0o755, "#!/bin/sh\necho ran \"$@\" >> "+marker+"\nexit 1\n", dir, "../"+filepath.Base(dir)+".evil")
			t.Cleanup(func() { os.Remove(marker); os.Remove(program) })
			trap.set(t, dir, program)
			// The next calls examine the present repository, below which the trap may be.
			folders := []string{dir}
			for _, sub := range []string{"in", "sub", "b.git"} {
				if _, err := os.Stat(filepath.Join(dir, sub)); err == nil {
					folders = append(folders, filepath.Join(dir, sub))
				}
			}
			for name, runner := range map[string]gitrun.Runner{"in the sandbox": r, "by options alone": plain} {
				g := gitrun.New(gitrun.Options{Runner: runner, Program: gitProgram, Policy: sandbox.WorkspaceWrite(dir), Timeout: patience})
				for _, folder := range folders {
					s, err := g.Status(t.Context(), folder)
					_, derr := g.Diff(t.Context(), folder, gitrun.Of{})
					_, _ = g.Diff(t.Context(), folder, gitrun.Of{Base: "main"})
					_, _ = g.Diff(t.Context(), folder, gitrun.Of{Commit: "HEAD"})
					if _, missing := os.Stat(marker); missing == nil {
						text, _ := os.ReadFile(marker)
						t.Errorf("%s, %s: a program of the repository ran: %s (%+v, %v, %v)", name, folder, text, s, err, derr)
					}
					os.Remove(marker)
					if folder == dir && err != nil {
						t.Errorf("%s: no status: %v", name, err)
					}
				}
			}
			p := sandbox.ReadOnly()
			p.Env = sandbox.Env{Inherit: sandbox.EnvNone, Set: map[string]string{"PATH": "/usr/bin:/bin", "HOME": dir}}
			if _, err := r.Run(t.Context(), p, run.Command{Argv: append([]string{gitProgram}, trap.bare...), Dir: dir}, nil); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("plain git in the sandbox left a mark")
			}
			spring := bare
			if trap.terminal {
				spring = onTerminal
			}
			out, err := spring(t, dir, trap.bare...)
			if _, missing := os.Stat(marker); missing != nil {
				t.Errorf("the trap does not work: git %v does not spring it: %v\n%s", trap.bare, err, out)
			}
		})
	}
}
