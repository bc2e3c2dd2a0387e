//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// inetAddress reads a struct sockaddr_in or sockaddr_in6. An IPv4 address in IPv6
// clothes is the IPv4 address, and what stands for "this machine" is its loopback:
// so the kernel takes both.
func inetAddress(b []byte) (netip.AddrPort, bool) {
	const short4, short6 = 8, 24 // as much as the kernel asks for
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

// meant is the address that the kernel connects to for a.
func meant(a netip.Addr) netip.Addr {
	switch a = a.Unmap().WithZone(""); a {
	case netip.IPv4Unspecified():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case netip.IPv6Unspecified():
		return netip.IPv6Loopback()
	}
	return a
}

// socketAddress is at as a socket of the domain, AF_INET or AF_INET6, is given it.
func socketAddress(at netip.AddrPort, domain int) []byte {
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
	long := at.Addr().As16() // IPv4 in IPv6 clothes where it must be
	copy(b[8:], long[:])
	return b
}

// domainOf is the domain of sockets for addr.
func domainOf(addr netip.Addr) int {
	if addr.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// localAddress is where a socket of AF_INET or AF_INET6 is bound.
func localAddress(sock int) (netip.AddrPort, bool) {
	sa, err := unix.Getsockname(sock)
	if err != nil {
		return netip.AddrPort{}, false
	}
	return addressOf(sa)
}

func addressOf(sa unix.Sockaddr) (netip.AddrPort, bool) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), true
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port)), true
	}
	return netip.AddrPort{}, false
}
