//go:build linux

package kernel

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// StatusField is the value of a line of /proc/PID/status or a similar file; "" if there is no such
// line. name includes the colon.
func StatusField(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}

// ReadSmall reads a file of /proc of at most 16 KiB.
func ReadSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	size := 0
	for size < len(buf) {
		n, err := unix.Read(fd, buf[size:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if n == 0 {
			return buf[:size], nil
		}
		size += n
	}
	return nil, errors.New(path + " is too large")
}
