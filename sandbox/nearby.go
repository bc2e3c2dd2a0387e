package sandbox

import (
	"fmt"
	"net/netip"
	"slices"
)

const (
	thisMachine = "an address of this machine"
	special     = "an address that is not on the public internet"
)

// nearby are the parts of the address space that are not on the public internet, with a description
// of each (IANA's special-purpose registries). No two of them overlap.
var nearby = []struct {
	words    string
	prefixes []netip.Prefix
}{
	{thisMachine, prefixes("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128")},
	{"a link-local address, where clouds hand out credentials", prefixes("169.254.0.0/16", "fe80::/10")},
	{"an address where a cloud hands out credentials", prefixes("168.63.129.16/32")}, // Azure's, in every virtual network (WireServer)
	{"an address of a private network", prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10")},
	{special, prefixes(
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/3",                // multicast, reserved, broadcast
		"2001::/23", "2001:db8::/32", // Teredo, benchmarks, ORCHID: they lead elsewhere or nowhere
		"2002::/16", // 6to4: an IPv4 address inside
		"3fff::/20",
	)},
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	// nat64 is the prefix by which networks without IPv4 reach IPv4 (RFC 6052). The embedded
	// address is the one to judge.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// NotPublic describes where an address lies that is not on the public internet; "" if it is public.
// The question to the user and the check of the dialled address both use it, so they agree.
func NotPublic(a netip.Addr) string {
	words, _ := notPublic(a)
	return words
}

// NotPublic is NotPublic for the address or the network that h names; "" for a name, and for a network
// that is wider than what is not public.
func (h HostPort) NotPublic() string {
	in := prefixOf(h.Host)
	if words, bits := notPublic(in.Addr()); in.IsValid() && in.Bits() >= bits {
		return words
	}
	return ""
}

// notPublic is NotPublic with the length of the prefix that describes a.
func notPublic(a netip.Addr) (words string, bits int) {
	a = a.Unmap().WithZone("")
	if in := unwrapped(a); in != a {
		if words, bits = notPublic(in); words != "" {
			bits += nat64.Bits()
		}
		return words, bits
	}
	for _, n := range nearby {
		if i := slices.IndexFunc(n.prefixes, func(p netip.Prefix) bool { return p.Contains(a) }); i >= 0 {
			return n.words, n.prefixes[i].Bits()
		}
	}
	if !a.IsValid() || a.Is6() && !globalUnicast.Contains(a) {
		return special, globalUnicast.Bits()
	}
	return "", 0
}

// unwrapped returns the IPv4 address that a contains for NAT64, else a.
func unwrapped(a netip.Addr) netip.Addr {
	if !nat64.Contains(a) {
		return a
	}
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// ClosedTo says where the address a lies if a connection to h must not go there; "" if it may.
// Services outside the public internet trust whoever is close, and the owner of a name chooses its
// addresses. Without this check an allowed name could lead to the machine's own servers or to a
// cloud's credentials. So the policy must name such an address itself. own reports addresses of
// this machine's interfaces; judge is the policy's. What the policy denies is closed in any case. The
// caller dials a after this check, and only a: a later change of the name's addresses has no effect.
func (h HostPort) ClosedTo(a netip.Addr, own func(netip.Addr) bool, judge func(HostPort) Judgement) string {
	a = a.Unmap().WithZone("")
	at, name := judge(HostPort{Host: a.String(), Port: h.Port}), judge(h)
	why := NotPublic(a)
	switch {
	case at.Final:
		return at.Rule
	case name.Final:
		return name.Rule
	case at.Allowed, h.Host == "localhost" && a.IsLoopback() && name.Allowed:
		return ""
	case why == "" && own(a):
		return thisMachine
	}
	return why
}

// Leads says that h leads to a, why a is closed to it, and what would open it.
func (h HostPort) Leads(a netip.Addr, why string) string {
	return fmt.Sprintf("%s leads to %s, %s; allow %s itself to reach it", h.Host, a, why, HostPort{Host: a.String(), Port: h.Port})
}
