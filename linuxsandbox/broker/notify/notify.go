//go:build linux

// Package notify is the kernel's side of the broker (seccomp_unotify(2)): a refused system
// call that waits for an answer, the answers, and the rules by which a call may proceed. It
// reads the memory of the calling thread and speaks to the listener of a filter; it looks
// at no file. Start with proceed.go: nothing else lets a call proceed.
package notify

import (
	"unsafe"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Notification is one system call that waits for an answer. It begins with struct
// seccomp_notif, which the kernel fills in.
type Notification struct {
	id uint64
	// TID is the calling thread, as this process numbers it.
	TID   uint32
	flags uint32
	NR    int32
	arch  uint32
	ip    uint64
	Args  [6]uint64
	// listener is where it came from: the kernel reads and writes nothing this far.
	listener int
}

// Thread is the number of the calling thread.
func (n *Notification) Thread() int { return int(n.TID) }

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	// errno is negative: -EPERM.
	errno int32
	flags uint32
}

// What x/sys does not name (linux/seccomp.h).
const (
	notifIDValid  = 0x40082102
	notifSetFlags = 0x40082104
)

// Receive takes the next notification off the listener. ENOENT is one whose
// caller is gone already, or, from Linux 6.11, that no caller is left at all.
func (n *Notification) Receive(listener int) error {
	*n = Notification{listener: listener} // the kernel refuses anything but zeroes in its part
	return ioctlPointer(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
}

// Answer lets the call return. The error is that nobody waits for it any more.
func (n *Notification) Answer(a Reply) error {
	if a.Given {
		return nil
	}
	r := response{id: n.id, value: a.value, errno: -int32(a.Errno)}
	if a.Errno != 0 {
		r.value = 0
	}
	if a.Proceeds() {
		r = response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	return ioctlPointer(n.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// addedFD is struct seccomp_notif_addfd.
type addedFD struct {
	id      uint64
	flags   uint32
	source  uint32
	number  uint32
	fdFlags uint32
}

// Give makes the call return a descriptor of the caller's own for fd, which
// stays open here (Linux 5.14). flags are O_CLOEXEC or 0. The error is the
// caller's limit, or that nobody waits any more. The call still waits when this
// has gone well, for the reply: a signal in between has no descriptor lost or
// given twice, as SECCOMP_ADDFD_FLAG_SEND would.
func (n *Notification) Give(fd int, flags uint32) Reply {
	here := n.keepHere()
	a := addedFD{id: n.id, source: uint32(fd), fdFlags: flags}
	number, err := ioctlValue(n.listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a))
	here.release()
	return Reply{value: int64(number), Errno: kernel.ErrnoOf(err)}
}

// Place makes fd, which stays open here, the caller's under that number.
func (n *Notification) Place(fd int, number, flags uint32) unix.Errno {
	a := addedFD{id: n.id, flags: unix.SECCOMP_ADDFD_FLAG_SETFD, source: uint32(fd), number: number, fdFlags: flags}
	return kernel.ErrnoOf(ioctlPointer(n.listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a)))
}

// Waits reports whether the caller still waits: everything that was looked up
// under its number until now was its own and not a later owner's.
func (n *Notification) Waits() bool {
	return ioctlPointer(n.listener, notifIDValid, unsafe.Pointer(&n.id)) == nil
}

// WakeTogether makes caller and broker run on one processor, which halves the
// time of a round trip (Linux 6.6; older kernels refuse and go on as before).
func WakeTogether(listener int) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), notifSetFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}

func ioctlPointer(fd int, request uintptr, p unsafe.Pointer) error {
	_, err := ioctlValue(fd, request, p)
	return err
}

func ioctlValue(fd int, request uintptr, p unsafe.Pointer) (int, error) {
	for {
		value, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(p))
		if errno == 0 {
			return int(value), nil
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}
