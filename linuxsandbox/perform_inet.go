//go:build linux

package linuxsandbox

import (
	"net/netip"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// In the session's own network a call can do no harm: what is served inside is
// reached, and nothing else is there. The broker sees to it that what was meant
// for the world outside is known.
//
//	the loopback   what the session serves there; else, where the host serves it, refused
//	a name server  codeagent's own, which stands at its address (resolver.go)
//	elsewhere      where the policy allows it, carried there (relay.go);
//	               else refused, as in a machine without a network

// inetSocket is what the broker knows of a socket of the session's network.
type inetSocket struct {
	fd, domain, protocol int
}

// inetSocketOf looks at a socket of AF_INET or AF_INET6.
func inetSocketOf(fd, domain int) (inetSocket, bool) {
	protocol, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if protocol == unix.IPPROTO_MPTCP {
		protocol = unix.IPPROTO_TCP // which it is on the wire
	}
	return inetSocket{fd, domain, protocol}, err == nil
}

// unused reports whether the socket can still be connected: the kernel has an
// errno of its own for one that is, or that listens.
func (s inetSocket) unused() bool {
	if s.protocol != unix.IPPROTO_TCP {
		return true
	}
	info, err := unix.GetsockoptTCPInfo(s.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	const closed = 7 // TCP_CLOSE
	return err == nil && info.State == closed
}

// inetCall answers for a socket of the session's own network.
func (b *broker) inetCall(n *notification, s inetSocket, addr []byte) reply {
	to, ok := inetAddress(addr)
	if n.nr == unix.SYS_BIND {
		errno := addressCall(unix.SYS_BIND, s.fd, addr)
		if at, bound := localAddress(s.fd); errno == 0 && bound {
			b.session.net.resolver.disown(s.protocol, at.Port())
		}
		if ok && errno == unix.EADDRNOTAVAIL && hostHas(to.Addr()) {
			return b.refuseInet(n, s, to, errno)
		}
		return failed(errno)
	}
	switch {
	case !ok || !s.unused():
	case b.toResolver(to):
		b.session.net.resolver.expect(b, n, s, to)
	case s.protocol == unix.IPPROTO_TCP && b.mayReach(to) && !b.session.net.serves(to):
		return b.relayTo(n, s, to)
	case to.Addr().IsLoopback():
		if b.session.net.meantForHost(s.protocol, to) {
			return b.refuseInet(n, s, to, unix.ECONNREFUSED)
		}
	default:
		// The kernel's own answer: it depends on what the socket is bound to.
		errno, patient := connectNow(s.fd, addr)
		if patient && errno == unix.EINPROGRESS {
			return b.connect(n, s.fd, addr, s.domain) // somebody of the session is there, and busy
		}
		// A datagram socket is connected to learn of routes, too.
		if noWay(errno) && !b.mayReach(to) {
			return b.refuseInet(n, s, to, errno)
		}
		return failed(errno)
	}
	return b.connect(n, s.fd, addr, s.domain)
}

// toResolver reports whether a question to that address is answered by codeagent.
func (b *broker) toResolver(to netip.AddrPort) bool {
	return to.Port() == resolverPort && b.session.net.resolvers[to.Addr()]
}

// noWay reports the errnos of a machine that has no network.
func noWay(errno unix.Errno) bool {
	return errno == unix.ENETUNREACH || errno == unix.EHOSTUNREACH || errno == unix.EADDRNOTAVAIL
}

// refuseInet writes down who was to be reached, and answers errno. Only streams
// can be granted: nobody is asked about the rest.
func (b *broker) refuseInet(n *notification, s inetSocket, to netip.AddrPort, errno unix.Errno) reply {
	d := b.unreached(to)
	if s.protocol != unix.IPPROTO_TCP || n.nr != unix.SYS_CONNECT {
		d.Operation, d.Errno = socketCallName(n), unix.ErrnoName(errno)
		b.record(n, d)
		return failed(errno)
	}
	return b.refuse(n, refusal{denial: &d, call: socketCallName(n), errno: errno, requested: d.Requested})
}

// unreached is the denial of an address. It is called by the name that it was
// looked up by last, where that may lead there; without a port it is bare.
func (b *broker) unreached(to netip.AddrPort) sandbox.Denial {
	h := sandbox.HostPort{Host: to.Addr().String(), Port: to.Port()}
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Target: h.String()}
	if d.Requested, d.Note = b.misled(to); d.Note != "" {
		return d
	}
	if name := b.session.net.resolver.names.last(to.Addr()); name != "" {
		d.Requested = h.String()
		h.Host = name
		d.Target = h.String()
	}
	return d
}

// noSocket refuses a socket of the host's network where the session has none of
// its own. Whom it was to reach is not known: that would have come later.
func (b *broker) noSocket(n *notification) reply {
	target := "socket"
	switch n.args[1] & socketType {
	case unix.SOCK_STREAM:
		target = "tcp"
	case unix.SOCK_DGRAM:
		target = "udp"
	}
	b.record(n, sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "socket", Target: target, Errno: unix.ErrnoName(unix.EPERM)})
	return failed(unix.EPERM)
}

// hostHas reports whether an address is one of the host's.
func hostHas(addr netip.Addr) bool {
	domain := domainOf(addr)
	fd, err := unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return addressCall(unix.SYS_BIND, fd, socketAddress(netip.AddrPortFrom(addr, 0), domain)) == 0
}
