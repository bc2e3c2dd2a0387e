//go:build linux

package keeper

import (
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// limitOf is the limit of l for which the kernel sent the signal that ended a process, or "". The
// kernel sends SIGXCPU at the soft CPU limit and SIGKILL at the hard one, a second later
// (setrlimit(2)). It enforces the limit by a clock that counts ticks, which on a busy machine runs
// ahead of the usage that it reports. So limitOf attributes a SIGKILL to the limit if that usage
// has reached the soft limit.
func limitOf(l sandbox.Limits, signal unix.Signal, used *unix.Rusage) sandbox.Limit {
	switch {
	case signal == unix.SIGXCPU && l.CPUSeconds > 0:
		return sandbox.LimitCPU
	case signal == unix.SIGKILL && l.CPUSeconds > 0 && cpuMillis(used) >= l.CPUSeconds*1000:
		return sandbox.LimitCPU
	case signal == unix.SIGXFSZ && l.FileSize > 0:
		return sandbox.LimitFileSize
	}
	return ""
}

func cpuMillis(u *unix.Rusage) int64 {
	return u.Utime.Sec*1000 + int64(u.Utime.Usec)/1000 + u.Stime.Sec*1000 + int64(u.Stime.Usec)/1000
}
