package store

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// lower gives the goroutine, which stays on its thread, the lowest priority for processors and disks. The fold runs on it
// alone.
func lower() {
	const process, idle = 1, 3 << 13 // IOPRIO_WHO_PROCESS; IOPRIO_CLASS_IDLE in its place
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, process, 0, idle)
}
