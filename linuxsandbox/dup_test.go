//go:build linux

package linuxsandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Where the limit of open files is in the way it is named.
func TestDupAboveNamesTheLimit(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if fd, err := dupAbove(1, int(limit.Cur)); err != unix.EMFILE {
		t.Errorf("%d, %v", fd, err)
	}
	fd, err := dupAbove(1, lowestFD)
	if err != nil || fd < lowestFD {
		t.Errorf("%d, %v", fd, err)
	}
	unix.Close(fd)
}
