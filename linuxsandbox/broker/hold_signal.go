//go:build linux

package broker

import (
	"strconv"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// The kernel wakes a caller whose call was taken up for nothing but a fatal
// signal (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV). A call that is answered in no
// time needs no more; one that waits, for a person, a lock or the other end of a
// pipe, must give way to Ctrl-C, to a timer, or to a stop, as a call that waits in
// the kernel does.

// errRestart is ERESTARTSYS. The kernel makes of it what it makes of a call of its
// own that a signal interrupted: after a stop, and after a handler that was set
// with SA_RESTART, the call is made again, and comes here again; else it is
// EINTR. Where no signal is about to be handled by the thread, a program would
// see the number itself, which it does not know.
const errRestart = unix.Errno(512)

// signals is what is known of the signals of a caller that waits.
type signals struct {
	// interrupted: one waited for its process at the last look.
	interrupted bool
}

// calledAway is the errno of a call of tid that has to give way to a signal, or 0.
// Fatal signals do not count: the caller is gone then.
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
		return errRestart // nobody else can take it
	case shared == 0:
		s.interrupted = false
		return 0
	case s.interrupted:
		return unix.EINTR
	}
	// Another thread may be about to take it; then it is gone at the next look.
	s.interrupted = true
	return 0
}
