//go:build linux

package denials

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// tracing is Python that traces (PTRACE_SEIZE) what it may and prints it.
const tracing = `import ctypes, os, subprocess, sys
c = ctypes.CDLL(None, use_errno=True)
def seize(pid): return c.ptrace(0x4206, pid, 0, 0) == 0
`

// TestTracing: a command traces its own processes, and nothing else: neither the keeper with its threads,
// nor another command, the file worker or codeagent. Its first process cannot make the keeper its tracer.
// The rows of TestEscapes show what such a trace reaches without the sandbox.
func TestTracing(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		out, denials := th.Python(t, tracing+`
print("traced by the keeper:", c.ptrace(0, 0, 0, 0) == 0)
child = subprocess.Popen(["sleep", "100"])
print("its child:", seize(child.pid))
child.kill()
print("a child that asks:", subprocess.run([sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))"], capture_output=True, text=True).stdout.strip())
`)
		for _, want := range []string{"traced by the keeper: False", "its child: True", "a child that asks: 0"} {
			if !strings.Contains(out, want) {
				t.Errorf("want %q: %s %+v", want, out, denials)
			}
		}
		others := map[string]int{"codeagent": os.Getpid()}
		for what, cmd := range map[string]sandbox.Command{
			"another command": {Path: "sleep", Args: []string{"sleep", "100"}},
			"the file worker": {Path: sandbox.FileWorker, Args: []string{"file-worker"}},
		} {
			cmd.Dir, cmd.Env = th.Dir, th.Env("", "")
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			cmd.Stdin, cmd.Stdout = r, w
			p, err := sandboxtest.Start(th.Backend, t.Context(), th.Policy, cmd, nil)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				p.Kill()
				_, _ = p.Wait()
			}()
			others[what+"'s keeper"] = backendtest.Keeper(p)
			for _, one := range kernel.Descendants(backendtest.Keeper(p))(kernel.Processes()) {
				others[what+" "+strconv.Itoa(one.PID)] = one.PID
			}
		}
		if len(others) < 5 {
			t.Fatalf("not everything runs: %v", others)
		}
		for what, pid := range others {
			out, denials := th.Python(t, tracing+"print('traced:', [p for p in ["+strconv.Itoa(pid)+"] + [int(x) for x in (os.listdir('/proc/"+strconv.Itoa(pid)+"/task') if os.path.isdir('/proc/"+strconv.Itoa(pid)+"') else [])] if seize(p)])")
			if !strings.Contains(out, "traced: []") {
				t.Errorf("%s: %s %+v", what, out, denials)
			}
		}
		out, denials = th.Python(t, tracing+"print('keeper:', [p for p in [os.getppid()] + [int(x) for x in os.listdir('/proc/%d/task' % os.getppid())] if seize(p)])")
		if !strings.Contains(out, "keeper: []") {
			t.Errorf("%s %+v", out, denials)
		}
	})
}
