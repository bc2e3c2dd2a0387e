//go:build linux

package keeper

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignored are the signals that a terminal or a careless kill sends to a whole
// process group. The keeper outlives them to reap and report; the command gets
// them with their default action. SIGTERM and SIGHUP are here because codeagent
// ends a command over the control socket, or by ending itself.
var ignored = []unix.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
	unix.SIGHUP, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2,
}

// ignoreSignals asks the kernel itself: os/signal would keep a thread and a
// goroutine for it.
func ignoreSignals() {
	ignore := [4]uint64{1} // a kernel sigaction whose handler is SIG_IGN
	for _, sig := range ignored {
		_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
	}
}
