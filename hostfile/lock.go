package hostfile

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// lockPatience is how long Lock waits. A holder keeps it for the reading and writing of a small
// file.
const lockPatience = 5 * time.Second

// errLocked: another process keeps a folder locked.
var errLocked = errors.New("another process of codeagent keeps it locked; nothing was changed")

// Lock locks a folder against other processes of codeagent that change a file in it. It returns
// errLocked if a holder does not let go: what changed regardless could bring back what the holder
// removes. A file system without locks stops nobody: there the caller reads the file again before
// it writes.
func Lock(dir string) (unlock func(), err error) { return lockWithin(dir, lockPatience) }

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
