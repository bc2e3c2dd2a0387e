package hostfile

import (
	"errors"
	"syscall"
	"time"
)

// Lock locks a folder against other processes of codeagent that change a file in it. A file
// system without locks, or a holder that keeps it for a second, does not stop anybody: then the
// last one to write wins.
func Lock(dir string) (unlock func(), err error) {
	f, err := OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	for range 100 {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return func() { f.Close() }, nil
}
