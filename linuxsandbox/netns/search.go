//go:build linux

package netns

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// resolvConf is what libraries take from resolv.conf(5).
type resolvConf struct {
	servers []netip.Addr
	// domains are the search domains, the longest first. A library first looks up a name as it is
	// if the name has at least dots dots.
	domains []string
	dots    int
}

// maxServers is larger than the number of name servers that any library uses.
const maxServers = 8

// parseResolvConf parses the file. If it has no server, libraries ask this machine.
func parseResolvConf(text string) resolvConf {
	c := resolvConf{dots: 1}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			// A zone names a device, and the namespace has no devices.
			addr, err := netip.ParseAddr(fields[1])
			if err == nil && addr.Zone() == "" && !addr.IsUnspecified() && len(c.servers) < maxServers {
				c.servers = append(c.servers, addr.Unmap())
			}
		case "domain", "search":
			c.domains = nil
			for _, d := range fields[1:] {
				c.domains = append(c.domains, strings.ToLower(strings.Trim(d, ".")))
			}
		case "options":
			for _, o := range fields[1:] {
				if n, ok := strings.CutPrefix(o, "ndots:"); ok {
					c.dots, _ = strconv.Atoi(n)
				}
			}
		}
	}
	if len(c.servers) == 0 {
		c.servers = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	slices.SortFunc(c.domains, func(a, b string) int { return len(b) - len(a) })
	return c
}

// lookups are the refused names of one command. A library tries a name that does not exist with
// each search domain of the machine, before or after the bare name. All these questions count as
// one name.
type lookups struct {
	conf *resolvConf
	// reported are the names with a denial. tried are the names that a library looked up with a
	// domain and will look up without one.
	reported, tried map[string]bool
	// first is the type of a thread's first question about a name: libraries ask for the addresses
	// of both families, which is one lookup.
	first map[lookupKey]dnsmessage.Type
}

type lookupKey struct {
	name string
	tid  uint32
}

// maxLookups bounds the names that are remembered for a command.
const maxLookups = 4096

func newLookups(conf *resolvConf) *lookups {
	return &lookups{conf: conf, reported: map[string]bool{}, tried: map[string]bool{}, first: map[lookupKey]dnsmessage.Type{}}
}

// counts reports whether a refused question is a lookup of its own, and not the second half of one.
func (l *lookups) counts(name string, tid uint32, asks dnsmessage.Type) bool {
	key := lookupKey{name, tid}
	first, known := l.first[key]
	if !known && len(l.first) < maxLookups {
		l.first[key] = asks
	}
	return !known || asks == first
}

// report reports whether to record the refusal of a name; it is not recorded if the name stands for
// another one. allowed reports whether the command may look up a name.
func (l *lookups) report(name string, allowed func(string) bool) bool {
	if l.reported[name] {
		return true // recorded before; it counts again
	}
	if len(l.reported)+len(l.tried) >= maxLookups {
		return false
	}
	if !l.tried[name] && l.instead(name, allowed) {
		return false
	}
	l.reported[name] = true
	return true
}

// instead reports whether a library asks for name in place of another one.
func (l *lookups) instead(name string, allowed func(string) bool) bool {
	if !strings.Contains(name, ".") {
		return l.reportedWithDomain(name)
	}
	for _, domain := range l.conf.domains {
		base, ok := strings.CutSuffix(name, "."+domain)
		if !ok || domain == "" {
			continue
		}
		if l.reported[base] || allowed(base) || l.reportedWithDomain(base) {
			return true
		}
		if dots := strings.Count(base, "."); dots > 0 && dots < l.conf.dots {
			l.tried[base] = true
			return true
		}
		return false
	}
	return false
}

func (l *lookups) reportedWithDomain(base string) bool {
	return slices.ContainsFunc(l.conf.domains, func(d string) bool { return l.reported[base+"."+d] })
}
