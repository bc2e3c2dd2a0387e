//go:build linux

package broker

import (
	"strconv"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Once the broker has received a call, only a fatal signal wakes the caller
// (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV). That is enough for a call that is answered at
// once. A call that waits for a person, a lock or the other end of a pipe must also yield
// to Ctrl-C, a timer or a stop, like a call that blocks in the kernel.

// errRestart is ERESTARTSYS. The kernel treats it as for its own interrupted calls. After a
// stop, or after a handler set with SA_RESTART, it restarts the call, which arrives here
// again. After any other handler the program sees EINTR. If the thread has no signal to
// handle, the program would see the number 512, which it does not know.
const errRestart = unix.Errno(512)

// signals is the signal state of a waiting caller.
type signals struct {
	// interrupted: a signal was pending for the process at the last check.
	interrupted bool
}

// calledAway returns the errno with which a call of tid must yield to a signal, or 0. Fatal
// signals do not count: the caller is gone then.
func (s *signals) calledAway(tid uint32) unix.Errno {
	status, err := kernel.ReadSmall("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return 0
	}
	set := func(name string) uint64 {
		v, _ := strconv.ParseUint(kernel.StatusField(status, name), 16, 64)
		return v
	}
	blocked := set("SigBlk:")
	own, shared := set("SigPnd:")&^blocked, set("ShdPnd:")&^blocked
	switch {
	case own != 0, shared != 0 && kernel.StatusField(status, "Threads:") == "1":
		return errRestart // no other thread can take the signal
	case shared == 0:
		s.interrupted = false
		return 0
	case s.interrupted:
		return unix.EINTR
	}
	// Another thread may be about to take the signal. Then it is gone at the next check.
	s.interrupted = true
	return 0
}
