//go:build linux

package sockets

import (
	"encoding/binary"
	"time"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"

	"golang.org/x/sys/unix"
)

// A library believes an answer only if it comes from the name server that it asked. Codeagent answers
// in its place, from another address, so the broker takes the answer from the socket and gives it to
// the command with the address of the server. All other messages the kernel delivers.

// receivedCall is a receive on a socket that a name server's answer arrives at.
type receivedCall struct {
	n      notify.Notification
	sock   int
	server unix.Sockaddr
	flags  int
	until  time.Time
}

// Receive answers recvfrom, recvmsg and recvmmsg. answered is false if the kernel's own answer is right.
// The call may then proceed: it changes nothing outside the command.
func (s *Sockets) Receive(n *notify.Notification) (a notify.Reply, answered bool) {
	if !s.AskInet {
		return a, false
	}
	fd, err := TakeFD(n.Thread(), int32(n.Args[0]))
	if err != nil {
		return a, false
	}
	c := &receivedCall{n: *n, sock: fd, flags: int(int32(n.Args[3]))}
	if n.NR == unix.SYS_RECVMSG {
		c.flags = int(int32(n.Args[2]))
	}
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	to, stands := s.Network.Answers(cookie)
	if err != nil || !stands { // nearly all
		unix.Close(fd)
		return a, false
	}
	kind, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	domain, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if kind != unix.SOCK_DGRAM || c.flags&unix.MSG_ERRQUEUE != 0 || !n.Waits() {
		unix.Close(fd)
		return a, false
	}
	c.server = netns.Sockaddr(to, domain)
	a, waits := s.receive(c)
	if !waits || flags&unix.O_NONBLOCK != 0 || c.flags&unix.MSG_DONTWAIT != 0 {
		unix.Close(fd)
		return a, true
	}
	c.until = timeLimit(fd, unix.SO_RCVTIMEO)
	wait := func() {
		s.again(&c.n, c.sock, unix.EPOLLIN, c.until, func() (notify.Reply, bool) { return s.receive(c) }, notify.Failed)
	}
	return s.later(wait, func() { unix.Close(fd) }), true
}

// receive takes a message, if one is there, and gives it to the command.
func (s *Sockets) receive(c *receivedCall) (a notify.Reply, waits bool) {
	buf := make([]byte, maxDatagram)
	size, from, err := unix.Recvfrom(c.sock, buf, c.flags&unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err == unix.EAGAIN && polled(c.sock, unix.POLLRDHUP) {
		return notify.Returned(0), false
	}
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), err == unix.EAGAIN
	}
	if at, ok := netns.AddressOf(from); ok && s.Network.FromStandIn(at) {
		from = c.server
	}
	return c.deliver(buf[:size], netns.Encoded(from)), false
}

// deliver writes a message to the command's memory.
func (c *receivedCall) deliver(data, from []byte) notify.Reply {
	n, tid := &c.n, c.n.Thread()
	whole, flags := len(data), uint32(0)
	if n.NR == unix.SYS_RECVFROM {
		data = data[:min(uint64(len(data)), n.Args[2])]
		errno := writeMemory(n, n.Args[1], data)
		if errno == 0 {
			errno = writeSized(n, n.Args[4], n.Args[5], from)
		}
		return c.count(len(data), whole, errno)
	}
	h, err := readHeader(tid, n.Args[1])
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	left := data
	for _, p := range h.pieces {
		part := left[:min(uint64(len(left)), p.size)]
		if errno := writeMemory(n, p.at, part); errno != 0 {
			return notify.Failed(errno)
		}
		left = left[len(part):]
	}
	if len(left) > 0 {
		flags |= unix.MSG_TRUNC
	}
	if h.name != 0 {
		if errno := writeSized(n, h.name, n.Args[1]+8, from); errno != 0 {
			return notify.Failed(errno)
		}
	}
	// No ancillary data comes with it.
	tail := binary.NativeEndian.AppendUint32(make([]byte, 8), flags)
	errno := writeMemory(n, n.Args[1]+headerFlags-8, tail)
	given := len(data) - len(left)
	if n.NR == unix.SYS_RECVMMSG && errno == 0 {
		if errno = writeMemory(n, n.Args[1]+messageHeader, binary.NativeEndian.AppendUint32(nil, uint32(given))); errno == 0 {
			return notify.Returned(1)
		}
	}
	return c.count(given, whole, errno)
}

// count is the reply: the bytes that were given or, with MSG_TRUNC, those of the whole message.
func (c *receivedCall) count(given, whole int, errno unix.Errno) notify.Reply {
	switch {
	case errno != 0:
		return notify.Failed(errno)
	case c.flags&unix.MSG_TRUNC != 0:
		return notify.Returned(whole)
	}
	return notify.Returned(given)
}
