//go:build linux

package kernel

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Vfork is clone(2) for a child that shares the memory and the stack of its parent until it
// executes a program. The parent's thread waits until then. A copy of the memory would cost a third
// of a millisecond in page faults.
func Vfork(trap, flags, stack, pidfd uintptr) (r1, errno uintptr)

// Sigprocmask sets the signals that the calling thread blocks. old may be nil.
func Sigprocmask(set, old *uint64) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// DefaultSignals gives every signal its default action and blocks none. It runs in a child of
// Vfork, so it makes raw system calls only.
//
//go:nosplit
//go:norace
func DefaultSignals() syscall.Errno {
	var dfl [4]uint64 // a kernel sigaction of zeroes, which is SIG_DFL
	for sig := uintptr(1); sig <= 64; sig++ {
		if sig == uintptr(unix.SIGKILL) || sig == uintptr(unix.SIGSTOP) {
			continue
		}
		if _, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&dfl)), 0, 8, 0, 0); e != 0 {
			return e
		}
	}
	none := uint64(0)
	_, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	return e
}

// Pointers converts strings for execve(2), with a final nil.
func Pointers[S ~string](list []S) ([]*byte, error) {
	out := make([]*byte, 0, len(list)+1)
	for _, s := range list {
		p, err := unix.BytePtrFromString(string(s))
		if err != nil {
			return nil, errors.New("the command contains a NUL byte")
		}
		out = append(out, p)
	}
	return append(out, nil), nil
}
