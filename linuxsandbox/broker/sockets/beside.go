//go:build linux

package sockets

import (
	"encoding/binary"
	"net/netip"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Where the session has no network of its own, a TCP or UDP socket of the command is in codeagent's own
// network. The broker judges each address and makes the call on its copy of the socket, with the very
// address that it judged (netns.Beside).
//
// Threat: a socket gets to any host by one unjudged call. These are all the calls that give one an
// address, and the filter lets none of them proceed: connect, bind, listen, sendto, sendmsg, sendmmsg.
// It refuses Fast Open and the options of IP that lead elsewhere. Landlock refuses the command's own
// TCP connections besides (ABI 4, Linux 6.7).

// route is where a connection or a message goes.
type route struct {
	to netip.AddrPort
	// from is the address of a datagram socket of the command.
	from netip.AddrPort
	// listener is the cookie of the session's socket that receives it; 0 for no socket of the session's.
	listener uint64
	// tunnel is set if it is reached through a proxy.
	tunnel *netns.Tunnel
	// errno is set if it goes nowhere. denied: because of the policy.
	errno  unix.Errno
	denied bool
}

// routeTo judges the address to for a socket.
func (s *Sockets) routeTo(n *notify.Notification, is netns.Socket, to netip.AddrPort) (r route) {
	defer func() {
		if r.errno == 0 && is.Protocol != unix.IPPROTO_TCP {
			s.client.Own(is.FD, netns.Holder{}) // what answers it is a message to it
		}
	}()
	switch {
	case s.Network.NameServer(to):
		s.expectQuestions(n, is, to)
		if at, ok := s.client.StandIn(is, to); ok {
			return route{to: at}
		}
		return route{errno: unix.ECONNREFUSED}
	case s.Network.MayReach(s.Policy, to):
		tunnel, ok := s.Network.Tunnel(s.Policy, to)
		if !ok || tunnel != nil && is.Protocol != unix.IPPROTO_TCP { // a proxy carries no datagrams
			return route{errno: unix.ENETUNREACH}
		}
		if is.Protocol != unix.IPPROTO_TCP {
			s.logDatagrams(n, is, to)
		}
		return route{to: to, tunnel: tunnel}
	case !to.Addr().IsLoopback(), is.Protocol != unix.IPPROTO_TCP && netns.Broadcast(to.Addr()):
		return route{errno: unix.ENETUNREACH, denied: true}
	}
	var from netip.AddrPort
	if is.Protocol != unix.IPPROTO_TCP {
		from, _ = netns.LocalAddress(is.FD)
	}
	switch who, cookie := s.Network.Listener(is.Protocol, to, from); who {
	case netns.Session:
		return route{to: to, from: from, listener: cookie}
	case netns.Nobody:
		return route{errno: unix.ECONNREFUSED}
	}
	return route{errno: unix.ECONNREFUSED, denied: true}
}

// denyHost denies what goes to an address, and asks for it where somebody answers.
func (s *Sockets) denyHost(n *notify.Notification, name string, to netip.AddrPort, errno unix.Errno) notify.Reply {
	d := s.Network.Unreached(s.Policy, to)
	if to.Port() == 0 { // to learn the route: nothing is sent
		d.Operation, d.Errno = name, unix.ErrnoName(errno)
		s.Record(n, d)
		return notify.Failed(errno)
	}
	return s.Refuse(n, Refusal{Call: name, Denial: d, Errno: errno, File: -1})
}

// besideCall answers connect and bind.
func (s *Sockets) besideCall(k *socketCall, is netns.Socket) notify.Reply {
	to, ok := netns.ParseAddress(k.addr)
	switch {
	case !ok && !k.bind && len(k.addr) >= 2 && binary.NativeEndian.Uint16(k.addr) == unix.AF_UNSPEC:
		return s.connect(k, make([]byte, unix.SizeofSockaddrInet4)) // disconnects the socket
	case !ok, is.Domain == unix.AF_INET && to.Addr().Is6():
		return notify.Failed(unix.EAFNOSUPPORT)
	case k.bind:
		return s.bindBeside(k, is, to)
	case !is.Unused():
		// The kernel has an errno for it. A thread may free the socket meanwhile (shutdown), and no stream
		// is ever connected to a group.
		return s.connect(k, netns.Group(is.Domain))
	}
	if netns.Unspecified(k.addr) { // to the kernel it is the socket's own address, on any loopback address
		k.addr = netns.SocketAddress(to, is.Domain)
	}
	r := s.routeTo(k.Notification, is, to)
	switch {
	case r.denied:
		return s.denyHost(k.Notification, k.name, to, r.errno)
	case r.errno != 0:
		return notify.Failed(r.errno)
	case r.tunnel != nil:
		return s.dial(k, is, to, r.tunnel)
	case r.listener == 0 && r.to == to:
		s.noteHost(k, to)
		if is.Protocol == unix.IPPROTO_TCP {
			c := s.connection(k.Notification, is, to)
			k.log = func() { s.logUnmeasured(c) }
		}
		return s.connect(k, k.addr)
	}
	if r.listener != 0 {
		k.hold = func() (release func()) { return s.hold(r.listener) }
		k.same = func() bool {
			_, cookie := s.Network.Listener(is.Protocol, r.to, r.from)
			return cookie == r.listener
		}
	}
	return s.connect(k, netns.SocketAddress(r.to, is.Domain))
}

// hold keeps a server of the session from closing until release is called. A server may leave as soon as it has
// accepted one connection; while its port is held, no other program gets it.
func (s *Sockets) hold(listener uint64) (release func()) {
	by := s.Network.Holder(listener)
	fd, err := TakeFD(by.TID, by.Number)
	if err != nil {
		return func() {}
	}
	if its, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE); err != nil || its != listener {
		unix.Close(fd) // it was closed there
		return func() {}
	}
	return func() { unix.Close(fd) }
}

// bindBeside binds a socket to the loopback. A server that asks for every address gets that of the
// loopback: other machines must not reach it. A datagram socket without a port of its own keeps every
// address, since it could reach no other machine from the loopback.
//
// Threat: with SO_REUSEPORT a command could take over connections to a program of the host that set it
// too, so the port must be free.
func (s *Sockets) bindBeside(k *socketCall, is netns.Socket, to netip.AddrPort) notify.Reply {
	if netns.Unspecified(k.addr) {
		to = netip.AddrPortFrom(netns.LoopbackOf(is), to.Port())
	}
	at := netns.SocketAddress(to, is.Domain)
	switch {
	case netns.Unspecified(k.addr) && is.Protocol == unix.IPPROTO_UDP && to.Port() == 0:
		at = netns.Everywhere(is.Domain)
	case to.Addr().IsLoopback() && to.Port() == 0:
	case to.Addr().IsLoopback():
		if who, _ := s.Network.Listener(is.Protocol, to, netip.AddrPort{}); who == netns.Host {
			return notify.Failed(unix.EADDRINUSE)
		}
	case netns.HostHas(to.Addr()):
		return s.refuseInet(k, is, to, unix.EADDRNOTAVAIL)
	default:
		return notify.Failed(unix.EADDRNOTAVAIL)
	}
	errno := netns.AddressCall(unix.SYS_BIND, k.sock, at)
	if errno == 0 {
		if at, ok := netns.LocalAddress(k.sock); ok {
			s.Network.Disown(is.Protocol, at.Port())
		}
		s.client.Own(k.sock, netns.Holder{TID: k.Thread(), Number: int32(k.Args[0])})
	}
	return notify.Failed(errno)
}

// Linger makes a setsockopt of SO_LINGER. It sets no time other than 0: a socket then closes in the background,
// and codeagent never waits when its copy is the last.
func (s *Sockets) Linger(n *notify.Notification) notify.Reply {
	fd, err := TakeFD(n.Thread(), int32(n.Args[0]))
	if err != nil {
		return notify.Failed(s.Unread(n, "setsockopt", sandbox.KindNetwork, err))
	}
	defer unix.Close(fd)
	if uint32(n.Args[4]) < 8 {
		return notify.Failed(unix.EINVAL)
	}
	value, err := notify.ReadMemory(n.Thread(), n.Args[3], 8)
	if err != nil || !n.Waits() {
		return notify.Failed(unix.EFAULT)
	}
	on, seconds := int32(binary.NativeEndian.Uint32(value)), int32(binary.NativeEndian.Uint32(value[4:]))
	if seconds != 0 {
		on = 0
	}
	return notify.Failed(kernel.ErrnoOf(unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: on})))
}

// ListenBeside makes a listen, on the loopback.
func (s *Sockets) ListenBeside(n *notify.Notification) notify.Reply {
	fd, err := TakeFD(n.Thread(), int32(n.Args[0]))
	if err != nil {
		return notify.Failed(s.Unread(n, "listen", sandbox.KindNetwork, err))
	}
	defer unix.Close(fd)
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	switch domain {
	case unix.AF_UNIX:
	case unix.AF_INET, unix.AF_INET6:
		is, ok := netns.SocketOf(fd, domain)
		// The address of a socket in use goes when a thread frees it.
		if !ok || is.Protocol != unix.IPPROTO_TCP || !is.Unused() && !is.Listens() {
			return notify.Failed(unix.EINVAL)
		}
		at, bound := netns.LocalAddress(fd)
		switch {
		case !bound:
			return notify.Failed(unix.EINVAL)
		case at.Port() == 0:
			if errno := netns.AddressCall(unix.SYS_BIND, fd, netns.SocketAddress(netip.AddrPortFrom(netns.LoopbackOf(is), 0), domain)); errno != 0 {
				return notify.Failed(errno)
			}
		case !at.Addr().IsLoopback():
			return notify.Failed(unix.EINVAL)
		}
		s.client.Own(fd, netns.Holder{TID: n.Thread(), Number: int32(n.Args[0])})
	default:
		return notify.Failed(unix.EPERM)
	}
	return notify.Failed(kernel.ErrnoOf(unix.Listen(fd, int(int32(n.Args[1])))))
}
