package sandbox

import (
	"fmt"
	"net/netip"
)

// nearby are the parts of the address space that are not the public internet's,
// with the words for them (IANA's special-purpose registries).
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
	// nat64 is how networks without IPv4 reach it (RFC 6052): the address inside
	// is the one that counts.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// NotPublic says in words where an address lies that is not on the public
// internet, "" for one that is. The question that a person is asked and the
// judge of what is dialled both go by it: what one of them knows the other does.
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

// ClosedTo says in words where the address a lies, when a connection to h must not
// go there; "" when it may. What is not on the public internet is served to whoever
// is close, and the owner of a name chooses where it leads: without this a name
// that was allowed reaches the machine's own servers, or a cloud's credentials. So
// such an address must have been named itself. own reports addresses of this
// machine's interfaces, named what was allowed. Who dials a does so after this, and
// dials a alone: what the name leads to a moment later changes nothing.
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

// Leads says that h leads to a, which is closed to it for that reason, and what
// would open it.
func (h HostPort) Leads(a netip.Addr, why string) string {
	return fmt.Sprintf("%s leads to %s, %s; allow %s itself to reach it", h.Host, a, why, HostPort{Host: a.String(), Port: h.Port})
}
