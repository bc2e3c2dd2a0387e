//go:build linux

package linuxsandbox

import (
	"testing"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Where the limit of open files is in the way it is named.
func TestDupAboveNamesTheLimit(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if fd, err := kernel.DupAbove(1, int(limit.Cur)); err != unix.EMFILE {
		t.Errorf("%d, %v", fd, err)
	}
	fd, err := kernel.DupAbove(1, kernel.LowestFD)
	if err != nil || fd < kernel.LowestFD {
		t.Errorf("%d, %v", fd, err)
	}
	unix.Close(fd)
}
