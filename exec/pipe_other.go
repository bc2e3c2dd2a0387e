//go:build !linux

package exec

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPipe is the most that a pipe holds.
const maxPipe = 64 << 10

// newPipe returns a pipe of which the end ours (0 read, 1 write) stays here and
// the other goes to a program.
func newPipe(ours int) (read, write *os.File, err error) {
	var fds [2]int
	// No pipe2 here: a fork in between would hand the ends to the child.
	syscall.ForkLock.RLock()
	err = unix.Pipe(fds[:])
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	return pipeFiles(fds, ours)
}
