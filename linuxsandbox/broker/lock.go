//go:build linux

package broker

import (
	"strings"
	"sync"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Threat: flock(2) needs only a descriptor that is open for reading. So a command could lock
// any file that it can read, and a program outside that locks the same file would wait until
// the command ends. So the broker makes the call:
//
//	TakeFD        a copy of the caller's descriptor: the same open file description
//	judge         may the command change that file?
//	flock, NB     on the copy. A lock belongs to the open file description: the caller
//	              holds it, it outlives the copy, and ends with the caller's last
//	              descriptor
//
// If the caller puts another open file under the same descriptor number meanwhile, that file
// is not locked. Where the command may not write:
//
//	LOCK_SH  succeeds and does nothing. Programs lock files that they only read, as go
//	         does with go.mod. Other programs can change the file as before
//	LOCK_EX  is denied: a lock that keeps nobody out would be a lie
//	LOCK_UN  succeeds and does nothing. The command holds no lock there, but its standard
//	         input, for example, may be a file that its owner has locked

// refusedLock is the errno of a denied lock: flock(2) gives it when the kernel has no memory
// for locks.
const refusedLock = unix.ENOLCK

// descriptors answers calls on a descriptor that is open for reading.
type descriptors struct {
	walk    descriptorWalk
	judge   descriptorJudge
	losses  *losses
	still   sync.Locker // held while a denial is judged or asked about
	waiting *waitingCalls
	log     recorder
	refuse  refuseOne
}

type descriptorWalk interface {
	Look(c pathwalk.Caller) error
	PolicyPath(fd int) string
}

type descriptorJudge interface {
	RefusesMetadata(n *notify.Notification, fd int, path string, st *unix.Stat_t) *sandbox.Denial
	Longest() int64 // of a file, 0 for no limit
}

// lock answers flock.
func (h *descriptors) lock(n *notify.Notification) notify.Reply {
	how := uint32(n.Args[1])
	op := how &^ unix.LOCK_NB
	if op != unix.LOCK_SH && op != unix.LOCK_EX && op != unix.LOCK_UN {
		return notify.Failed(unix.EINVAL)
	}
	fd, err := h.descriptor(n)
	if err == unix.EBADF {
		return notify.Failed(unix.EBADF)
	}
	if err != nil {
		h.log.Record(n, sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "flock", Target: "flock", Errno: unix.ErrnoName(refusedLock)})
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

// descriptor returns the broker's own copy of the caller's descriptor in the first argument.
func (h *descriptors) descriptor(n *notify.Notification) (fd int, err error) {
	if fd, err = sockets.TakeFD(int(n.TID), int32(n.Args[0])); err != nil {
		return -1, err
	}
	if err = h.walk.Look(n); err == nil && !n.Waits() {
		err = unix.ESRCH // the number may belong to a later thread
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// flockNow tries to lock or unlock without waiting.
func flockNow(fd, op int) error {
	for {
		if err := unix.Flock(fd, op|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

// refuseLock answers a lock on an open file that the command may not change. fd is the broker's
// copy of its descriptor.
func (h *descriptors) refuseLock(n *notify.Notification, fd int, op uint32) (a notify.Reply, done bool) {
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
	d := h.judge.RefusesMetadata(n, fd, path, &st)
	if d == nil {
		return notify.Reply{}, false
	}
	if op != unix.LOCK_EX {
		return notify.Reply{}, true
	}
	h.still.Lock()
	defer h.still.Unlock()
	return h.refuse(n, "flock", refusedLock, d, pin{fd: fd, path: path, asked: path}), true
}

// namesNoFile reports whether an open file never had a name in a folder: a pipe, a socket or a
// memfd. No other program can open it by name.
func namesNoFile(path string, st *unix.Stat_t) bool {
	if st.Nlink == 0 && strings.HasPrefix(path, "/memfd:") {
		return true // the path of a memfd; only a mount called memfd: could have it too
	}
	return !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, pathwalk.HostsOwn)
}

// shorten answers ftruncate. It makes the call on a copy of the descriptor, so that no other file
// can come under the number meanwhile.
func (h *descriptors) shorten(n *notify.Notification) notify.Reply {
	fd, err := h.descriptor(n)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	size := int64(n.Args[1])
	if most := h.judge.Longest(); most > 0 && size > most {
		return notify.Failed(unix.EFBIG)
	}
	if size < st.Size {
		path := h.walk.PolicyPath(fd)
		h.still.Lock()
		a, stops := h.losses.losing(n, "ftruncate", &st, fd, ".", path, pin{fd: fd, path: path, asked: path})
		h.still.Unlock()
		if stops {
			return a
		}
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	return notify.Failed(kernel.ErrnoOf(unix.Ftruncate(fd, size)))
}
