//go:build linux

package escapes

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// command starts a victim through the backend.
func (s victims) command(t *testing.T, b *linuxsandbox.Backend) func([]string, *props) (string, syscall.Signal) {
	return func(env []string, p *props) (string, syscall.Signal) {
		t.Helper()
		st, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(s.Dir), sandbox.Command{
			Path: s.Binary, Args: []string{"victim", victimArg}, Dir: s.Dir, Env: env, Stdin: p.stdin,
			Terminal: p.kind == attack.StdinTerminal, // typing into its own terminal requires one
		})
		return out, syscall.Signal(st.Signal)
	}
}

// leaked are descriptors that codeagent holds open by mistake (E39): a low one, one above 255, and
// one above the 1024 that old programs close.
var leaked = []string{"9", "251", "2000"}

// listFiles prints every descriptor of the shell that runs it.
const listFiles = `for f in /proc/self/fd/*; do [ -e "$f" ] && printf '%s ' "${f##*/}"; done`

// TestInheritedDescriptors: descriptors that are open in codeagent are not open in a command.
func TestInheritedDescriptors(t *testing.T) {
	open := "ulimit -n 4096; "
	for _, fd := range leaked {
		open += "exec " + fd + "</dev/null; "
	}
	cmd := exec.Command("bash", "-c", open+`exec "$0" -test.v -test.run='^TestInheritedDescriptorsChild$'`, "/proc/self/exe")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[3] = exe
	cmd.Env = append(os.Environ(), backendtest.EnvFilter+"=descriptors")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestInheritedDescriptorsChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestInheritedDescriptorsChild(t *testing.T) {
	if os.Getenv(backendtest.EnvFilter) != "descriptors" {
		attack.BodyOf(t, "TestInheritedDescriptors")
	}
	bare, err := exec.Command("bash", "-c", listFiles).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range leaked {
		if !strings.Contains(" "+string(bare), " "+fd+" ") {
			t.Fatalf("without a sandbox descriptor %s is not passed on: %s", fd, bare)
		}
	}
	b := backendtest.New(t)
	defer b.Close()
	_, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(t.TempDir()), sandbox.Command{
		Path: "bash", Args: []string{"bash", "-c", listFiles}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"},
	})
	if out != "0 1 2 " {
		t.Errorf("E39 uid %s: bare %s; in the sandbox %q, want 0 1 2", strconv.Itoa(os.Getuid()), bare, out)
	}
}
