package screen

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"codeagent/exec"
)

// suspend stops codeagent, as Ctrl+Z does for other programs. It returns when codeagent has
// the terminal again, or when ctx ends. `kill %1` continues a background job, which would be
// stopped at once if it touched the terminal.
func suspend(ctx context.Context, terminal *os.File) {
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGCONT)
	defer signal.Stop(woken)
	_ = syscall.Kill(0, syscall.SIGTSTP) // the whole process group, with its children
	// An orphaned process group is not stopped (setpgid(2)).
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
		case <-time.After(200 * time.Millisecond): // fg sends no signal to a job that runs
		}
	}
}
