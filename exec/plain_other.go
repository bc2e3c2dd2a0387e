//go:build !linux

package exec

import (
	"os"
	"syscall"
	"time"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

var processWeakness = sandbox.Weakness{
	ID:   "processes",
	What: "A process that leaves its process group stays behind after the command.",
	Why:  "this system offers no list of a process's descendants without running a program",
}

// maxPipe is the capacity of a pipe.
const maxPipe = 64 << 10

func enlarge(*os.File) {} // pipes have one size here

func plainAttr(foreground bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: !foreground}
}

// shieldDescriptors sets close-on-exec on all our descriptors above 2.
func shieldDescriptors() error { return shieldEach("/dev/fd") }

// waitExit returns when the child has ended, and leaves it unreaped.
func waitExit(pid int) {
	kq, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(kq)
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	events := make([]unix.Kevent_t, 1)
	for {
		// ESRCH: the child has ended already.
		if _, err := unix.Kevent(kq, change, events, nil); err != unix.EINTR {
			return
		}
		change = nil
	}
}

// member and membersOf are for Linux: here no process says who started it.
type member struct{}

func membersOf(int, bool) []member { return nil }

// killTree kills the command and its process group, several times in a row, since a
// process may start another one while it dies.
func killTree(leader int, foreground bool, _ []member) {
	for range 3 {
		_ = unix.Kill(leader, unix.SIGKILL)
		if foreground || unix.Kill(-leader, unix.SIGKILL) != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
