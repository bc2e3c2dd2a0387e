// Package sandboxtest is the conformance suite: every resolved.Backend must pass Run. One row is one
// sentence about the sandbox. Rows are tried in both directions: what must be refused is first done
// without a sandbox, which proves that a refusal comes from the sandbox, and what must work has to
// work inside.
//
// The commands are the test binary itself, started again as a probe. A test package that calls Run
// has
//
//	func TestMain(m *testing.M) {
//		sandboxtest.Main()
//		os.Exit(m.Run())
//	}
//
// A backend may fail a row only if its Enforcement states the row's Weakness. It must not state a
// Weakness whose rows it passes.
package sandboxtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// patience is how long a command may take before the suite treats it as hung.
const patience = 3 * time.Minute

// Run runs the suite on a backend. newBackend returns a fresh one; a backend with a Close method is
// closed at the end.
func Run(t *testing.T, newBackend func() resolved.Backend) { RunExcept(t, newBackend, nil) }

// RunExcept is Run without some rows or parts, each by its name and with the reason why this
// backend cannot answer it here. Each of these names must exist.
func RunExcept(t *testing.T, newBackend func() resolved.Backend, except map[string]string) {
	b := newBackend()
	excused := map[string]bool{}
	if c, ok := b.(interface{ Close() error }); ok {
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	for _, part := range []struct {
		name string
		test func(*suite)
	}{
		{"enforcement", enforcement},
		{"files", files},
		{"deny-read", denyRead},
		{"read-roots", readRoots},
		{"roots", roots},
		{"grants", grants},
		{"grants by a shell", grantsByShell},
		{"network", network},
		{"status", status},
		{"start-failures", startFailures},
		{"inheritance", inheritance},
		{"signals", signals},
		{"ends", ends},
		{"nothing-left", nothingLeft},
		{"file-worker", fileWorker},
	} {
		t.Run(part.name, func(t *testing.T) {
			s := &suite{T: t, b: b, except: except, excused: excused}
			if !s.excuse(part.name) {
				part.test(s)
			}
		})
	}
	for row := range except {
		if !excused[row] {
			t.Errorf("there is no row %q to leave out", row)
		}
	}
}

// suite is one part of the run.
type suite struct {
	*testing.T
	b resolved.Backend
	// except are the rows to skip; excused are those that were skipped.
	except  map[string]string
	excused map[string]bool
}

// excuse reports whether to skip a row.
func (s *suite) excuse(row string) bool {
	why, ok := s.except[row]
	if ok {
		s.excused[row] = true
		s.Logf("%s: not answered: %s", row, why)
	}
	return ok
}

// result is the result of a command that has ended.
type result struct {
	status  sandbox.Status
	out     string
	denials []sandbox.Denial
}

// dir makes a directory with a canonical path, owned by the command's user.
func (s *suite) dir() string {
	s.Helper()
	base, err := filepath.EvalSymlinks(s.TempDir())
	if err != nil {
		s.Fatal(err)
	}
	return base
}

// probeCommand returns a command that runs the test binary as a probe with these steps.
func (s *suite) probeCommand(dir string, steps ...string) sandbox.Command {
	s.Helper()
	exe, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	return sandbox.Command{Path: exe, Args: append([]string{probeName}, steps...), Dir: dir, Env: []string{"PATH=/bin:/usr/bin", NoPause}}
}

// NoPause, in the environment of a test program with the race detector, removes the pause of a
// second at its end.
const NoPause = "GORACE=atexit_sleep_ms=0"

func shell(dir, script string) sandbox.Command {
	return sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: dir, Env: []string{"PATH=/bin:/usr/bin"}}
}

// start starts cmd and fails the test if the backend refuses.
func (s *suite) start(p sandbox.Policy, cmd sandbox.Command) sandbox.Process {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	proc, err := Start(s.b, ctx, p, cmd, nil)
	if err != nil {
		s.Fatalf("start %q: %v", cmd.Args, err)
	}
	return proc
}

// run runs cmd to its end and returns its status and output.
func (s *suite) run(p sandbox.Policy, cmd sandbox.Command) result {
	s.Helper()
	out, err := os.CreateTemp(s.TempDir(), "out")
	if err != nil {
		s.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	proc := s.start(p, cmd)
	st, err := proc.Wait()
	if err != nil {
		s.Fatalf("wait for %q: %v", cmd.Args, err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		s.Fatal(err)
	}
	return result{st, string(text), proc.Trace().Denials}
}

// bare runs cmd without a sandbox.
func (s *suite) bare(cmd sandbox.Command) string {
	s.Helper()
	var out bytes.Buffer
	c := &commandLine{cmd}
	if err := c.run(&out); err != nil {
		s.Fatalf("without a sandbox: %q: %v\n%s", cmd.Args, err, out.String())
	}
	return out.String()
}

// states reports whether the backend states the weakness id under p.
func (s *suite) states(p sandbox.Policy, id string) bool {
	s.Helper()
	e, err := Enforcement(s.b, p)
	if err != nil {
		s.Fatalf("enforcement: %v", err)
	}
	return slices.ContainsFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == id })
}

// judge compares an attempt that must be refused with the weaknesses that the backend states.
func (s *suite) judge(p sandbox.Policy, what, weakness string, refused bool) {
	s.Helper()
	stated := weakness != "" && s.states(p, weakness)
	switch {
	case !refused && !stated:
		s.Errorf("%s: not refused, and no weakness states it", what)
	case refused && stated:
		s.Errorf("%s: refused, but weakness %q says that it is not", what, weakness)
	case stated:
		s.Logf("%s: not refused, as weakness %q states", what, weakness)
	}
}

// Resolved is p on a Linux machine without links.
func Resolved(p sandbox.Policy) resolved.Policy {
	exact, err := resolved.Of(p, resolved.Machine{SharedTemp: []string{"/tmp", "/var/tmp"}})
	if err != nil {
		panic(err)
	}
	return exact
}

// Enforcement is that of b for p, as package exec asks for it.
func Enforcement(b resolved.Backend, p sandbox.Policy) (sandbox.Enforcement, error) {
	exact, err := resolved.On(hostfile.OS{}, p)
	if err != nil {
		return sandbox.Enforcement{}, unfit(err)
	}
	return b.Enforcement(exact)
}

// Start starts cmd under p with b, as package exec does.
func Start(b resolved.Backend, ctx context.Context, p sandbox.Policy, cmd sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	exact, err := resolved.On(hostfile.OS{}, p)
	if err != nil {
		return nil, unfit(err)
	}
	return b.Start(ctx, exact, cmd, h)
}

func unfit(err error) error {
	return &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: "policy", Err: err}
}
