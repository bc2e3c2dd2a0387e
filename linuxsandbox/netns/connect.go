//go:build linux

package netns

import (
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// connect(2) blocks unless O_NONBLOCK is set. That is a flag of the open file, which codeagent's
// copy of a socket shares with the command, so codeagent sets it for the duration of the call. A
// thread of the command could clear it at that moment. The call would then block for as long as the
// command likes, and so would the wait for the command's end. So codeagent interrupts a call that
// does not return: it sets the flag again and sends SIGURG, for which the Go runtime has a handler
// with SA_RESTART. The kernel then restarts the call.

// nudgeTime is how long a non-blocking call may take.
const nudgeTime = 50 * time.Millisecond

// ConnectNow connects sock without blocking. patient reports that the command's own call would
// block. The caller must be locked to its thread.
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

// nudge interrupts the thread tid repeatedly until the returned function is called.
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

// AddressCall calls bind(2) or connect(2) with an encoded address.
func AddressCall(nr uintptr, sock int, addr []byte) unix.Errno {
	_, _, errno := unix.Syscall(nr, uintptr(sock), uintptr(unsafe.Pointer(unsafe.SliceData(append(addr, 0)))), uintptr(len(addr)))
	return errno
}
