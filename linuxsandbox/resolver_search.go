//go:build linux

package linuxsandbox

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
	// domains are put behind names, the longest first here; dots is how many a
	// name needs to be looked up as it is before.
	domains []string
	dots    int
}

// maxResolvers is how many name servers libraries go by, generously.
const maxResolvers = 8

// parseResolvConf reads the file. Where it names no server, libraries ask this
// machine.
func parseResolvConf(text string) resolvConf {
	c := resolvConf{dots: 1}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			// Behind a zone stands a device, which the namespace does not have.
			addr, err := netip.ParseAddr(fields[1])
			if err == nil && addr.Zone() == "" && !addr.IsUnspecified() && len(c.servers) < maxResolvers {
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

// lookups are the names that a command asked for and was refused. A library that
// hears that there is no such name tries it with each domain of the machine, or
// has done so before: that is one name for who reads it.
type lookups struct {
	conf *resolvConf
	// told are the names that were written down; tried those that were looked up
	// with a domain and are sure to be looked up without.
	told, tried map[string]bool
	// first is what a thread asked first about a name: libraries ask for the addresses
	// of both families, which is one lookup.
	first map[lookupKey]dnsmessage.Type
}

type lookupKey struct {
	name string
	tid  uint32
}

// maxLookups bounds the names of a command that are remembered.
const maxLookups = 4096

func newLookups(conf *resolvConf) *lookups {
	return &lookups{conf: conf, told: map[string]bool{}, tried: map[string]bool{}, first: map[lookupKey]dnsmessage.Type{}}
}

// counts reports whether a refused question is a lookup of its own, and not the
// second half of one.
func (l *lookups) counts(name string, tid uint32, asks dnsmessage.Type) bool {
	key := lookupKey{name, tid}
	first, known := l.first[key]
	if !known && len(l.first) < maxLookups {
		l.first[key] = asks
	}
	return !known || asks == first
}

// tell reports whether a refused name is to be told, or stands for another one.
// allowed says which names the command may look up.
func (l *lookups) tell(name string, allowed func(string) bool) bool {
	if l.told[name] {
		return true // counted
	}
	if len(l.told)+len(l.tried) >= maxLookups {
		return false
	}
	tell := l.tried[name] || !l.instead(name, allowed)
	if tell {
		l.told[name] = true
	}
	return tell
}

// instead reports whether name is a library's try for another one.
func (l *lookups) instead(name string, allowed func(string) bool) bool {
	if !strings.Contains(name, ".") {
		return l.toldWithDomain(name)
	}
	for _, domain := range l.conf.domains {
		base, ok := strings.CutSuffix(name, "."+domain)
		if !ok || domain == "" {
			continue
		}
		if l.told[base] || allowed(base) || l.toldWithDomain(base) {
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

func (l *lookups) toldWithDomain(base string) bool {
	return slices.ContainsFunc(l.conf.domains, func(d string) bool { return l.told[base+"."+d] })
}
