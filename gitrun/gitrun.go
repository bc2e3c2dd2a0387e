// Package gitrun runs the git commands whose answers codeagent itself needs. It starts
// git only inside the sandbox, with a read-only policy and every way to start another
// program turned off. Start reading at gitrun.go; trusted.go collects the files that
// git's settings name.
//
// Threat: a repository's config, attributes, hooks and submodules name programs for git
// to start, and the session's commands may have written any of them. The defences:
//
//	sandbox   read-only policy, no network, seconds of time, output held in memory only
//	options   hooks, monitors, drivers, pagers, prompts and transports off
//	filters   named by the repository's own config, each emptied by name
package gitrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codeagent/exec"
	"codeagent/sandbox"
)

// Runner runs one confined command; *exec.Runner implements it. It should have no spill
// folder: output beyond what fits into memory is not used.
type Runner interface {
	Run(context.Context, sandbox.Policy, exec.Command, exec.Sink) (exec.Outcome, error)
}

// Options is what a Git needs.
type Options struct {
	Runner Runner
	// Program is the absolute path of git, outside every folder that commands may
	// write. Empty: every call fails with ErrNoGit.
	Program string
	// Policy is the session's; only its limits on reading are used.
	Policy sandbox.Policy
	// Timeout bounds one call; 0 means five seconds.
	Timeout time.Duration
}

// Git runs git commands. It is safe for concurrent use.
type Git struct{ o Options }

// ErrNoGit: no git program can be used.
var ErrNoGit = errors.New("no git program outside the write roots")

// errTooLong: git was killed before it had answered.
var errTooLong = errors.New("it took too long")

// New returns a Git. It starts nothing.
func New(o Options) *Git {
	o.Policy, o.Timeout = readOnly(o.Policy), cmp.Or(o.Timeout, 5*time.Second)
	return &Git{o}
}

// environment is the whole environment of git. The user's and the system's settings are left
// out: they name programs too (a file monitor, git-lfs), and git ends if it may not read
// HOME.
var environment = map[string]string{
	"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TERM": "dumb",
	"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "XDG_CONFIG_HOME": "/dev/null", "HOME": "/dev/null",
	"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
	// No transport, whatever protocol.*.allow is set to: a partial clone fetches missing
	// objects with a program that its config names.
	"GIT_ALLOW_PROTOCOL": "none",
	"GIT_PAGER":          "cat", "GIT_EDITOR": "false", "GIT_ASKPASS": "false", "GIT_SSH_COMMAND": "false", "GIT_PROXY_COMMAND": "false",
}

// settings override the repository's own, since git reads -c last.
var settings = []string{
	"safe.bareRepository=explicit", // ignore a folder that only looks like a bare repository
	// safe.directory guards against settings of a foreign owner. Here these start nothing, and
	// root queries the workspaces of users.
	"safe.directory=*",
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.pager=cat", "core.editor=false",
	"core.sshCommand=false", "core.askPass=false", "core.gitProxy=", "core.alternateRefsCommand=", "core.attributesFile=/dev/null",
	"credential.helper=", "gpg.program=false", "protocol.allow=never", "submodule.recurse=false", "status.submoduleSummary=false",
	"diff.external=", "diff.ignoreSubmodules=all", "diff.autoRefreshIndex=false", "gc.auto=0", "maintenance.auto=false", "log.showSignature=false",
}

// readOnly returns p without everything that widens it.
func readOnly(p sandbox.Policy) sandbox.Policy {
	p = p.Clone()
	return sandbox.Policy{
		Read: p.Read, DenyRead: p.DenyRead, DenyGlobs: p.DenyGlobs, Protected: sandbox.ProtectedNames{Own: p.Protected.Own, Hidden: p.Protected.Hidden},
		Limits: sandbox.Limits{CPUSeconds: 10},
		Env:    sandbox.Env{Inherit: sandbox.EnvNone, Set: environment},
	}
}

// run runs git in dir, an absolute path, and returns its output. If the output is too long,
// its middle is cut out and cut is set.
func (g *Git) run(ctx context.Context, dir string, overrides []string, args ...string) (out string, cut bool, err error) {
	o, err := g.start(ctx, dir, exec.Command{}, overrides, args)
	if err == nil {
		err = failure(o, args)
	}
	if err != nil {
		return "", false, err
	}
	return string(o.Output.Head) + string(o.Output.Tail), o.Output.Skipped > 0, nil
}

// whole is run for output that is longer than a Runner keeps: the first most bytes of it. An exit
// status of 1 without a word is no error: git grep found nothing.
func (g *Git) whole(ctx context.Context, dir string, overrides []string, most int, args ...string) (out string, cut bool, err error) {
	var b strings.Builder
	o, err := g.start(ctx, dir, exec.Command{Tap: func(data []byte) {
		n := min(len(data), most-b.Len())
		b.Write(data[:n])
		cut = cut || n < len(data)
	}}, overrides, args)
	if err == nil && (o.Status.Exit != 1 || o.TimedOut || len(o.Output.Errors) > 0) {
		err = failure(o, args)
	}
	if err != nil {
		return "", false, err
	}
	return b.String(), cut, nil
}

// start runs git to its end, with the input and the tap of c.
func (g *Git) start(ctx context.Context, dir string, c exec.Command, overrides, args []string) (exec.Outcome, error) {
	if g.o.Program == "" {
		return exec.Outcome{}, ErrNoGit
	}
	if !filepath.IsAbs(g.o.Program) {
		return exec.Outcome{}, fmt.Errorf("git program %q: want an absolute path", g.o.Program)
	}
	argv := []string{g.o.Program, "--no-pager", "--literal-pathspecs"}
	for _, s := range slices.Concat(settings, overrides) {
		argv = append(argv, "-c", s)
	}
	c.Argv, c.Dir, c.Timeout, c.Apart = append(argv, args...), dir, g.o.Timeout, true
	o, err := g.o.Runner.Run(ctx, g.o.Policy, c, nil)
	if err != nil {
		return o, fmt.Errorf("git %s: %w", args[0], err)
	}
	return o, nil
}

// failure returns the error of a git that failed, or nil.
func failure(o exec.Outcome, args []string) error {
	switch {
	case o.TimedOut:
		return fmt.Errorf("git %s: %w", args[0], errTooLong)
	case o.Failed():
		return fmt.Errorf("git %s: %s", args[0], why(o))
	}
	return nil
}

// why returns the first line of git's error output, or how git ended.
func why(o exec.Outcome) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(o.Output.Errors)), "\n")
	switch {
	case line != "":
		return strings.ToValidUTF8(line, "\uFFFD")
	case o.Status.Signal != 0:
		return fmt.Sprintf("ended by signal %d", o.Status.Signal)
	}
	return fmt.Sprintf("exit status %d", o.Status.Exit)
}

// emptied lists the programs that the repository's config names for its files, each set to
// nothing. Reading a config starts no program. A cut answer is an error, since it could lack
// one.
func (g *Git) emptied(ctx context.Context, dir string) ([]string, error) {
	names, cut, err := g.run(ctx, dir, nil, "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	if cut {
		return nil, errors.New("git config: the repository has too many settings")
	}
	var out []string
	for name := range strings.SplitSeq(names, "\x00") {
		section, rest, _ := strings.Cut(name, ".")
		dot := strings.LastIndexByte(rest, '.')
		if dot < 0 {
			continue
		}
		switch section + "." + rest[dot+1:] {
		case "filter.clean", "filter.smudge", "filter.process", "diff.command", "diff.textconv", "merge.driver":
			out = append(out, name+"=")
		case "filter.required":
			out = append(out, name+"=false")
		}
		if strings.ContainsAny(rest[:dot], "=\n") {
			return nil, fmt.Errorf("git config: %q cannot be overridden", name) // -c ends a name at its first "="
		}
	}
	return out, nil
}

// Status is what is checked out, and the differences from it.
type Status struct {
	// Branch is empty on a detached head.
	Branch string
	// Changed counts tracked files that differ from the last commit; Untracked counts files
	// and folders that git neither tracks nor ignores. Submodules are not examined, and renames
	// are not detected.
	Changed, Untracked int
	// More: there are more than were counted.
	More bool
}

// Branch returns what is checked out in the repository that holds dir: the branch, or the
// short name of the commit on a detached head. Without a repository it fails.
func (g *Git) Branch(ctx context.Context, dir string) (string, error) {
	name, _, err := g.run(ctx, dir, nil, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		name, _, err = g.run(ctx, dir, nil, "rev-parse", "--short", "HEAD")
	}
	return strings.TrimSpace(name), err
}

// Status reads the state of the repository that holds dir; without a repository it
// fails.
func (g *Git) Status(ctx context.Context, dir string) (Status, error) {
	overrides, err := g.emptied(ctx, dir)
	if err != nil {
		return Status{}, err
	}
	out, cut, err := g.run(ctx, dir, overrides, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal",
		"--ignore-submodules=all", "--no-renames", "--no-ahead-behind")
	if err != nil {
		return Status{}, err
	}
	s := Status{More: cut}
	for entry := range strings.SplitSeq(out, "\x00") {
		switch {
		case strings.HasPrefix(entry, "# branch.head "):
			if s.Branch = strings.TrimPrefix(entry, "# branch.head "); s.Branch == "(detached)" {
				s.Branch = ""
			}
		case strings.HasPrefix(entry, "1 "), strings.HasPrefix(entry, "2 "), strings.HasPrefix(entry, "u "):
			s.Changed++
		case strings.HasPrefix(entry, "? "):
			s.Untracked++
		}
	}
	return s, nil
}

// String describes the status in a few words: "branch main, 2 changed, 1 untracked".
func (s Status) String() string {
	where := "no branch"
	if s.Branch != "" {
		where = "branch " + s.Branch
	}
	switch {
	case s.More:
		return fmt.Sprintf("%s, more than %d changed or untracked", where, s.Changed+s.Untracked)
	case s.Changed+s.Untracked == 0:
		return where + ", clean"
	}
	return fmt.Sprintf("%s, %d changed, %d untracked", where, s.Changed, s.Untracked)
}
