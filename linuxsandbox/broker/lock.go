//go:build linux

package broker

import (
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// flock(2) takes a descriptor that is open to read. A command could lock any file
// that it can read, and whoever locks that file outside would wait for its end. So
// the broker makes the call:
//
//	takeFD        a copy of the caller's descriptor: the same open file
//	judge         may the command change what this open file is?
//	flock, NB     on the copy. A lock belongs to the open file: it is the caller's,
//	              stays when the copy is closed, and goes with the caller's last one
//
// What the caller puts under the number meanwhile is another open file, and is not
// locked. Outside of what the command may write:
//
//	LOCK_SH  succeeds and does nothing. Programs take it on what they only read, as
//	         go does on go.mod; the file is another one's to change as before
//	LOCK_EX  is refused: a lock that keeps nobody out would be a lie
//	LOCK_UN  succeeds and does nothing. The command has no lock there, but one that
//	         was open before it, its standard input say, may be locked by its owner

// refusedLock is the errno of a lock that is refused: what flock(2) answers where
// there are no locks to be had.
const refusedLock = unix.ENOLCK

// locks answers flock.
type locks struct {
	walk    *pathwalk.Walker
	judge   *judge
	held    *holding
	log     *evidence
	waiting *waitingCalls
	session *Session
}

// lock answers a flock.
func (h *locks) lock(n *notify.Notification) notify.Reply {
	how := uint32(n.Args[1])
	op := how &^ unix.LOCK_NB
	if op != unix.LOCK_SH && op != unix.LOCK_EX && op != unix.LOCK_UN {
		return notify.Failed(unix.EINVAL)
	}
	fd, err := sockets.TakeFD(int(n.TID), int32(n.Args[0]))
	if err == unix.EBADF {
		return notify.Failed(unix.EBADF)
	}
	if err == nil {
		if err = h.walk.Look(n); err == nil && !n.Waits() {
			err = unix.ESRCH // it may be a later owner's of the number
		}
		if err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		h.log.record(n, sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "flock", Target: "flock", Errno: unix.ErrnoName(refusedLock)})
		return notify.Failed(refusedLock)
	}
	if a, done := h.refuseLock(n, fd, op); done {
		unix.Close(fd)
		return a
	}
	if op != unix.LOCK_UN {
		h.waiting.tryWaiting(true)
	}
	w := &waitingCall{call: *n, fd: fd, try: func(w *waitingCall) (notify.Reply, bool) {
		err := flockNow(w.fd, int(op))
		return notify.Failed(kernel.ErrnoOf(err)), err != unix.EWOULDBLOCK
	}}
	a, over := w.try(w)
	if !over && how&unix.LOCK_NB == 0 {
		return h.waiting.wait(w, refusedLock)
	}
	unix.Close(fd)
	if op == unix.LOCK_UN {
		h.waiting.tryWaiting(true)
	}
	return a
}

// flockNow never waits.
func flockNow(fd, op int) error {
	for {
		if err := unix.Flock(fd, op|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

// refuseLock answers a lock on an open file that the command may not change. fd is
// the broker's own copy.
func (h *locks) refuseLock(n *notify.Notification, fd int, op uint32) (a notify.Reply, done bool) {
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_PATH != 0 {
		return notify.Failed(unix.EBADF), true
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	path := h.walk.PolicyPath(fd)
	if namesNoFile(path, &st) {
		return notify.Reply{}, false
	}
	d := h.judge.refusesMetadata(n, fd, path, &st)
	if d == nil {
		return notify.Reply{}, false
	}
	if op != unix.LOCK_EX {
		return notify.Reply{}, true
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return h.held.refuse(n, refusal{denial: d, call: "flock", errno: refusedLock, pins: []pin{{fd: fd, path: path, asked: path}}}), true
}

// namesNoFile reports an open file that never had a name in any folder: a pipe, a
// socket, memory. Nobody else can open it.
func namesNoFile(path string, st *unix.Stat_t) bool {
	if st.Nlink == 0 && strings.HasPrefix(path, "/memfd:") {
		return true // its path is no name: only a mount called memfd: could have it
	}
	return !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, pathwalk.HostsOwn)
}
