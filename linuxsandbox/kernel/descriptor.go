//go:build linux

package kernel

import (
	"errors"
	"io"

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

// File is a descriptor as an io.ReaderAt and io.Writer.
type File int

// ReadAt implements io.ReaderAt; it does not change the offset of the file.
func (f File) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) && err == nil {
		var n int
		n, err = unix.Pread(int(f), p[done:], off+int64(done))
		switch {
		case err == unix.EINTR:
			err = nil
		case err == nil && n == 0:
			err = io.EOF
		case err == nil:
			done += n
		}
	}
	return done, err
}

// Write implements io.Writer.
func (f File) Write(p []byte) (done int, err error) {
	for done < len(p) && err == nil {
		var n int
		n, err = unix.Write(int(f), p[done:])
		if err == unix.EINTR {
			err = nil
		}
		done += max(n, 0)
	}
	return done, err
}
