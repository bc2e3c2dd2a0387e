//go:build linux

package kernel

import (
	"errors"

	"golang.org/x/sys/unix"
)

// LowestFD keeps our long-lived descriptors above 0 to 9, which a fork rearranges.
const LowestFD = 10

// DupAbove duplicates fd to a number of at least least. If that number exceeds the limit of open
// files, fcntl(2) answers EINVAL and DupAbove returns EMFILE.
func DupAbove(fd, least int) (int, error) {
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, least)
	if err == unix.EINVAL {
		err = unix.EMFILE
	}
	return high, err
}

// ErrClosed reports end of file between two frames.
var ErrClosed = errors.New("the other end is closed")

// ReadFull fills buf. It returns ErrClosed at end of file, and if the other end was reset.
func ReadFull(fd int, buf []byte) error {
	for len(buf) > 0 {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
		case err == unix.ECONNRESET, err == nil && n == 0:
			return ErrClosed
		case err != nil:
			return err
		default:
			buf = buf[n:]
		}
	}
	return nil
}
