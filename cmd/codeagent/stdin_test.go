package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/cmd/codeagent/cli"
)

// TestSignalWhileReadingStdin: a signal ends a run that waits for the end of its prompt, and the
// JSON says so.
func TestSignalWhileReadingStdin(t *testing.T) {
	t.Parallel()
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: cli.ExitInterrupt, syscall.SIGTERM: cli.ExitTerminate, syscall.SIGHUP: cli.ExitHangup} {
		dir := t.TempDir()
		cmd := exec.Command("codeagent", "exec", "--json", "-")
		var out strings.Builder
		cmd.Stdout = &out
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + filepath.Join(dir, "home"), "PATH=/usr/bin:/bin"}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: once all of it is written, the program is reading, and has handled
		// signals since before.
		if _, err := stdin.Write(make([]byte, 256<<10)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != want {
			t.Errorf("%v: %v, want status %d", sig, err, want)
		}
		if !strings.HasPrefix(out.String(), `{"type":"error","message":"`) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%v: stdout is %q, want one line", sig, out.String())
		}
		stdin.Close()
	}
}
