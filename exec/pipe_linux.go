package exec

import (
	"os"

	"golang.org/x/sys/unix"
)

// maxPipe is the default of /proc/sys/fs/pipe-max-size, the largest pipe of an
// unprivileged user.
const maxPipe = 1 << 20

// newPipe returns a pipe. The end ours (0 read, 1 write) stays in codeagent, the other one
// is for a program.
func newPipe(ours int) (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	// A larger pipe means fewer context switches. If the kernel refuses, the default size does.
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, copyBytes)
	return pipeFiles(fds, ours)
}
