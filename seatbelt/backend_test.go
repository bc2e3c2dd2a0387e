package seatbelt

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"
)

// standIn replaces sandbox-exec on other systems: it skips the profile and becomes the command. It
// confines nothing; the tests below are about how commands start and end, not about what they may
// do.
const standIn = `#!/bin/sh
while [ "$1" != "--" ]; do shift; done
shift
case "$1" in */touch) exit 1;; esac
exec "$@"
`

// need skips a test if a program that it needs is not installed.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		t.Skipf("needs %s", program)
	}
}

func newStandIn(t *testing.T) *Backend {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "sandbox-exec")
	if err := os.WriteFile(tool, []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	b := New(Options{Self: "/bin/echo"})
	b.tool, b.system = tool, "darwin"
	return b
}

// run starts a command and returns its output and status.
func run(t *testing.T, b *Backend, p sandbox.Policy, c sandbox.Command) (string, sandbox.Status) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Stdout, c.Stderr = w, w
	if c.Dir == "" {
		c.Dir = "/"
	}
	process, err := sandboxtest.Start(b, t.Context(), p, c, nil)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	status, err := process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return string(out), status
}

func shell(script string) sandbox.Command {
	return sandbox.Command{Path: "/bin/sh", Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}
}

func TestStatus(t *testing.T) {
	b := newStandIn(t)
	for script, want := range map[string]sandbox.Status{
		"exit 0": {}, "exit 7": {Exit: 7}, "exit 125": {Exit: 125}, "kill -9 $$": {Exit: -1, Signal: 9}, "kill -TERM $$": {Exit: -1, Signal: 15},
	} {
		if _, got := run(t, b, sandbox.ReadOnly(), shell(script)); got != want {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
}

func TestEnvironmentFolderAndInput(t *testing.T) {
	b := newStandIn(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := shell(`pwd; echo "[$A$HOME]"; cat; echo end`)
	c.Dir, c.Env = dir, append(c.Env, "A=b")
	if out, _ := run(t, b, sandbox.ReadOnly(), c); out != dir+"\n[b]\nend\n" {
		t.Errorf("%q", out)
	}
	c = shell("env")
	c.Env = nil
	if out, _ := run(t, b, sandbox.ReadOnly(), c); strings.Contains(out, "HOME=") {
		t.Errorf("without an environment the command sees codeagent's own: %q", out)
	}
}

// TestDescriptorsStay: descriptors that codeagent itself inherited do not reach the command.
func TestDescriptorsStay(t *testing.T) {
	b := newStandIn(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	leaked, err := syscall.Dup(int(r.Fd())) // without close-on-exec, as if inherited
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	c := shell("if [ -e /dev/fd/" + strconv.Itoa(leaked) + " ]; then echo open; else echo shut; fi")
	if plain, err := exec.Command("/bin/sh", "-c", c.Args[2]).Output(); err != nil || string(plain) != "open\n" {
		t.Fatalf("without the backend: %q, %v", plain, err)
	}
	if out, _ := run(t, b, sandbox.ReadOnly(), c); strings.TrimSpace(out) != "shut" {
		t.Errorf("descriptor %d: %q", leaked, out)
	}
}

func TestOwnSession(t *testing.T) {
	need(t, "/bin/ps")
	b := newStandIn(t)
	out, _ := run(t, b, sandbox.ReadOnly(), shell(`[ "$(ps -o pgid= -p $$ | tr -d ' ')" = $$ ] && echo leader`))
	if strings.TrimSpace(out) != "leader" {
		t.Errorf("%q", out)
	}
}

// TestKill kills the command, its children, and children in their own sessions.
func TestKill(t *testing.T) {
	need(t, "/bin/ps")
	for name, end := range map[string]func(p sandbox.Process, cancel func()){
		"kill":    func(p sandbox.Process, _ func()) { p.Kill(); p.Kill() },
		"context": func(_ sandbox.Process, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newStandIn(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			c := shell("sleep 300 & setsid sleep 300 & echo started; wait")
			c.Stdout, c.Dir = w, "/"
			p, err := sandboxtest.Start(b, ctx, sandbox.ReadOnly(), c, nil)
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			word := make([]byte, 8)
			if _, err := io.ReadFull(r, word); err != nil || string(word) != "started\n" {
				t.Fatalf("%q, %v", word, err)
			}
			end(p, cancel)
			status, err := p.Wait()
			if err != nil || status.Signal != int(syscall.SIGKILL) {
				t.Errorf("%+v, %v", status, err)
			}
			// At end of file, every process that held the pipe is gone.
			if rest, err := io.ReadAll(r); err != nil || len(rest) != 0 {
				t.Errorf("%q, %v", rest, err)
			}
			if err := p.Signal(15); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("a signal after the end: %v", err)
			}
		})
	}
}

// TestLeftBehind: processes left in the group when the command ends are killed.
func TestLeftBehind(t *testing.T) {
	b := newStandIn(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := shell("sleep 300 & exit 3")
	c.Stdout, c.Dir = w, "/"
	p, err := sandboxtest.Start(b, t.Context(), sandbox.ReadOnly(), c, nil)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if status, err := p.Wait(); err != nil || status.Exit != 3 {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := io.ReadAll(r); err != nil {
		t.Error(err)
	}
}

func TestSignal(t *testing.T) {
	b := newStandIn(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := shell("trap 'kill $!; exit 9' TERM; sleep 300 & echo on; wait")
	c.Stdout, c.Dir = w, "/"
	p, err := sandboxtest.Start(b, t.Context(), sandbox.ReadOnly(), c, nil)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(int(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	if status, err := p.Wait(); err != nil || status.Exit != 9 {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestStartErrors(t *testing.T) {
	b := newStandIn(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command sandbox.Command
		policy  sandbox.Policy
		code    int
	}{
		"no such file":      {sandbox.Command{Path: "/nowhere/x", Args: []string{"x"}, Dir: "/"}, sandbox.ReadOnly(), sandbox.ExitNotFound},
		"not in PATH":       {sandbox.Command{Path: "nowhere-x", Args: []string{"x"}, Dir: "/", Env: []string{"PATH=/bin"}}, sandbox.ReadOnly(), sandbox.ExitNotFound},
		"a relative PATH":   {sandbox.Command{Path: "plain", Args: []string{"x"}, Dir: dir, Env: []string{"PATH=.:"}}, sandbox.ReadOnly(), sandbox.ExitNotFound},
		"not executable":    {sandbox.Command{Path: plain, Args: []string{"x"}, Dir: "/"}, sandbox.ReadOnly(), sandbox.ExitCannotExec},
		"in PATH, not exec": {sandbox.Command{Path: "plain", Args: []string{"x"}, Dir: "/", Env: []string{"PATH=" + dir}}, sandbox.ReadOnly(), sandbox.ExitCannotExec},
		"a folder":          {sandbox.Command{Path: dir, Args: []string{"x"}, Dir: "/"}, sandbox.ReadOnly(), sandbox.ExitCannotExec},
		"relative":          {sandbox.Command{Path: "./x", Args: []string{"x"}, Dir: "/"}, sandbox.ReadOnly(), sandbox.ExitCannotConfine},
		"no such workdir":   {sandbox.Command{Path: "/bin/sh", Args: []string{"sh"}, Dir: "/nowhere"}, sandbox.ReadOnly(), sandbox.ExitCannotConfine},
		"missing root":      {sandbox.Command{Path: "/bin/sh", Args: []string{"sh"}, Dir: "/"}, sandbox.WorkspaceWrite("/nowhere/at/all"), sandbox.ExitCannotConfine},
		"impossible policy": {sandbox.Command{Path: "/bin/sh", Args: []string{"sh"}, Dir: "/"}, sandbox.FullAccess(), sandbox.ExitCannotConfine},
	} {
		_, err := sandboxtest.Start(b, t.Context(), c.policy, c.command, nil)
		var start *sandbox.StartError
		if !errors.As(err, &start) || start.Code != c.code {
			t.Errorf("%s: %v, want code %d", name, err, c.code)
		}
	}
}

// TestProfileIsTriedFirst: a profile that the tool rejects is reported as our error, before any
// command runs.
func TestProfileIsTriedFirst(t *testing.T) {
	b := newStandIn(t)
	if err := os.WriteFile(b.tool, []byte("#!/bin/sh\necho 'sandbox-exec: sandbox_apply: Operation not permitted' >&2\nexit 71\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := shell("exit 0")
	c.Dir = "/"
	_, err := sandboxtest.Start(b, t.Context(), sandbox.ReadOnly(), c, nil)
	var start *sandbox.StartError
	if !errors.As(err, &start) || start.Code != sandbox.ExitCannotConfine || !strings.Contains(err.Error(), "runs in a sandbox") {
		t.Errorf("%v", err)
	}
	if e, err := sandboxtest.Enforcement(b, sandbox.ReadOnly()); err == nil || len(e.Active()) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestEnforcementByDoing: Enforcement fails if the tool lets the write through.
func TestEnforcementByDoing(t *testing.T) {
	b := newStandIn(t)
	e, err := sandboxtest.Enforcement(b, workspaceIn(t))
	if err != nil || !slices.Equal(e.Active(), []string{"seatbelt"}) || e.Backend != "seatbelt" || e.LandlockABI != 0 || len(e.Weaknesses) == 0 {
		t.Errorf("%+v, %v", e, err)
	}
	b = newStandIn(t)
	if err := os.WriteFile(b.tool, []byte(strings.Replace(standIn, "exit 1", "exec \"$@\"", 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	if e, err := sandboxtest.Enforcement(b, workspaceIn(t)); err == nil || len(e.Active()) != 0 || !strings.Contains(err.Error(), "went through") {
		t.Errorf("a sandbox that refuses nothing: %+v, %v", e, err)
	}
}

func workspaceIn(t *testing.T) sandbox.Policy {
	p := sandbox.WorkspaceWrite(t.TempDir())
	p.Limits.Memory = 1
	return p
}

func TestOtherSystems(t *testing.T) {
	b := newStandIn(t)
	b.system = "plan9"
	if _, err := sandboxtest.Enforcement(b, sandbox.ReadOnly()); err == nil || !strings.Contains(err.Error(), "needs macOS") {
		t.Errorf("%v", err)
	}
	c := shell("exit 0")
	c.Dir = "/"
	var start *sandbox.StartError
	if _, err := sandboxtest.Start(b, t.Context(), sandbox.ReadOnly(), c, nil); !errors.As(err, &start) || start.Code != sandbox.ExitCannotConfine {
		t.Errorf("%v", err)
	}
}

func TestArgv(t *testing.T) {
	got := Argv(sandboxExec, "(version 1)", []Param{{"W0", `/w/")(allow default)(`}, {"D0", "-x"}})
	want := []string{"/usr/bin/sandbox-exec", "-p", "(version 1)", "-D", `W0=/w/")(allow default)(`, "-D", "D0=-x", "--"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestLimits: the wrapper sets the limits, keeps the arguments, and reads no
// startup file.
func TestLimits(t *testing.T) {
	need(t, "/bin/bash")
	b := newStandIn(t)
	p := sandbox.ReadOnly()
	p.Limits = sandbox.Limits{CPUSeconds: 11, OpenFiles: 33, FileSize: 2049}
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("echo evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := sandbox.Command{
		Path: "/bin/bash", Args: []string{"my name", "-c", `ulimit -t; ulimit -n; ulimit -f; echo "$0|$1|$2"`, "zero", "a b", "$(echo x)"},
		Env: []string{"PATH=/bin"},
	}
	if out, _ := run(t, b, p, c); out != "11\n33\n3\nzero|a b|$(echo x)\n" {
		t.Errorf("%q", out)
	}
	c = sandbox.Command{Path: "/bin/sh", Args: []string{"other", "-c", `tr '\0' ' ' </proc/$$/cmdline 2>/dev/null || ps -o args= -p $$`}, Env: []string{"PATH=/usr/bin:/bin", "BASH_ENV=" + evil}}
	if out, _ := run(t, b, p, c); !strings.HasPrefix(out, "other -c") {
		t.Errorf("argv[0], or what BASH_ENV names was run: %q", out)
	}
}

func TestLookUpInCommandsPath(t *testing.T) {
	b := newStandIn(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("#!/bin/sh\necho found\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, b, sandbox.ReadOnly(), sandbox.Command{Path: "mine", Args: []string{"mine"}, Env: []string{"PATH=/nowhere:" + dir}})
	if out != "found\n" {
		t.Errorf("%q", out)
	}
}

// TestFileWorker: the file worker is codeagent's own executable, which a policy with read roots
// must let through.
func TestFileWorker(t *testing.T) {
	b := newStandIn(t)
	p := sandbox.Strict(t.TempDir(), t.TempDir())
	p.Limits = sandbox.Limits{}
	out, status := run(t, b, p, sandbox.Command{Path: sandbox.FileWorker, Args: []string{"file-worker"}})
	if out != FileWorkerArg+"\n" || status.Exit != 0 {
		t.Errorf("%q, %+v", out, status)
	}
}

func TestWeaknesses(t *testing.T) {
	p := workspace()
	p.SharedTemp, p.Limits.Memory = true, 1
	exact, err := resolved.Of(p, mac)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, w := range Weaknesses(exact) {
		if w.ID == "" || w.What == "" || w.Why == "" || seen[w.ID] {
			t.Errorf("%+v", w)
		}
		seen[w.ID] = true
	}
	for _, id := range []string{"untested", "evidence", "orphans", "hfs-names", "memory", "shared-temp"} {
		if !seen[id] {
			t.Errorf("%s is not told", id)
		}
	}
}
