//go:build linux

// Package notify is the kernel interface of the broker (seccomp_unotify(2)): a system call
// that waits for an answer, the answers, and the rules by which a call may proceed. It
// reads the memory of the calling thread and uses the listener of a filter; it opens no
// file. Start with proceed.go: nothing else lets a call proceed.
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
	// TID is the calling thread's number in this process's PID namespace.
	TID   uint32
	flags uint32
	NR    int32
	arch  uint32
	ip    uint64
	Args  [6]uint64
	// listener is where it was received. It lies beyond what the kernel reads and writes.
	listener int
}

// Thread returns the number of the calling thread.
func (n *Notification) Thread() int { return int(n.TID) }

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	// errno is negative, as in -EPERM.
	errno int32
	flags uint32
}

// Values that x/sys lacks (linux/seccomp.h).
const (
	notifIDValid  = 0x40082102
	notifSetFlags = 0x40082104
)

// Receive reads the next notification from the listener. ENOENT means that its caller is
// gone or, since Linux 6.11, that the filter has no process left.
func (n *Notification) Receive(listener int) error {
	*n = Notification{listener: listener} // the kernel requires its part to be zero
	return ioctlPointer(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
}

// Answer makes the call return. It fails if the caller no longer waits.
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

// Give installs a copy of fd in the caller, and returns the reply that makes the call
// return its number (Linux 5.14). fd stays open here. flags are O_CLOEXEC or 0. It fails at
// the caller's limit of descriptors, or if the caller no longer waits. The call waits until
// Answer sends the reply: with SECCOMP_ADDFD_FLAG_SEND a signal in between could lose the
// descriptor or install it twice.
func (n *Notification) Give(fd int, flags uint32) Reply {
	here := n.keepHere()
	a := addedFD{id: n.id, source: uint32(fd), fdFlags: flags}
	number, err := ioctlValue(n.listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a))
	here.release()
	return Reply{value: int64(number), Errno: kernel.ErrnoOf(err)}
}

// Place installs a copy of fd in the caller under that number. fd stays open here.
func (n *Notification) Place(fd int, number, flags uint32) unix.Errno {
	a := addedFD{id: n.id, flags: unix.SECCOMP_ADDFD_FLAG_SETFD, source: uint32(fd), number: number, fdFlags: flags}
	return kernel.ErrnoOf(ioctlPointer(n.listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a)))
}

// Returned is the reply that makes a call return value, which is not negative.
func Returned(value int) Reply { return Reply{value: int64(value)} }

// Waits reports whether the caller still waits. If so, everything that was looked up under its
// number until now was the caller's, not that of a later thread with the same number.
func (n *Notification) Waits() bool {
	return ioctlPointer(n.listener, notifIDValid, unsafe.Pointer(&n.id)) == nil
}

// WakeTogether lets caller and broker run on one processor, which halves the time of a
// round trip. It needs Linux 6.6 and has no effect on older kernels.
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
