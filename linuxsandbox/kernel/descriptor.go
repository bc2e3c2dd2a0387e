//go:build linux

package kernel

import (
	"errors"

	"golang.org/x/sys/unix"
)

// LowestFD keeps our long-lived descriptors clear of 0 to 9, which a fork
// rearranges.
const LowestFD = 10

// DupAbove is fd once more, with a number from least on. fcntl(2) has EINVAL for a
// number that the limit of open files does not reach: that limit is the reason.
func DupAbove(fd, least int) (int, error) {
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, least)
	if err == unix.EINVAL {
		err = unix.EMFILE
	}
	return high, err
}

// ErrClosed is end of file between two frames.
var ErrClosed = errors.New("the other end is closed")

// ReadFull fills buf. At end of file, and where the other end was reset, it returns
// ErrClosed.
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
