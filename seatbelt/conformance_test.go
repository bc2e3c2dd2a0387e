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
	"codeagent/sandbox/resolved"
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

// beStandIn is the stand-in of these tests. It is not a shell, which would add to the environment.
func beStandIn(args []string) int {
	command := args[slices.Index(args, "--")+1:]
	if filepath.Base(command[0]) == "touch" {
		return 1 // the write that must fail
	}
	_ = syscall.Exec(command[0], command, os.Environ())
	return 71 // sandbox-exec's status on failure
}

// unanswered are the rows of the conformance suite that a model of the profile on another system
// cannot answer, with the reason.
var unanswered = map[string]string{
	"nothing-left":                "a process that leaves its session can outlive the command, as the weakness \"orphans\" states",
	"no variable is added":        "the shell that gives a command its name adds SHLVL=0",
	"grants by a shell":           "a shell cannot be put to the model; on macOS it is the command that makes the file, and nothing is taken away after it",
	"file-worker":                 "the worker is one process, whose calls the model does not see",
	"make a socket":               "one that can be neither bound nor connected reaches nothing; whether Seatbelt lets it be made was never tried",
	"start broken":                "sandbox-exec reports a missing interpreter like any other failure",
	"start nonsense":              "sandbox-exec reports a file that is not a program like any other failure",
	"link inside a write root":    "every hard link is refused: which of its two names Seatbelt asks about was never tried",
	"link in inside a write root": "every hard link is refused: which of its two names Seatbelt asks about was never tried",
}

// TestConformance runs the suite for backends on the profile. There is no Seatbelt here. So the
// model in evaluate_test.go decides each step of a probe by the profile, and a separate process
// does only what it allows. Other commands are started as on macOS, by a stand-in for sandbox-exec.
func TestConformance(t *testing.T) {
	sandboxtest.RunExcept(t, func() resolved.Backend { return newModelled(t) }, unanswered)
}

// modelled is the backend with the model in place of the kernel.
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

// Start carries out those of a probe's steps that the profile allows.
func (m *modelled) Start(ctx context.Context, p resolved.Policy, c sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	steps, ok := sandboxtest.Steps(c)
	if !ok || !judgeable(steps) {
		return m.Backend.Start(ctx, p, c, h)
	}
	if _, err := m.Backend.prepare(p, ""); err != nil {
		return nil, &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: "seatbelt", Err: err}
	}
	var out bytes.Buffer
	profile, params, err := Profile(p)
	if err != nil {
		return nil, err
	}
	sb := parseProfile(m.t, profile, params)
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

// over is a command that has ended with status 0.
type over struct{}

func (over) Wait() (sandbox.Status, error)                  { return sandbox.Status{}, nil }
func (over) Kill()                                          {}
func (over) Signal(int) error                               { return os.ErrProcessDone }
func (over) Refused() []sandbox.Denial                      { return nil }
func (over) Trace() sandbox.Trace                           { return sandbox.Trace{} }
func (over) Revoke(sandbox.Revocation) sandbox.RevokeResult { return sandbox.Kept }

// asks is what Seatbelt asks the profile when a program takes a step: an operation on the path in
// its first argument, or in its second.
type asks struct {
	op  string
	arg int
	// follow means that the last component may be a link, which is followed.
	follow bool
}

// questions are the operations of each step of a probe.
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

// judgeable reports whether the profile decides any of the steps.
func judgeable(steps [][]string) bool {
	for _, s := range steps {
		if _, ok := questions[s[0]]; ok || s[0] == "dial" || s[0] == "listen" || s[0] == "socket" || s[0] == "signal" {
			return true
		}
	}
	return false
}

// judge returns the error with which a step is refused; "" if it is not.
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
		q.op = "signal" // the suite signals processes of its own
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

// real is where path leads: the kernel judges files, not names. For a missing file it is the path
// in the folder that would contain it.
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
