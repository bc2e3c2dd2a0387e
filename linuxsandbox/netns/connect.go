//go:build linux

package netns

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Whether connect(2) blocks depends on O_NONBLOCK, a flag of the open file, which
// codeagent's copy of a socket shares with the command. So the flag is set during
// the call. A thread of the command that clears it in that moment could make the
// call block for as long as it likes, and with it everybody who waits for the end
// of the command. So a call that does not return is interrupted: the flag is set
// again, and SIGURG, for which the Go runtime has a handler with SA_RESTART, makes
// the kernel start the call anew.

// nudgeTime is how long a call that does not block may take.
const nudgeTime = 50 * time.Millisecond

// ConnectNow connects sock without blocking. patient: the command's own call would
// block. The caller is locked to its thread.
func ConnectNow(sock int, addr []byte) (errno unix.Errno, patient bool) {
	flags, err := unix.FcntlInt(uintptr(sock), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_NONBLOCK == 0 {
		patient = true
		_, err = unix.FcntlInt(uintptr(sock), unix.F_SETFL, flags|unix.O_NONBLOCK)
	}
	if err != nil {
		return unix.EBADF, false
	}
	if patient {
		defer func() { _, _ = unix.FcntlInt(uintptr(sock), unix.F_SETFL, flags) }()
	}
	defer nudge(sock, unix.Gettid(), flags|unix.O_NONBLOCK)()
	return AddressCall(unix.SYS_CONNECT, sock, addr), patient
}

// nudge interrupts the thread tid until the function that it returns is called.
func nudge(sock, tid, flags int) (returned func()) {
	var mu sync.Mutex
	over := false
	var again *time.Timer
	mu.Lock()
	defer mu.Unlock()
	again = time.AfterFunc(nudgeTime, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		_, _ = unix.FcntlInt(uintptr(sock), unix.F_SETFL, flags)
		_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
		again.Reset(nudgeTime)
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		again.Stop()
	}
}

// AddressCall is bind(2) or connect(2) with the address as bytes.
func AddressCall(nr uintptr, sock int, addr []byte) unix.Errno {
	_, _, errno := unix.Syscall(nr, uintptr(sock), uintptr(unsafe.Pointer(unsafe.SliceData(append(addr, 0)))), uintptr(len(addr)))
	return errno
}
