//go:build linux

package linuxsandbox

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Whether a connect waits is a mark on the socket, which the command shares: it is
// set for the moment of the call, and a thread that looks in it sees it. A thread
// that takes it away in that moment could make the call wait for as long as it
// likes, and with it whoever waits for the command's end. So a call that does not
// return is nudged: the mark is set again, and a signal makes the kernel begin the
// call anew, which the Go runtime's own handler of that signal asks for.

// nudgeTime is how long a call that waits for nobody may take.
const nudgeTime = 50 * time.Millisecond

// connectNow connects sock without waiting. patient: the command would wait. The
// caller is locked to its thread.
func connectNow(sock int, addr []byte) (errno unix.Errno, patient bool) {
	flags, err := unix.FcntlInt(uintptr(sock), unix.F_GETFL, 0)
	if err != nil {
		return errnoOf(err), false
	}
	patient = flags&unix.O_NONBLOCK == 0
	if patient {
		if _, err := unix.FcntlInt(uintptr(sock), unix.F_SETFL, flags|unix.O_NONBLOCK); err != nil {
			return errnoOf(err), false
		}
		defer func() { _, _ = unix.FcntlInt(uintptr(sock), unix.F_SETFL, flags) }()
	}
	defer nudge(sock, unix.Gettid(), flags|unix.O_NONBLOCK)()
	return addressCall(unix.SYS_CONNECT, sock, addr), patient
}

// nudge does so to the thread tid until the function that it returns is called.
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
