//go:build linux

package keeper

import (
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// limitOf says which limit of l the signal that ended a process stands for.
// setrlimit(2): past the soft CPU limit comes SIGXCPU, past the hard one, a
// second later, SIGKILL, for whoever ignored it. The kernel keeps the limit by a
// clock that counts ticks, and on a busy machine that one is well ahead of the
// usage it reports: more than the soft limit is what can be asked for.
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
