//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/netns"

	"codeagent/linuxsandbox/kernel"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// A socket that the broker bound has another address in the kernel, by way of the
// broker's own descriptors. Programs ask for the address to hand it on, and to
// remove the file at the end, so they are told the one that they bound.

// socketName answers getsockname and getpeername. Both change nothing, and tell only
// what the kernel knows of the socket: they may proceed.
func (b *broker) socketName(n *notify.Notification) notify.Reply {
	kernels := b.rules.Proceed(notify.ByCaller)
	if b.takes == takesStandIns {
		return b.standInName(n)
	}
	sock, err := takeFD(int(n.TID), int32(n.Args[0]))
	if err != nil {
		return kernels
	}
	defer unix.Close(sock)
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return kernels
	}
	if n.NR == unix.SYS_GETPEERNAME {
		if to, ok := b.session.net.PeerOf(cookie); ok {
			domain, _ := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_DOMAIN)
			return notify.Failed(b.writeAddress(n, netns.SocketAddress(to, domain)))
		}
	}
	address := unix.Getsockname
	if n.NR == unix.SYS_GETPEERNAME {
		// The other end's cookie is not known.
		address, cookie = unix.Getpeername, 0
	}
	sa, err := address(sock)
	if err != nil {
		return kernels
	}
	un, ok := sa.(*unix.SockaddrUnix)
	if !ok || strings.HasPrefix(un.Name, "@") { // a name without a file is its own
		return kernels
	}
	called, ok := b.session.sockets.calledBy(cookie, un.Name)
	if !ok {
		return kernels
	}
	return notify.Failed(b.writeAddress(n, unixAddress(called)))
}

// standInName is socketName where no copy of the socket can be had.
func (b *broker) standInName(n *notify.Notification) notify.Reply {
	kernels := b.rules.Proceed(notify.ByCaller)
	inode, err := socketInode(int(n.TID), int32(n.Args[0]))
	if err != nil {
		return kernels
	}
	a, err := diagnose(inode, anySocket)
	if err == nil && n.NR == unix.SYS_GETPEERNAME {
		a, err = diagnose(uint64(a.peer), anySocket)
	}
	if err != nil {
		return kernels
	}
	called, ok := b.session.sockets.calledBy(0, a.name)
	if !ok {
		return kernels
	}
	return notify.Failed(b.writeAddress(n, unixAddress(called)))
}

// writeAddress does what the kernel does with an address for the caller. Its
// memory is opened before the caller is known to be there still: a number could
// belong to another process by the time of writing, an open file cannot.
func (b *broker) writeAddress(n *notify.Notification, addr []byte) unix.Errno {
	mem, err := unix.Open("/proc/"+strconv.Itoa(int(n.TID))+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return kernel.ErrnoOf(err)
	}
	defer unix.Close(mem)
	if !n.Waits() {
		return unix.ESRCH
	}
	var size [4]byte
	if err := moveMemory(unix.Pread, mem, size[:], n.Args[2]); err != nil {
		return kernel.ErrnoOf(err)
	}
	room := int32(binary.NativeEndian.Uint32(size[:]))
	if room < 0 {
		return unix.EINVAL
	}
	if err := moveMemory(unix.Pwrite, mem, addr[:min(int(room), len(addr))], n.Args[1]); err != nil {
		return kernel.ErrnoOf(err)
	}
	binary.NativeEndian.PutUint32(size[:], uint32(len(addr)))
	return kernel.ErrnoOf(moveMemory(unix.Pwrite, mem, size[:], n.Args[2]))
}

// moveMemory reads or writes all of buf, or fails as the kernel's own copying does.
func moveMemory(move func(fd int, buf []byte, at int64) (int, error), mem int, buf []byte, at uint64) error {
	if len(buf) == 0 {
		return nil
	}
	if n, err := move(mem, buf, int64(at)); err != nil || n < len(buf) {
		return unix.EFAULT
	}
	return nil
}
