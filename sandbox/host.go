package sandbox

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// HostPort is a host name or address with its port, written "name:port". A lookup has port 0 and is
// written as the bare name. In a list of hosts, Host may also be a pattern (ParsePattern).
type HostPort struct {
	Host string
	Port uint16
}

// String formats h as "name:port", with IPv6 addresses in brackets and without a zero port.
func (h HostPort) String() string {
	switch {
	case h.Port == 0:
		return h.Host
	case strings.Contains(h.Host, ":"):
		return "[" + h.Host + "]:" + strconv.Itoa(int(h.Port))
	}
	return h.Host + ":" + strconv.Itoa(int(h.Port))
}

// MarshalText returns String.
func (h HostPort) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses with ParsePattern.
func (h *HostPort) UnmarshalText(text []byte) error {
	v, err := ParsePattern(string(text))
	if err == nil {
		*h = v
	}
	return err
}

// ParseHostPort parses "name:port", "1.2.3.4:80", "[::1]:80", a bare name or a bare address, and
// returns its one canonical form: names in lower case without the final dot, addresses as netip
// writes them, and an IPv4-mapped IPv6 address as IPv4. It refuses whatever two programs could read
// differently: control characters, spaces, user information, zones, empty or too long labels, names
// outside ASCII, and the numeric forms of an address that inet_aton(3) accepts ("127.1",
// "0x7f000001", "2130706433", "010.0.0.1").
func ParseHostPort(s string) (HostPort, error) {
	host, port, err := splitPort(s)
	if err != nil {
		return HostPort{}, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return HostPort{}, fmt.Errorf("host %q: an address with a zone cannot be matched", s)
		}
		return HostPort{Host: addr.Unmap().String(), Port: port}, nil
	}
	// Check this before lower-casing, which turns the Kelvin sign into a k.
	if strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }) {
		return HostPort{}, fmt.Errorf("host %.80q: write a name outside ASCII as xn--…", s)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 253 {
		return HostPort{}, fmt.Errorf("host %.80q: the name must have 1 to 253 characters", s)
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return HostPort{}, fmt.Errorf("host %.80q: %w", s, err)
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' && numeric(last) {
		return HostPort{}, fmt.Errorf("host %.80q: write an address as 1.2.3.4", s)
	}
	return HostPort{Host: host, Port: port}, nil
}

// ParsePattern is ParseHostPort for an entry of a list of hosts, which may also be a pattern:
//
//	*.example.com:443                      every name below example.com, at any depth, but not example.com
//	10.0.0.0/8:443, [2001:db8::/32]:443    every address of a network
func ParsePattern(s string) (HostPort, error) {
	host, port, err := splitPort(s)
	if err != nil {
		return HostPort{}, err
	}
	if host == "*" {
		return HostPort{}, fmt.Errorf("host %.80q: it would stand for every host; name each, or a domain as *.example.com", s)
	}
	if below, wild := strings.CutPrefix(host, "*."); wild {
		h, err := ParseHostPort(below)
		switch {
		case err != nil:
			return HostPort{}, err
		case !strings.Contains(h.Host, ".") || prefixOf(h.Host).IsValid():
			return HostPort{}, fmt.Errorf("host %.80q: it would stand for names of many owners; at least two parts of a name follow the star, as in *.example.com", s)
		}
		return HostPort{Host: "*." + h.Host, Port: port}, nil
	}
	if !strings.Contains(host, "/") {
		return ParseHostPort(s)
	}
	p, err := netip.ParsePrefix(host)
	if err == nil && p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	switch {
	case err != nil:
		return HostPort{}, fmt.Errorf("host %.80q: write a network of addresses as 10.0.0.0/8:443 or [2001:db8::/32]:443", s)
	case p != p.Masked():
		return HostPort{}, fmt.Errorf("host %.80q: this network is written %s", s, p.Masked())
	case p.IsSingleIP():
		return HostPort{Host: p.Addr().String(), Port: port}, nil
	}
	return HostPort{Host: p.String(), Port: port}, nil
}

// Covers reports whether h, of a list of allowed hosts, allows other. A lookup is part of every
// connection to that name. A network that is wider than one that is not on the public internet
// (NotPublic) allows nothing of that: 0.0.0.0/0 does not open the loopback.
func (h HostPort) Covers(other HostPort) bool {
	if h == other {
		return true
	}
	if other.Port != 0 && other.Port != h.Port || !h.matches(other.Host) {
		return false
	}
	in := prefixOf(h.Host)
	if !in.IsValid() {
		return true
	}
	_, bits := notPublic(prefixOf(other.Host).Addr())
	return in.Bits() >= bits
}

// Allowed reports whether one of hosts covers h.
func Allowed(hosts []HostPort, h HostPort) bool {
	return slices.ContainsFunc(hosts, func(open HostPort) bool { return open.Covers(h) })
}

// denies reports whether h, of a list of denied hosts, names other. Without a port it means every
// port. An IPv4 address counts also where an IPv6 address of NAT64 contains it.
func (h HostPort) denies(other HostPort) bool {
	wrapped := ""
	if a := prefixOf(other.Host); a.IsSingleIP() {
		wrapped = unwrapped(a.Addr()).String()
	}
	return (h.Port == 0 || h.Port == other.Port) && (h.matches(other.Host) || h.matches(wrapped))
}

// matches reports whether the host of h is host or a pattern for it.
func (h HostPort) matches(host string) bool {
	if below, wild := strings.CutPrefix(h.Host, "*"); wild {
		return h.Host == host || strings.HasSuffix(host, below)
	}
	in, of := prefixOf(h.Host), prefixOf(host)
	return h.Host == host || in.IsValid() && of.IsValid() && in.Bits() <= of.Bits() && in.Contains(of.Addr())
}

// prefixOf returns the addresses that host names; the zero value for a name.
func prefixOf(host string) netip.Prefix {
	if a, err := netip.ParseAddr(host); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	p, _ := netip.ParsePrefix(host) // the zero value for a name
	return p
}

// splitPort splits off the port. Without brackets, two or more colons mean an IPv6 address without
// a port.
func splitPort(s string) (host string, port uint16, err error) {
	host, text, hasPort := s, "", false
	if inner, ok := strings.CutPrefix(s, "["); ok {
		var rest string
		if host, rest, ok = strings.Cut(inner, "]"); !ok || !strings.Contains(host, ":") {
			return "", 0, fmt.Errorf("host %.80q: brackets stand around an IPv6 address", s)
		}
		if text, hasPort = strings.CutPrefix(rest, ":"); !hasPort && rest != "" {
			return "", 0, fmt.Errorf("host %.80q: want [address]:port", s)
		}
	} else if strings.Count(s, ":") == 1 {
		host, text, hasPort = strings.Cut(s, ":")
	}
	if !hasPort {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' {
		return "", 0, fmt.Errorf("host %.80q: the port must be 1 to 65535", s)
	}
	return host, uint16(n), nil
}

func checkLabel(label string) error {
	if label == "" || len(label) > 63 {
		return fmt.Errorf("the part %.80q of the name must have 1 to 63 characters", label)
	}
	for _, c := range label {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return fmt.Errorf("character %q is not allowed in a host name", c)
		}
	}
	return nil
}

// numeric reports whether inet_aton would parse label as a number.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
