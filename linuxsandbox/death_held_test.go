//go:build linux

package linuxsandbox

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"

	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// TestHeldDeath: whichever of our processes is killed while a call waits, nothing of the command
// survives, and the call was not made.
func TestHeldDeath(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	for _, role := range []string{"background", "contained"} {
		for n, more := 0, true; more; n++ {
			more = killWhileHeld(t, role, n)
		}
	}
}

func killWhileHeld(t *testing.T, role string, n int) (more bool) {
	t.Helper()
	outside := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, _ := agentIn(t, role, `for i in 1 2 3; do chmod 640 `+outside+` & done 2>/dev/null
exec sh -c 'echo started; sleep 1000; :'`)
	cmd.Env = append(cmd.Env, waitsVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for range 2 {
		if line, err := r.ReadString('\n'); line != "started\n" && line != "asked\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	ours, names := oursBelow(t, cmd.Process.Pid)
	if err := unix.Kill(ours[n], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r) // every process of the command holds the pipe
	_ = cmd.Wait()
	for _, pid := range ours {
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}
	if err != nil || attack.Stat(t, outside).Mode&0o777 != 0o600 {
		t.Errorf("%s, %s killed: %q, %v, mode %o", role, names[n], rest, err, attack.Stat(t, outside).Mode)
	}
	return n+1 < len(ours)
}
