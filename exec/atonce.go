package exec

import "golang.org/x/sys/unix"

const (
	// manyFiles is a limit of descriptors that no number of calls comes near.
	manyFiles = 1024
	// filesEach is what a command takes of them at its start, when most are open:
	// its output, the keeper's sockets and files, the broker's. Measured: 9.
	filesEach = 12
	// filesApart is left for the conversation: a connection, the session, undo.
	filesApart = 8
)

// AtOnce is how many commands may run at the same time, at most most and at least
// one: where few descriptors are left fewer do, instead of failing.
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
