//go:build !linux

package exec

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPipe is the capacity of a pipe.
const maxPipe = 64 << 10

// newPipe returns a pipe. The end ours (0 read, 1 write) stays in codeagent, the other one
// is for a program.
func newPipe(ours int) (read, write *os.File, err error) {
	var fds [2]int
	// Without pipe2, a fork before close-on-exec is set would leak the ends to a child.
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
