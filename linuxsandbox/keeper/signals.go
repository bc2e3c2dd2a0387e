//go:build linux

package keeper

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ignored are the signals that a terminal or kill(1) sends to a whole process group. The keeper
// survives them to reap and report; in the command they have their default action. SIGTERM and
// SIGHUP are included, because codeagent ends a command through the control socket or by ending
// itself.
var ignored = []unix.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
	unix.SIGHUP, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2,
}

// ignoreSignals makes the system calls itself: os/signal would keep a thread and a goroutine.
func ignoreSignals() {
	ignore := [4]uint64{1} // a kernel sigaction whose handler is SIG_IGN
	for _, sig := range ignored {
		_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
	}
}
