//go:build linux

package linuxsandbox

import (
	"net/netip"

	"codeagent/linuxsandbox/filter"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"codeagent/linuxsandbox/broker/notify"

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
func (b *broker) inetCall(n *notify.Notification, s netns.Socket, addr []byte) notify.Reply {
	to, ok := netns.ParseAddress(addr)
	if n.NR == unix.SYS_BIND {
		errno := netns.AddressCall(unix.SYS_BIND, s.FD, addr)
		if at, bound := netns.LocalAddress(s.FD); errno == 0 && bound {
			b.session.net.Disown(s.Protocol, at.Port())
		}
		if ok && errno == unix.EADDRNOTAVAIL && netns.HostHas(to.Addr()) {
			return b.refuseInet(n, s, to, errno)
		}
		return notify.Failed(errno)
	}
	switch {
	case !ok || !s.Unused():
	case b.session.net.NameServer(to):
		b.expectQuestions(n, s, to)
	case s.Protocol == unix.IPPROTO_TCP && b.session.net.MayReach(&b.judge.policy, to) && !b.session.net.Serves(to):
		return b.relayTo(n, s, to)
	case to.Addr().IsLoopback():
		if b.session.net.ServedByHost(s.Protocol, to) {
			return b.refuseInet(n, s, to, unix.ECONNREFUSED)
		}
	default:
		// The kernel's own answer: it depends on what the socket is bound to.
		errno, patient := netns.ConnectNow(s.FD, addr)
		if patient && errno == unix.EINPROGRESS {
			return b.connect(n, s.FD, addr, s.Domain) // a server of the session is there, and busy
		}
		// A datagram socket is connected to learn of routes, too.
		if noWay(errno) && !b.session.net.MayReach(&b.judge.policy, to) {
			return b.refuseInet(n, s, to, errno)
		}
		return notify.Failed(errno)
	}
	return b.connect(n, s.FD, addr, s.Domain)
}

// noWay reports the errnos of a machine that has no network.
func noWay(errno unix.Errno) bool {
	return errno == unix.ENETUNREACH || errno == unix.EHOSTUNREACH || errno == unix.EADDRNOTAVAIL
}

// refuseInet records the address, and answers errno. Only streams can be granted:
// the rest is refused without a question.
func (b *broker) refuseInet(n *notify.Notification, s netns.Socket, to netip.AddrPort, errno unix.Errno) notify.Reply {
	d := b.session.net.Unreached(&b.judge.policy, to)
	if s.Protocol != unix.IPPROTO_TCP || n.NR != unix.SYS_CONNECT {
		d.Operation, d.Errno = socketCallName(n), unix.ErrnoName(errno)
		b.log.record(n, d)
		return notify.Failed(errno)
	}
	return b.held.refuse(n, refusal{denial: &d, call: socketCallName(n), errno: errno, requested: d.Requested})
}

// noSocket refuses a socket of the host's network where the session has no network
// of its own. The address is not known yet: connect(2) would have named it.
func (b *broker) noSocket(n *notify.Notification) notify.Reply {
	target := "socket"
	switch n.Args[1] & filter.SocketType {
	case unix.SOCK_STREAM:
		target = "tcp"
	case unix.SOCK_DGRAM:
		target = "udp"
	}
	b.log.record(n, sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "socket", Target: target, Errno: unix.ErrnoName(unix.EPERM)})
	return notify.Failed(unix.EPERM)
}
