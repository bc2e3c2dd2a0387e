//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// takeFD is the broker's own copy of a descriptor of the thread: what it does
// with it is done to that very file, whatever the thread puts under its number.
func takeFD(tid int, fd int32) (int, error) {
	const pidfdThread = unix.O_EXCL // Linux 6.9; threads mostly share their process's files
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

// Container runtimes refuse pidfd_getfd to whoever may not trace. There the broker
// makes a socket of its own, binds or connects that, and puts it in the place of
// the command's, which was new and had nothing to lose but its options.

// standIn is where a socket of the broker's is to be put.
type standIn struct {
	number int32
	flags  uint32 // O_CLOEXEC or 0
}

// standInFor makes a socket like the one under a number of the thread.
func standInFor(tid int, number int32) (int, *standIn, error) {
	inode, err := socketInode(tid, number)
	if err != nil {
		return -1, nil, err
	}
	was, err := diagnose(inode, anySocket)
	if err != nil {
		return -1, nil, unix.EPERM // of another family, or another network's
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
	return fd, &standIn{number, uint32(flags & unix.O_CLOEXEC)}, err
}

// take gets at the socket of a call: a copy, or one that is to stand in for it.
func (b *broker) take(n *notify.Notification) (int, *standIn, error) {
	if b.takes == takesStandIns {
		return standInFor(int(n.TID), int32(n.Args[0]))
	}
	fd, err := takeFD(int(n.TID), int32(n.Args[0]))
	return fd, nil, err
}

// socketInode is the inode of the socket under a number of the thread.
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

// put makes the call succeed with sock in the place of the command's.
func (s *standIn) put(n *notify.Notification, sock int) unix.Errno {
	return n.Place(sock, uint32(s.number), s.flags)
}

// socketTaking is how the broker gets at the sockets of commands.
type socketTaking int

const (
	takesNone socketTaking = iota
	takesCopies
	// takesStandIns: as far as they are of the AF_UNIX family. Those of a network
	// must not be asked about.
	takesStandIns
)

// howToTake tries what path sockets need of a thread that is confined, on one
// with the rights of a broker's.
func howToTake(tid int) (how socketTaking, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err = becomeCommand(0); err == nil {
			how, err = tryTaking(tid)
		}
	}()
	<-done
	return how, err
}

func tryTaking(tid int) (socketTaking, error) {
	how := takesCopies
	sock, err := takeFD(tid, spec.ControlFD)
	if err == unix.EPERM || err == unix.ENOSYS {
		how = takesStandIns
		if _, err := socketInode(tid, spec.ControlFD); err != nil {
			return takesNone, fmt.Errorf("look at its sockets: %w", err)
		}
	} else if err != nil {
		return takesNone, fmt.Errorf("take its sockets: %w", err)
	} else {
		unix.Close(sock)
	}
	own, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return takesNone, err
	}
	defer unix.Close(own)
	if _, err := boundInode(own); err != errNoFile {
		return takesNone, fmt.Errorf("the kernel does not tell which file a socket has: %w", err)
	}
	if _, err = inodeNumber(own); err != nil {
		return takesNone, err
	}
	return how, nil
}
