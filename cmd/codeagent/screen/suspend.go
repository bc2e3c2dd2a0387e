package screen

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"codeagent/exec"
)

// suspend stops codeagent as Ctrl+Z does elsewhere. It returns when the terminal is
// codeagent's again, or when ctx ends: `kill %1` wakes a job in the background, where
// whoever touches the terminal is stopped at once.
func suspend(ctx context.Context, terminal *os.File) {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	_ = syscall.Kill(0, syscall.SIGTSTP) // the whole group: what runs in it stops, too
	// A group that no shell looks after is not stopped (setpgid(2), orphans).
	select {
	case <-woken:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	for !exec.InForeground(terminal) {
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-time.After(200 * time.Millisecond): // fg sends nothing to a job that runs
		}
	}
}
