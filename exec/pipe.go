package exec

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newPipe returns a pipe. The end ours (0 read, 1 write) stays in codeagent, the other one is
// for a program. Only our end is non-blocking: it needs deadlines and a close that ends a read.
// Programs expect a blocking end.
func newPipe(ours int) (read, write *os.File, err error) {
	if read, write, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	enlarge(read)
	if err := setBlocking([]*os.File{write, read}[ours]); err != nil {
		read.Close()
		write.Close()
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return read, write, nil
}

func setBlocking(f *os.File) error {
	return control(f, func(fd int) error { return unix.SetNonblock(fd, false) })
}

// control runs do with the descriptor of f, unless f is closed.
func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	err = conn.Control(func(fd uintptr) { done = do(int(fd)) })
	return errors.Join(err, done)
}

// readNow reads what is available without waiting; it returns 0 or less if nothing is.
func readNow(fd int, buf []byte) int {
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return n
		}
	}
}

// duplicate returns a second descriptor for the non-blocking end of a pipe.
func duplicate(f *os.File) (*os.File, error) {
	fd := -1
	err := control(f, func(old int) (err error) {
		fd, err = unix.FcntlInt(uintptr(old), unix.F_DUPFD_CLOEXEC, 3)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dup: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

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
