//go:build linux

package netns

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// ParseAddress decodes a struct sockaddr_in or sockaddr_in6. As in the kernel, an IPv4-mapped IPv6
// address becomes the IPv4 address, and the unspecified address becomes the loopback.
func ParseAddress(b []byte) (netip.AddrPort, bool) {
	const short4, short6 = 8, 24 // the sizes that the kernel requires
	if len(b) < 2 {
		return netip.AddrPort{}, false
	}
	var addr netip.Addr
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET && len(b) >= short4:
		addr = netip.AddrFrom4([4]byte(b[4:8]))
	case family == unix.AF_INET6 && len(b) >= short6:
		addr = netip.AddrFrom16([16]byte(b[8:24]))
	default:
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(meant(addr), binary.BigEndian.Uint16(b[2:])), true
}

// meant is the address to which the kernel connects for a.
func meant(a netip.Addr) netip.Addr {
	switch a = a.Unmap().WithZone(""); a {
	case netip.IPv4Unspecified():
		return loopback4
	case netip.IPv6Unspecified():
		return netip.IPv6Loopback()
	}
	return a
}

// SocketAddress encodes at for a socket of the domain, AF_INET or AF_INET6. An IPv6 address for AF_INET is
// one that the kernel refuses.
func SocketAddress(at netip.AddrPort, domain int) []byte {
	if domain == unix.AF_INET && at.Addr().Is6() {
		return binary.NativeEndian.AppendUint16(nil, unix.AF_INET6)
	}
	if domain == unix.AF_INET {
		b := make([]byte, unix.SizeofSockaddrInet4)
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		binary.BigEndian.PutUint16(b[2:], at.Port())
		four := at.Addr().As4()
		copy(b[4:], four[:])
		return b
	}
	b := make([]byte, unix.SizeofSockaddrInet6)
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	binary.BigEndian.PutUint16(b[2:], at.Port())
	long := at.Addr().As16() // an IPv4 address becomes an IPv4-mapped one
	copy(b[8:], long[:])
	return b
}

// domainOf is the domain of sockets for addr, AF_INET or AF_INET6.
func domainOf(addr netip.Addr) int {
	if addr.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// LocalAddress is the local address of an AF_INET or AF_INET6 socket.
func LocalAddress(sock int) (netip.AddrPort, bool) {
	sa, err := unix.Getsockname(sock)
	if err != nil {
		return netip.AddrPort{}, false
	}
	return AddressOf(sa)
}

// AddressOf is the address in sa; false if it is not one of IP.
func AddressOf(sa unix.Sockaddr) (netip.AddrPort, bool) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), true
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port)), true
	}
	return netip.AddrPort{}, false
}

// loopbackLike is the loopback address of a's family.
func loopbackLike(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Loopback()
	}
	return loopback4
}

// bound is the local address of the socket, which gets a port if it has none.
func (s Socket) bound() (netip.AddrPort, bool) {
	at, ok := LocalAddress(s.FD)
	if ok && at.Port() == 0 {
		_ = AddressCall(unix.SYS_BIND, s.FD, Everywhere(s.Domain))
		at, ok = LocalAddress(s.FD)
	}
	return at, ok
}

// Socket is an AF_INET or AF_INET6 socket.
type Socket struct {
	FD, Domain, Protocol int
}

// SocketOf describes fd, a socket of the domain AF_INET or AF_INET6.
func SocketOf(fd, domain int) (Socket, bool) {
	protocol, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if protocol == unix.IPPROTO_MPTCP {
		protocol = unix.IPPROTO_TCP // the protocol on the wire
	}
	return Socket{fd, domain, protocol}, err == nil
}

// Unused reports whether the socket can still be connected. If it is connected or listens, the
// kernel refuses with an errno of its own.
func (s Socket) Unused() bool { return s.Protocol != unix.IPPROTO_TCP || s.state() == tcpClose }

// Listens reports whether a TCP socket listens.
func (s Socket) Listens() bool { return s.state() == tcpListen }

// Connecting reports whether the connection of a TCP socket is not answered yet.
func (s Socket) Connecting() bool { return s.state() == tcpSynSent }

// States of TCP (tcp_states.h).
const (
	tcpSynSent = 2
	tcpClose   = 7
	tcpListen  = 10
)

// state is that of a TCP socket; 0 if the kernel does not say.
func (s Socket) state() uint8 {
	info, err := unix.GetsockoptTCPInfo(s.FD, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return info.State
}

// Group encodes the address of all machines of a network, to which no stream can be connected.
func Group(domain int) []byte {
	if domain == unix.AF_INET {
		return SocketAddress(netip.AddrPortFrom(netip.AddrFrom4([4]byte{224, 0, 0, 1}), 1), domain)
	}
	return SocketAddress(netip.AddrPortFrom(netip.IPv6LinkLocalAllNodes().WithZone(""), 1), domain)
}

// Unspecified reports whether an encoded address, which ParseAddress accepts, stands for every address of
// the machine.
func Unspecified(b []byte) bool {
	if binary.NativeEndian.Uint16(b) == unix.AF_INET {
		return netip.AddrFrom4([4]byte(b[4:8])).IsUnspecified()
	}
	return netip.AddrFrom16([16]byte(b[8:24])).Unmap().IsUnspecified()
}

// Everywhere encodes every address of the machine, with a free port.
func Everywhere(domain int) []byte {
	b := make([]byte, unix.SizeofSockaddrInet6)
	if domain == unix.AF_INET {
		b = b[:unix.SizeofSockaddrInet4]
	}
	binary.NativeEndian.PutUint16(b, uint16(domain))
	return b
}

// LoopbackOf is the loopback address for a server that would take every address of the socket's domain.
// Of an IPv6 socket that takes IPv4 too it is that of IPv4, which more clients try.
func LoopbackOf(s Socket) netip.Addr {
	if s.Domain == unix.AF_INET6 {
		if only, err := unix.GetsockoptInt(s.FD, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); err != nil || only != 0 {
			return netip.IPv6Loopback()
		}
	}
	return loopback4
}

// Sockaddr is at for a socket of the domain, AF_INET or AF_INET6.
func Sockaddr(at netip.AddrPort, domain int) unix.Sockaddr {
	if domain == unix.AF_INET {
		return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
}

// Encoded encodes sa, an address of IP.
func Encoded(sa unix.Sockaddr) []byte {
	at, _ := AddressOf(sa)
	if _, four := sa.(*unix.SockaddrInet4); four {
		return SocketAddress(at, unix.AF_INET)
	}
	return SocketAddress(at, unix.AF_INET6)
}
