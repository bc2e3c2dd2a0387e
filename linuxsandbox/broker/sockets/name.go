//go:build linux

package sockets

import (
	"encoding/binary"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"

	"golang.org/x/sys/unix"
)

// A socket that the broker bound has another address in the kernel: one that leads through
// the broker's descriptors. Programs ask for the address to pass it on, or to remove the
// file at the end. So they get the address that they bound.

// Name answers getsockname and getpeername. answered is false if the kernel's own answer is
// right. The call may then proceed: it changes nothing and reports only what the kernel
// knows about the socket.
func (s *Sockets) Name(n *notify.Notification) (errno unix.Errno, answered bool) {
	find := s.nameOf
	if s.Taking == TakesStandIns {
		find = s.standInName
	}
	if addr := find(n.Thread(), int32(n.Args[0]), n.NR == unix.SYS_GETPEERNAME); addr != nil {
		return writeAddress(n, addr), true
	}
	return 0, false
}

// nameOf returns the address of a socket of the thread, or of its peer. nil means the
// kernel's own answer.
func (s *Sockets) nameOf(tid int, number int32, peer bool) []byte {
	sock, err := TakeFD(tid, number)
	if err != nil {
		return nil
	}
	defer unix.Close(sock)
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return nil
	}
	address := unix.Getsockname
	if peer {
		if to, ok := s.Network.PeerOf(cookie); ok {
			domain, _ := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_DOMAIN)
			return netns.SocketAddress(to, domain)
		}
		// The cookie of the other end is unknown.
		address, cookie = unix.Getpeername, 0
	}
	sa, err := address(sock)
	un, ok := sa.(*unix.SockaddrUnix)
	if err != nil || !ok || strings.HasPrefix(un.Name, "@") { // an abstract name is not changed
		return nil
	}
	return s.boundAs(cookie, un.Name)
}

// standInName is nameOf where the socket cannot be copied.
func (s *Sockets) standInName(tid int, number int32, peer bool) []byte {
	inode, err := socketInode(tid, number)
	if err != nil {
		return nil
	}
	a, err := diagnose(inode, anySocket)
	if err == nil && peer {
		a, err = diagnose(uint64(a.peer), anySocket)
	}
	if err != nil {
		return nil
	}
	return s.boundAs(0, a.name)
}

// boundAs returns the address that a command bound a socket to, nil if the kernel has the same.
func (s *Sockets) boundAs(cookie uint64, inner string) []byte {
	if called, ok := s.Records.calledBy(cookie, inner); ok {
		return unixAddress(called)
	}
	return nil
}

// writeAddress writes an address to the caller's memory as the kernel does.
func writeAddress(n *notify.Notification, addr []byte) unix.Errno {
	return writeSized(n, n.Args[1], n.Args[2], addr)
}

// writeSized writes addr at the address at, as much of it as the number at size says that there is room
// for, and its whole size there. at may be 0 for nowhere.
func writeSized(n *notify.Notification, at, size uint64, addr []byte) unix.Errno {
	if at == 0 {
		return 0
	}
	mem, errno := openMemory(n)
	if errno != 0 {
		return errno
	}
	defer unix.Close(mem)
	var number [4]byte
	if errno := moveMemory(unix.Pread, mem, number[:], size); errno != 0 {
		return errno
	}
	room := int32(binary.NativeEndian.Uint32(number[:]))
	if room < 0 {
		return unix.EINVAL
	}
	if errno := moveMemory(unix.Pwrite, mem, addr[:min(int(room), len(addr))], at); errno != 0 {
		return errno
	}
	binary.NativeEndian.PutUint32(number[:], uint32(len(addr)))
	return moveMemory(unix.Pwrite, mem, number[:], size)
}

// writeMemory writes all of buf.
func writeMemory(n *notify.Notification, at uint64, buf []byte) unix.Errno {
	mem, errno := openMemory(n)
	if errno != 0 {
		return errno
	}
	defer unix.Close(mem)
	return moveMemory(unix.Pwrite, mem, buf, at)
}

// openMemory opens the caller's memory first and then checks that the caller still waits: the thread's
// number could pass to another process before the write, but the open file cannot.
func openMemory(n *notify.Notification) (int, unix.Errno) {
	mem, err := unix.Open("/proc/"+strconv.Itoa(n.Thread())+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, kernel.ErrnoOf(err)
	}
	if !n.Waits() {
		unix.Close(mem)
		return -1, unix.ESRCH
	}
	return mem, 0
}

// moveMemory reads or writes all of buf, or fails as the kernel's own copying does.
func moveMemory(move func(fd int, buf []byte, at int64) (int, error), mem int, buf []byte, at uint64) unix.Errno {
	if len(buf) > 0 {
		if n, err := move(mem, buf, int64(at)); err != nil || n < len(buf) {
			return unix.EFAULT
		}
	}
	return 0
}
