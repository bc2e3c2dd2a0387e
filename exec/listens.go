package exec

import (
	"net/netip"

	"codeagent/sandbox"
)

// Listener is what a Resolver may also offer: whether a server outside the
// sandbox waits at a loopback address. With it a verdict tells a connection that
// was meant for the host from one to a server of the command's own that is not up.
type Listener interface {
	Listens(at netip.AddrPort) bool
}

// outside reports whether a loopback host is served outside of the sandbox at
// that port; ok is false when nobody can tell.
func (j *judge) outside(h sandbox.HostPort) (served, ok bool) {
	host, ok := j.resolver.(Listener)
	if !ok {
		return false, false
	}
	for _, addr := range loopbacks(h.Host) {
		if host.Listens(netip.AddrPortFrom(addr, h.Port)) {
			return true, true
		}
	}
	return false, true
}

// loopbacks are the addresses of the loopback device that host means; none when
// it means another device.
func loopbacks(host string) []netip.Addr {
	if host == "localhost" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	switch addr = addr.Unmap(); {
	case addr == netip.IPv4Unspecified():
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	case addr == netip.IPv6Unspecified():
		return []netip.Addr{netip.IPv6Loopback()}
	case addr.IsLoopback():
		return []netip.Addr{addr}
	}
	return nil
}
