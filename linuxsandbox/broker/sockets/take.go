//go:build linux

package sockets

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// pidfdThread is PIDFD_THREAD of Linux 6.9. Before, the first thread stands for all of a process, which
// usually share their descriptors.
const pidfdThread = unix.O_EXCL

// TakeFD returns the broker's own copy of a descriptor of the thread. Calls on the copy act
// on that open file, even if the thread puts another file under the number.
func TakeFD(tid int, fd int32) (int, error) {
	pidfd, err := unix.PidfdOpen(tid, pidfdThread)
	if err == unix.EINVAL {
		pidfd, err = unix.PidfdOpen(kernel.ProcessOf(tid), 0)
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(pidfd)
	return unix.PidfdGetfd(pidfd, int(fd), 0)
}

// Container runtimes deny pidfd_getfd to processes that may not trace. There the broker
// makes a socket of its own, binds or connects it, and puts it in the place of the
// command's. The command's socket is unused at that point, so it loses only its options.

// standIn is the descriptor that a socket of the broker's replaces.
type standIn struct {
	number uint32
	flags  uint32 // O_CLOEXEC or 0
}

// standInFor makes a socket of the same kind as the one under a number of the thread.
func standInFor(tid int, number int32) (int, *standIn, error) {
	inode, err := socketInode(tid, number)
	if err != nil {
		return -1, nil, err
	}
	was, err := diagnose(inode, anySocket)
	if err != nil {
		return -1, nil, unix.EPERM // not AF_UNIX, or of another network namespace
	}
	const unconnected = 7 // TCP_CLOSE
	if was.bound || was.state != unconnected {
		return -1, nil, unix.EINVAL
	}
	info, err := kernel.ReadSmall("/proc/" + strconv.Itoa(tid) + "/fdinfo/" + strconv.Itoa(int(number)))
	if err != nil {
		return -1, nil, unix.EBADF
	}
	flags, err := strconv.ParseUint(kernel.StatusField(info, "flags:"), 8, 32)
	if err != nil {
		return -1, nil, unix.EPERM
	}
	fd, err := unix.Socket(unix.AF_UNIX, int(was.kind)|unix.SOCK_CLOEXEC|int(flags&unix.O_NONBLOCK), 0)
	return fd, &standIn{uint32(number), uint32(flags & unix.O_CLOEXEC)}, err
}

// take returns a copy of the thread's socket, or a new one to replace it.
func (s *Sockets) take(tid int, number int32) (int, *standIn, error) {
	if s.Taking == TakesStandIns {
		return standInFor(tid, number)
	}
	fd, err := TakeFD(tid, number)
	return fd, nil, err
}

// socketInode returns the inode number of the socket under a number of the thread.
func socketInode(tid int, number int32) (uint64, error) {
	link, err := os.Readlink("/proc/" + strconv.Itoa(tid) + "/fd/" + strconv.Itoa(int(number)))
	if errors.Is(err, os.ErrNotExist) {
		return 0, unix.EBADF
	}
	if err != nil {
		return 0, unix.EPERM
	}
	inode, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return 0, unix.ENOTSOCK
	}
	return strconv.ParseUint(strings.TrimSuffix(inode, "]"), 10, 64)
}

// Access is how a broker gets access to the sockets of commands.
type Access int

const (
	// TakesNone: it has no access.
	TakesNone Access = iota
	// TakesCopies: it copies their descriptors.
	TakesCopies
	// TakesStandIns: it replaces them with sockets of its own, which works for AF_UNIX
	// only. The filter must then not ask about network sockets.
	TakesStandIns
)

// onlyProcesses reports whether the kernel has no PIDFD_THREAD.
func onlyProcesses() bool {
	pidfd, err := unix.PidfdOpen(unix.Getpid(), pidfdThread)
	if err == nil {
		unix.Close(pidfd)
	}
	return err == unix.EINVAL
}

// ownCopy copies a descriptor of this process, as TakeFD does.
func ownCopy() (int, error) {
	own, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(own)
	return TakeFD(unix.Getpid(), int32(own))
}

// HowToTake tests the access to the sockets of a confined thread, on a thread with the
// rights of a broker that may read the confined thread's memory. number is a socket of the confined thread.
func HowToTake(tid int, number int32) (Access, error) {
	how := TakesCopies
	sock, err := TakeFD(tid, number)
	if err == unix.EPERM && onlyProcesses() {
		// The first thread here is the keeper's, which is not confined; a command's is. Copies need the right
		// by which memory is read (PTRACE_MODE_ATTACH), so what is left to test is the call itself.
		sock, err = ownCopy()
	}
	if err == unix.EPERM || err == unix.ENOSYS {
		how = TakesStandIns
		if _, err := socketInode(tid, number); err != nil {
			return TakesNone, fmt.Errorf("read the descriptors of a command in /proc: %w", err)
		}
	} else if err != nil {
		return TakesNone, fmt.Errorf("copy a socket of a command: %w", err)
	} else {
		unix.Close(sock)
	}
	own, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return TakesNone, err
	}
	defer unix.Close(own)
	if _, err := boundInode(own); err != errNoFile {
		return TakesNone, fmt.Errorf("the kernel does not report which file a socket is bound to: %w", err)
	}
	if _, err = inodeNumber(own); err != nil {
		return TakesNone, err
	}
	return how, nil
}
