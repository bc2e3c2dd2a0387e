package store

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestLower: what folds gives way to all else, on its thread alone.
func TestLower(t *testing.T) {
	policy := func() (uint32, int) {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		const process, class = 1, 13
		disk, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, process, 0, 0)
		return attr.Policy, int(disk) >> class
	}
	before, _ := policy()
	done := make(chan struct{})
	go func() { // its thread ends with it
		defer close(done)
		lower()
		if cpu, disk := policy(); cpu != unix.SCHED_IDLE || disk != 3 {
			t.Errorf("policy %d, class %d of the disk", cpu, disk)
		}
	}()
	<-done
	if now, _ := policy(); now != before {
		t.Errorf("the process has policy %d now", now)
	}
}
