package exec

import "golang.org/x/sys/unix"

const (
	// manyFiles is a descriptor limit that is enough for any number of parallel commands.
	manyFiles = 1024
	// filesEach is how many descriptors a command uses at its start, when most are open:
	// for its output, the keeper's sockets and files, and the broker. Measured: 9.
	filesEach = 12
	// filesApart is the reserve for the rest of codeagent: a connection, the session, undo.
	filesApart = 8
)

// AtOnce returns how many commands may run at the same time: at least one, at most most,
// and fewer than most where the descriptor limit is low, so that none fails with EMFILE.
func AtOnce(most int) int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= manyFiles {
		return most
	}
	free := -filesApart
	for fd := range uintptr(limit.Cur) {
		if _, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil {
			free++
		}
	}
	return min(max(free/filesEach, 1), most)
}
