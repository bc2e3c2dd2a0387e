//go:build linux

package kernel

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The error names the limit of open files if that is the cause.
func TestDupAboveNamesTheLimit(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if fd, err := DupAbove(1, int(limit.Cur)); err != unix.EMFILE {
		t.Errorf("%d, %v", fd, err)
	}
	fd, err := DupAbove(1, LowestFD)
	if err != nil || fd < LowestFD {
		t.Errorf("%d, %v", fd, err)
	}
	unix.Close(fd)
}
