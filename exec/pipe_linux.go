package exec

import (
	"os"

	"golang.org/x/sys/unix"
)

// maxPipe is the most that an unprivileged user's pipe holds.
const maxPipe = 1 << 20

// newPipe returns a pipe of which the end ours (0 read, 1 write) stays here and
// the other goes to a program.
func newPipe(ours int) (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	// A larger pipe means fewer turns; where it is refused it works as it is.
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, copyBytes)
	return pipeFiles(fds, ours)
}
