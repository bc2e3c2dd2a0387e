//go:build linux

package sockets

import (
	"net/netip"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// In the session's own network a call can do no harm: it reaches what is served
// inside, and nothing else is there. The broker finds out which calls were meant
// for the outside.
//
//	the loopback   what the session serves there; else refused where the host serves it
//	a name server  codeagent's own, which has the address (netns)
//	elsewhere      carried there where the policy allows it (netns);
//	               else refused, as on a machine without a network

// inetCall answers for a socket of the session's own network.
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
	case is.Protocol == unix.IPPROTO_TCP && s.Network.MayReach(s.Policy, to) && !s.Network.Serves(to):
		return s.dial(k, is, to)
	case to.Addr().IsLoopback():
		if s.Network.ServedByHost(is.Protocol, to) {
			return s.refuseInet(k, is, to, unix.ECONNREFUSED)
		}
	default:
		// The kernel's own answer: it depends on what the socket is bound to.
		errno, patient := netns.ConnectNow(is.FD, k.addr)
		if patient && errno == unix.EINPROGRESS {
			break // a server of the session is there, and busy
		}
		// A datagram socket is connected to learn of routes, too.
		if noWay(errno) && !s.Network.MayReach(s.Policy, to) {
			return s.refuseInet(k, is, to, errno)
		}
		return notify.Failed(errno)
	}
	return s.connect(k, k.addr)
}

// expectQuestions takes the questions from a socket for the caller's.
func (s *Sockets) expectQuestions(n *notify.Notification, is netns.Socket, to netip.AddrPort) {
	caller := *n
	s.client.Expect(is, to, func(q *netns.Question) bool { return s.LookUp(&caller, s.client, q) })
}

// noWay reports the errnos of a machine that has no network.
func noWay(errno unix.Errno) bool {
	return errno == unix.ENETUNREACH || errno == unix.EHOSTUNREACH || errno == unix.EADDRNOTAVAIL
}

// refuseInet records the address, and answers errno. Only streams can be granted:
// the rest is refused without a question.
func (s *Sockets) refuseInet(k *socketCall, is netns.Socket, to netip.AddrPort, errno unix.Errno) notify.Reply {
	d := s.Network.Unreached(s.Policy, to)
	if is.Protocol != unix.IPPROTO_TCP || k.bind {
		d.Operation, d.Errno = k.name, unix.ErrnoName(errno)
		s.Record(k.Notification, d)
		return notify.Failed(errno)
	}
	return s.Refuse(k.Notification, Refusal{Denial: d, Errno: errno, File: -1})
}

// RefuseNew refuses a socket of the host's network where the session has no network
// of its own. The address is not known yet: connect(2) would have named it.
func (s *Sockets) RefuseNew(n *notify.Notification) unix.Errno {
	const typeMask = 0xf // SOCK_TYPE_MASK
	target := "socket"
	switch n.Args[1] & typeMask {
	case unix.SOCK_STREAM:
		target = "tcp"
	case unix.SOCK_DGRAM:
		target = "udp"
	}
	s.Record(n, sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "socket", Target: target, Errno: unix.ErrnoName(unix.EPERM)})
	return unix.EPERM
}
