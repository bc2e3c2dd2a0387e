//go:build linux

package sockets

import (
	"encoding/binary"
	"net/netip"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A datagram names its receiver, and none leaves the loopback device of the shared network.
// The filter asks the broker only so that a denial is recorded. The call may then proceed:
// whatever address the kernel reads, it is inside.

// Send examines sendto, sendmsg and sendmmsg. With errno 0 the call may proceed if the
// command's network has no way out.
func (s *Sockets) Send(n *notify.Notification) (errno unix.Errno) {
	name := sendNames[n.NR]
	addr, err := receiver(n)
	if err != nil {
		return s.Unread(n, name, sandbox.KindNetwork, err)
	}
	to, ok := netns.ParseAddress(addr)
	if !ok {
		return 0
	}
	if !n.Waits() {
		return unix.ESRCH
	}
	fd, err := TakeFD(n.Thread(), int32(n.Args[0]))
	if err != nil {
		return s.Unread(n, name, sandbox.KindNetwork, err)
	}
	defer unix.Close(fd)
	flags := n.Args[3]
	if n.NR == unix.SYS_SENDMSG {
		flags = n.Args[2]
	}
	s.noteReceiver(n, fd, to, name, flags)
	return 0
}

var sendNames = map[int32]string{unix.SYS_SENDTO: "sendto", unix.SYS_SENDMSG: "sendmsg", unix.SYS_SENDMMSG: "sendmmsg"}

// noteReceiver records the receiver of a message that will not arrive.
func (s *Sockets) noteReceiver(n *notify.Notification, fd int, to netip.AddrPort, name string, flags uint64) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_INET && domain != unix.AF_INET6 {
		return
	}
	// A stream sends to its peer. TCP Fast Open is the exception: its first message has an
	// address, and the relay cannot carry it.
	is, ok := netns.SocketOf(fd, domain)
	if !ok || is.Protocol == unix.IPPROTO_TCP && flags&unix.MSG_FASTOPEN == 0 {
		return
	}
	d := s.Network.Unreached(s.Policy, to)
	d.Operation = name
	switch {
	case s.Network.NameServer(to):
		s.expectQuestions(n, is, to)
		return
	case !to.Addr().IsLoopback():
		d.Errno = unix.ErrnoName(unix.ENETUNREACH)
	case !s.Network.ServedByHost(is.Protocol, to):
		return
	}
	s.Record(n, d)
}

// receiver returns the address in a call, or nothing. Of several messages it
// is that of the first: if a later one fails, the program sends it again as the first.
func receiver(n *notify.Notification) ([]byte, error) {
	at, size := n.Args[4], int32(n.Args[5])
	switch {
	case n.NR == unix.SYS_SENDMMSG && uint32(n.Args[2]) == 0:
		return nil, nil
	case n.NR != unix.SYS_SENDTO:
		// struct mmsghdr begins with struct msghdr, which begins with name and length.
		head, err := notify.ReadMemory(n.Thread(), n.Args[1], 12)
		if err != nil {
			return nil, err
		}
		at, size = binary.NativeEndian.Uint64(head), min(int32(binary.NativeEndian.Uint32(head[8:])), maxAddress)
	}
	switch {
	case at == 0 || size == 0:
		return nil, nil
	case size < 0 || size > maxAddress:
		return nil, unix.EINVAL
	}
	return notify.ReadMemory(n.Thread(), at, int(size))
}
