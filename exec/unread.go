package exec

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Unread reports whether f is a pipe or a socket in which data waits. It reads nothing and
// does not wait.
func Unread(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return false
	}
	fd := int(f.Fd())
	if info.Mode()&fs.ModeSocket != 0 { // poll also reports a socket at the end of its input
		n, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err == nil && n > 0
	}
	ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, 0)
	return err == nil && n > 0 && ready[0].Revents&unix.POLLIN != 0
}
