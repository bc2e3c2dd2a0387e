//go:build linux

package sockets

import (
	"cmp"
	"net/netip"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// In the shared network a call can do no harm: it reaches only what the session serves
// there. The broker finds out which calls were meant for the outside.
//
//	loopback       what the session serves there; else denied if the host serves it
//	a name server  codeagent's own server, which has that address (netns)
//	elsewhere      relayed or carried if the policy allows it (netns);
//	               else it fails as on a machine without a network

// inetCall answers a call on a socket of the shared network.
func (s *Sockets) inetCall(k *socketCall, is netns.Socket) notify.Reply {
	to, ok := netns.ParseAddress(k.addr)
	if k.bind {
		errno := netns.AddressCall(unix.SYS_BIND, is.FD, k.addr)
		if at, bound := netns.LocalAddress(is.FD); errno == 0 && bound {
			s.Network.Disown(is.Protocol, at.Port())
		}
		if ok && errno == unix.EADDRNOTAVAIL && netns.HostHas(to.Addr()) {
			return s.refuseInet(k, is, to, errno)
		}
		return notify.Failed(errno)
	}
	switch {
	case !ok || !is.Unused():
	case s.Network.NameServer(to):
		s.expectQuestions(k.Notification, is, to)
	case is.Protocol == unix.IPPROTO_TCP && s.Network.MayReach(s.Policy, to) && !s.Network.Serves(is.Protocol, to):
		tunnel, ok := s.Network.Tunnel(s.Policy, to)
		if !ok {
			return notify.Failed(unix.ENETUNREACH)
		}
		return s.dial(k, is, to, tunnel)
	case s.carries(is, to):
		if errno, denied := s.carry(k.Notification, is, to); denied {
			return s.refuseInet(k, is, to, errno)
		} else if errno != 0 {
			return notify.Failed(errno)
		}
	case to.Addr().IsLoopback():
		if s.Network.ServedByHost(is.Protocol, to) {
			return s.refuseInet(k, is, to, unix.ECONNREFUSED)
		}
	default:
		// Return the kernel's own errno, which depends on the address that the socket is
		// bound to.
		errno, patient := netns.ConnectNow(is.FD, k.addr)
		if patient && errno == unix.EINPROGRESS {
			break // a server of the session exists and is busy
		}
		// Programs also connect a datagram socket only to learn the route.
		if noWay(errno) && !s.Network.MayReach(s.Policy, to) {
			return s.refuseInet(k, is, to, errno)
		}
		return notify.Failed(errno)
	}
	return s.connect(k, k.addr)
}

// Listen makes a listen on a stream socket of the shared network itself, so that it is known which
// socket listens there. answered is false for all others, which may proceed: they stay inside.
func (s *Sockets) Listen(n *notify.Notification) (a notify.Reply, answered bool) {
	if s.Listens == nil || s.client == nil || !n.Waits() {
		return a, false
	}
	fd, err := TakeFD(n.Thread(), int32(n.Args[0]))
	if err != nil {
		return a, false
	}
	defer unix.Close(fd)
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_INET && domain != unix.AF_INET6 || inNetwork(fd, s.HostNet) {
		return a, false
	}
	if is, ok := netns.SocketOf(fd, domain); !ok || is.Protocol != unix.IPPROTO_TCP {
		return a, false
	}
	if err := unix.Listen(fd, int(int32(n.Args[1]))); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)), true
	}
	if port := s.client.Listens(fd); port != 0 {
		s.Listens(n, sandbox.Listener{Port: port, Publish: func(host netip.Addr) (netip.AddrPort, func(), error) {
			return s.client.Publish(port, host)
		}})
	}
	return a, true
}

// expectQuestions registers the socket, so that its name service questions count as the
// caller's.
func (s *Sockets) expectQuestions(n *notify.Notification, is netns.Socket, to netip.AddrPort) {
	caller := *n
	s.client.Expect(is, to, func(q *netns.Question) bool { return s.LookUp(&caller, s.client, q) })
}

// noWay reports whether errno is one of a machine without a network.
func noWay(errno unix.Errno) bool {
	return errno == unix.ENETUNREACH || errno == unix.EHOSTUNREACH || errno == unix.EADDRNOTAVAIL
}

// carries reports whether codeagent decides where datagrams to an address go: it performs every call that gives
// one a receiver.
func (s *Sockets) carries(is netns.Socket, to netip.AddrPort) bool {
	return is.Protocol == unix.IPPROTO_UDP && s.Datagrams && to.Port() != 0
}

// carry judges where datagrams to an address go. If it returns 0, the kernel may take the address as it is.
func (s *Sockets) carry(n *notify.Notification, is netns.Socket, to netip.AddrPort) (errno unix.Errno, denied bool) {
	allowed := s.Network.MayReach(s.Policy, to)
	switch {
	case allowed && !s.Network.Serves(is.Protocol, to):
		if tunnel, ok := s.Network.Tunnel(s.Policy, to); !ok || tunnel != nil { // a proxy carries no datagrams
			return unix.ENETUNREACH, false
		}
		return s.client.Carry(is, to, s.connection(n, is, to)), false
	case !to.Addr().IsLoopback():
		return unix.ENETUNREACH, true
	case !allowed && s.Network.ServedByHost(is.Protocol, to):
		return unix.ECONNREFUSED, true
	}
	s.client.Uncarry(is, to)
	return 0, false
}

// grantable is why no grant lifts a denial of another kind.
const grantable = "a grant of a host opens TCP connections and UDP datagrams to it, and nothing else"

// refuseInet denies a connection and records the address. Only TCP connections and UDP can be
// granted. The rest is denied without a question.
func (s *Sockets) refuseInet(k *socketCall, is netns.Socket, to netip.AddrPort, errno unix.Errno) notify.Reply {
	if !k.bind && (is.Protocol == unix.IPPROTO_TCP || s.carries(is, to)) {
		return s.Refuse(k.Notification, Refusal{Call: k.name, Denial: s.Network.Unreached(s.Policy, to), Errno: errno, File: -1})
	}
	s.recordInet(k.Notification, to, k.name, errno)
	return notify.Failed(errno)
}

func (s *Sockets) recordInet(n *notify.Notification, to netip.AddrPort, name string, errno unix.Errno) {
	d := s.Network.Unreached(s.Policy, to)
	d.Operation, d.Errno, d.Why = name, unix.ErrnoName(errno), cmp.Or(d.Why, grantable)
	s.Record(n, d)
}

// sendInside judges the receiver of a message in the shared network. The kernel refuses what is not carried, with its own
// errno: it has no route.
func (s *Sockets) sendInside(c *sentCall, is netns.Socket, to netip.AddrPort) (errno unix.Errno, denied bool) {
	switch {
	case s.Network.NameServer(to):
		s.expectQuestions(&c.n, is, to)
	case s.carries(is, to):
		return s.carry(&c.n, is, to)
	case len(c.out) > 0:
	case !to.Addr().IsLoopback():
		s.recordInet(&c.n, to, c.name, unix.ENETUNREACH)
	case s.Network.ServedByHost(is.Protocol, to):
		s.recordInet(&c.n, to, c.name, 0)
	}
	return 0, false
}
