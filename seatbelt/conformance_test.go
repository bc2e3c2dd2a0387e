package seatbelt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/fileworker"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestMain lets the test binary be the suite's probe, and the file worker.
func TestMain(m *testing.M) {
	sandboxtest.Main()
	if filepath.Base(os.Args[0]) == filepath.Base(sandboxExec) {
		os.Exit(beStandIn(os.Args))
	}
	if len(os.Args) == 2 && os.Args[1] == FileWorkerArg {
		_ = fileworker.Serve(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beStandIn is the stand-in of these tests without a shell, which would add to
// the environment.
func beStandIn(args []string) int {
	command := args[slices.Index(args, "--")+1:]
	if filepath.Base(command[0]) == "touch" {
		return 1 // the write that must fail
	}
	_ = syscall.Exec(command[0], command, os.Environ())
	return 71 // sandbox-exec's status when it cannot
}

// unanswered are the rows of the conformance suite that a model of the profile
// on another system cannot answer, and why.
var unanswered = map[string]string{
	"nothing-left":                "a process that leaves its session can outlive the command, as the weakness \"orphans\" states",
	"no variable is added":        "the shell that gives a command its name adds SHLVL=0",
	"grants by a shell":           "a shell cannot be put to the model; on macOS it is the command that makes the file, and nothing is taken away after it",
	"file-worker":                 "the worker is one process, whose calls the model does not see",
	"make a socket":               "one that can be neither bound nor connected reaches nothing; whether Seatbelt lets it be made was never tried",
	"start broken":                "sandbox-exec tells of an interpreter that is missing as it tells of any failure",
	"start nonsense":              "sandbox-exec tells of a file that is no program as it tells of any failure",
	"link inside a write root":    "every hard link is refused: which of its two names Seatbelt asks about was never tried",
	"link in inside a write root": "every hard link is refused: which of its two names Seatbelt asks about was never tried",
}

// TestConformance holds the profile to the suite that every backend has to
// pass. There is no Seatbelt here: each step of a probe is first put to the
// profile, by the model in evaluate_test.go, and only what it allows is done, by
// a process of its own. Commands that are no such steps are started as on macOS,
// by a stand-in for sandbox-exec.
func TestConformance(t *testing.T) {
	sandboxtest.RunExcept(t, func() sandbox.Backend { return newModelled(t) }, unanswered)
}

// modelled is the backend with the model in the place of the kernel.
type modelled struct {
	*Backend
	t *testing.T
}

func newModelled(t *testing.T) *modelled {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Self: exe})
	b.system, b.tool = "darwin", filepath.Join(t.TempDir(), filepath.Base(sandboxExec))
	if err := os.Symlink(exe, b.tool); err != nil {
		t.Fatal(err)
	}
	return &modelled{b, t}
}

// Start does what the profile allows of a probe's steps.
func (m *modelled) Start(ctx context.Context, p sandbox.Policy, c sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	steps, ok := sandboxtest.Steps(c)
	if !ok || !judgeable(steps) {
		return m.Backend.Start(ctx, p, c, h)
	}
	if _, err := m.Backend.prepare(p, ""); err != nil {
		return nil, &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: "seatbelt", Err: err}
	}
	var out bytes.Buffer
	sb := compile(m.t, withTargets(p))
	for _, step := range steps {
		if why := sb.judge(step, c.Dir); why != "" {
			out.WriteString("refused: " + why + "\n")
			continue
		}
		one := exec.Cmd{Path: c.Path, Args: []string{c.Args[0], sandboxtest.Step(step...)}, Dir: c.Dir, Env: c.Env}
		text, err := one.CombinedOutput()
		if err != nil {
			m.t.Errorf("%q: %v", step, err)
		}
		if step[0] == "chdir" && string(text) == "ok\n" {
			c.Dir = real(step[1], c.Dir)
		}
		out.Write(text)
	}
	if c.Stdout != nil {
		if _, err := c.Stdout.Write(out.Bytes()); err != nil {
			return nil, err
		}
	}
	return over{}, nil
}

// over is a command that has ended well.
type over struct{}

func (over) Wait() (sandbox.Status, error) { return sandbox.Status{}, nil }
func (over) Kill()                         {}
func (over) Signal(int) error              { return os.ErrProcessDone }
func (over) Refused() []sandbox.Denial     { return nil }
func (over) Trace() sandbox.Trace          { return sandbox.Trace{} }

// asks is what Seatbelt asks the profile when a program takes a step: an
// operation on the place of its first argument, or of its second.
type asks struct {
	op  string
	arg int
	// follow: the last name may be a link, which is followed.
	follow bool
}

// questions are those of each step of a probe.
var questions = map[string][]asks{
	"create":    {{"file-write-create", 0, true}, {"file-write-data", 0, true}},
	"put":       {{"file-write-create", 0, true}, {"file-write-data", 0, true}},
	"overwrite": {{"file-write-data", 0, true}},
	"append":    {{"file-write-data", 0, true}},
	"empty":     {{"file-write-data", 0, true}},
	"truncate":  {{"file-write-data", 0, true}},
	"unlink":    {{"file-write-unlink", 0, false}},
	"rmdir":     {{"file-write-unlink", 0, false}},
	"rename":    {{"file-write-unlink", 0, false}, {"file-write-create", 1, false}},
	"link":      {{"file-link", 0, false}, {"file-write-create", 1, false}},
	"symlink":   {{"file-write-create", 1, false}},
	"mkdir":     {{"file-write-create", 0, false}},
	"mkfifo":    {{"file-write-create", 0, false}},
	"chmod":     {{"file-write-mode", 0, true}},
	"utimes":    {{"file-write-times", 0, true}},
	"read":      {{"file-read-data", 0, true}},
	"list":      {{"file-read-data", 0, true}},
	"chdir":     {{"file-read-metadata", 0, true}},
}

// judgeable reports whether any of the steps is one that the profile decides.
func judgeable(steps [][]string) bool {
	for _, s := range steps {
		if _, ok := questions[s[0]]; ok || s[0] == "dial" || s[0] == "listen" || s[0] == "socket" || s[0] == "signal" {
			return true
		}
	}
	return false
}

// judge returns what a step is refused with, "" if it is not.
func (p *profile) judge(step []string, dir string) string {
	p.t.Helper()
	const refusal = "operation not permitted"
	for _, ask := range questions[step[0]] {
		where := step[1+ask.arg]
		if ask.follow {
			where = real(where, dir)
		} else {
			where = filepath.Join(real(filepath.Dir(where), dir), filepath.Base(where))
		}
		where, err := exact(where)
		if err != nil || !p.allows(query{op: ask.op, path: where}) {
			return refusal
		}
	}
	q := query{}
	switch step[0] {
	case "dial":
		q.op = "network-outbound"
	case "listen":
		q.op = "network-bind"
	case "signal":
		q.op = "signal" // the suite aims at processes of its own
	default:
		return ""
	}
	if (step[0] == "dial" || step[0] == "listen") && strings.HasPrefix(step[1], "unix") {
		q.path = step[2]
	}
	if !p.allows(q) {
		return refusal
	}
	return ""
}

// real is where path leads: the kernel asks about files, and not about names.
// What is not there is named by the folder it would be in.
func real(path, dir string) string {
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	found, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) && path != "/" {
		return filepath.Join(real(filepath.Dir(path), dir), filepath.Base(path))
	}
	return found
}
