package exec

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeFiles makes files of a pipe's two descriptors. Only our end is non-blocking: it needs
// deadlines and a close that ends a read. Programs expect a blocking end.
func pipeFiles(fds [2]int, ours int) (read, write *os.File, err error) {
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}

// readNow reads what is available without waiting; it returns 0 or less if nothing is.
func readNow(fd uintptr, buf []byte) int {
	for {
		n, err := unix.Read(int(fd), buf)
		if err != unix.EINTR {
			return n
		}
	}
}

// duplicate returns a second descriptor for the non-blocking end of a pipe.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var dup error
	err = conn.Control(func(old uintptr) { fd, dup = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) })
	if err := errors.Join(err, dup); err != nil {
		return nil, fmt.Errorf("dup: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// shieldEach sets close-on-exec on every descriptor above 2 that dir lists.
func shieldEach(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
