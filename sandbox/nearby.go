package sandbox

import (
	"fmt"
	"net/netip"
)

// nearby are the parts of the address space that are not on the public internet, with a description
// of each (IANA's special-purpose registries).
var nearby = []struct {
	prefix netip.Prefix
	words  string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), thisMachine},
	{netip.MustParsePrefix("0.0.0.0/8"), thisMachine},
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata}, // Azure's, in every virtual network (WireServer)
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), private},
	{netip.MustParsePrefix("192.0.0.0/24"), special},
	{netip.MustParsePrefix("192.0.2.0/24"), special},
	{netip.MustParsePrefix("192.88.99.0/24"), special},
	{netip.MustParsePrefix("198.18.0.0/15"), special},
	{netip.MustParsePrefix("198.51.100.0/24"), special},
	{netip.MustParsePrefix("203.0.113.0/24"), special},
	{netip.MustParsePrefix("224.0.0.0/3"), special}, // multicast, reserved, broadcast
	{netip.MustParsePrefix("::1/128"), thisMachine},
	{netip.MustParsePrefix("::/128"), thisMachine},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fec0::/10"), private},
	{netip.MustParsePrefix("2001::/23"), special}, // Teredo, benchmarks, ORCHID: they lead elsewhere or nowhere
	{netip.MustParsePrefix("2001:db8::/32"), special},
	{netip.MustParsePrefix("2002::/16"), special}, // 6to4: an IPv4 address inside
	{netip.MustParsePrefix("3fff::/20"), special},
}

const (
	thisMachine = "an address of this machine"
	linkLocal   = "a link-local address, where clouds hand out credentials"
	metadata    = "an address where a cloud hands out credentials"
	private     = "an address of a private network"
	special     = "an address that is not on the public internet"
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	// nat64 is the prefix by which networks without IPv4 reach IPv4 (RFC 6052). The embedded
	// address is the one to judge.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// NotPublic describes where an address lies that is not on the public internet; "" if it is public.
// The question to the user and the check of the dialled address both use it, so they agree.
func NotPublic(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, n := range nearby {
		if n.prefix.Contains(a) {
			return n.words
		}
	}
	if !a.IsValid() || a.Is6() && !globalUnicast.Contains(a) {
		return special
	}
	return ""
}

// ClosedTo says where the address a lies if a connection to h must not go there; "" if it may.
// Services outside the public internet trust whoever is close, and the owner of a name chooses its
// addresses. Without this check an allowed name could lead to the machine's own servers or to a
// cloud's credentials. So the policy must name such an address itself. own reports addresses of
// this machine's interfaces; named reports what the policy allows. The caller dials a after this
// check, and only a: a later change of the name's addresses has no effect.
func (h HostPort) ClosedTo(a netip.Addr, own func(netip.Addr) bool, named func(HostPort) bool) string {
	a = a.Unmap().WithZone("")
	why := NotPublic(a)
	if why == "" && own(a) {
		why = thisMachine
	}
	if named(HostPort{Host: a.String(), Port: h.Port}) || h.Host == "localhost" && a.IsLoopback() && named(h) {
		return ""
	}
	return why
}

// Leads says that h leads to a, why a is closed to it, and what would open it.
func (h HostPort) Leads(a netip.Addr, why string) string {
	return fmt.Sprintf("%s leads to %s, %s; allow %s itself to reach it", h.Host, a, why, HostPort{Host: a.String(), Port: h.Port})
}
