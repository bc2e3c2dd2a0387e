//go:build linux

package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// lock answers flock.
func (h *command) lock(n *notify.Notification) notify.Reply {
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

// descriptor returns the broker's own copy of the caller's descriptor in the first argument.
func (h *command) descriptor(n *notify.Notification) (fd int, err error) {
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
func (h *command) refuseLock(n *notify.Notification, fd int, op uint32) (a notify.Reply, done bool) {
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

// Threat: two sessions in one folder judge each for itself. While the broker of one looks through a folder
// and makes it a git directory, a command of the other could put a hook into it, or make the other mark of
// one. So sessions make marks in turn. Each shares a lock for each of its write roots, and completes a git
// directory only while it has those of all folders around it alone. The locks are bytes of one file, and end
// with the process.

// sessionLocks are the locks of one session. Files.mu guards them.
type sessionLocks struct {
	file  *os.File // nil: there is no other session
	roots map[int64]bool
	alone []int64 // until mu is unlocked
}

// Share locks from now on against the other sessions that use the file at path. A second file would meet the
// locks of the first as another session's.
func (f *Files) Share(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locks.file != nil {
		return nil
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err == nil {
		f.locks.file = os.NewFile(uintptr(fd), path)
	}
	return err
}

// enter locks write roots that commands get. What does not exist, nobody can complete.
func (f *Files) enter(roots []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, root := range roots {
		at, err := placeOf(root)
		if f.locks.file == nil || err == unix.ENOENT || f.locks.roots[at] {
			continue
		}
		if err == nil {
			err = f.locks.set(unix.F_OFD_SETLKW, unix.F_RDLCK, at)
		}
		if err != nil {
			return fmt.Errorf("lock %s against other sessions: %w", root, err)
		}
		if f.locks.roots == nil {
			f.locks.roots = map[int64]bool{}
		}
		f.locks.roots[at] = true
	}
	return nil
}

// inTurn waits until no other session makes a mark, and reports whether none does until unlock.
func (f *Files) inTurn() bool {
	const marks = 0
	if f.locks.file == nil {
		return true
	}
	f.locks.alone = append(f.locks.alone, marks)
	return f.locks.set(unix.F_OFD_SETLKW, unix.F_WRLCK, marks) == nil
}

// alone reports whether no other session may write in dir, until unlock.
func (f *Files) alone(dir string) bool {
	for at := ""; f.locks.file != nil && at != "/"; dir = filepath.Dir(dir) {
		at = dir
		place, err := placeOf(dir)
		if err != nil || f.locks.set(unix.F_OFD_SETLK, unix.F_WRLCK, place) != nil {
			return false
		}
		f.locks.alone = append(f.locks.alone, place)
	}
	return true
}

// unlock unlocks mu.
func (f *Files) unlock() {
	for _, at := range f.locks.alone {
		kind := int16(unix.F_UNLCK)
		if f.locks.roots[at] {
			kind = unix.F_RDLCK
		}
		_ = f.locks.set(unix.F_OFD_SETLK, kind, at)
	}
	f.locks.alone = nil
	f.mu.Unlock()
}

func (l *sessionLocks) set(cmd int, kind int16, at int64) error {
	return unix.FcntlFlock(l.file.Fd(), cmd, &unix.Flock_t{Type: kind, Start: at, Len: 1})
}

// placeOf is the byte for the folder at path.
func placeOf(path string) (int64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return int64((st.Ino ^ st.Dev<<40) >> 2), err
}
