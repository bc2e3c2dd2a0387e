package hostfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience is how long Lock waits. A holder only needs the time to read and write a small file.
const lockPatience = 5 * time.Second

// errLocked: another process holds the lock.
var errLocked = errors.New("another process of codeagent keeps it locked; nothing was changed")

// Lock locks a folder against other codeagent processes that change a file in it. It returns
// errLocked if the holder keeps the lock for too long: a change without the lock could restore what
// the holder removes. On a file system without locks it succeeds at once. The caller must therefore
// read the file again before it writes.
func Lock(dir string) (unlock func(), err error) { return lockWithin(dir, lockPatience) }

// LockNow is Lock without waiting.
func LockNow(dir string) (unlock func(), err error) { return lockWithin(dir, 0) }

// Dup returns a second descriptor of f. A lock on f stays until both are closed, or it is released.
func Dup(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func lockWithin(dir string, patience time.Duration) (unlock func(), err error) {
	f, err := OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return func() { f.Close() }, nil
		}
		if time.Now().After(end) {
			f.Close()
			return nil, fmt.Errorf("%s: %w", dir, errLocked)
		}
	}
}
