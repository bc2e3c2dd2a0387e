//go:build linux

package netns

import (
	"context"
	"encoding/base64"
	"net/netip"
	"strconv"
	"sync"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Where the person's environment names a proxy, allowed hosts are reached through it: codeagent asks the proxy
// for a tunnel to the host (CONNECT, RFC 9110), and the command notices nothing. Often only the proxy can look
// a name up. The name then gets an address that stands for it and for nothing else.

// Tunnel is how a host is reached through a proxy.
type Tunnel struct {
	// Host and Port are the proxy's. Host is a name or an address.
	Host string
	Port uint16
	// Request is what codeagent sends first.
	Request []byte
}

// Tunnel returns how to, which p lets commands reach, is reached; nil: directly. It reports false if the
// environment names a proxy that cannot be used, and then to is not reached at all.
func (n *Network) Tunnel(p *resolved.Policy, to netip.AddrPort) (*Tunnel, bool) {
	if n.names.Proxy == nil {
		return nil, true
	}
	target := sandbox.HostPort{Host: to.Addr().String(), Port: to.Port()}
	stands := false
	for _, name := range n.names.known.all(to.Addr()) {
		if h := (sandbox.HostPort{Host: name, Port: to.Port()}); p.JudgeHost(h).Allowed && n.names.closed(h, to.Addr(), p.JudgeHost) == "" {
			target = h
		}
		stands = stands || n.names.standing.is(to.Addr(), name)
	}
	proxy, err := n.names.Proxy(target)
	if proxy == nil && err == nil {
		return nil, !stands // what stands for a name is no address of its own
	}
	if err != nil || proxy.Scheme != "http" || to.Port() == 0 {
		return nil, false
	}
	port, err := strconv.ParseUint(proxy.Port(), 10, 16)
	if proxy.Port() == "" {
		port, err = 80, nil
	}
	request := "CONNECT " + target.String() + " HTTP/1.1\r\nHost: " + target.String() + "\r\n"
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	return &Tunnel{Host: proxy.Hostname(), Port: uint16(port), Request: []byte(request + "\r\n")}, err == nil
}

// Resolve returns an address of the proxy; false if it has none.
func (n *Network) Resolve(ctx context.Context, t *Tunnel) (netip.AddrPort, bool) {
	if a, err := netip.ParseAddr(t.Host); err == nil {
		return netip.AddrPortFrom(a.Unmap(), t.Port), true
	}
	if n.names.Lookup != nil {
		for _, family := range []string{"ip4", "ip6"} {
			if found, _ := n.names.Lookup(ctx, family, t.Host); len(found) > 0 {
				return netip.AddrPortFrom(found[0].Unmap(), t.Port), true
			}
		}
	}
	return netip.AddrPort{}, false
}

// proxied reports whether a proxy looks a name up.
func (r *nameService) proxied(name string) bool {
	if r.Proxy == nil {
		return false
	}
	proxy, err := r.Proxy(sandbox.HostPort{Host: name, Port: 443})
	return proxy != nil && err == nil
}

// standing are addresses that stand for names, from a network that is nowhere routed (RFC 2544).
type standing struct {
	mu     sync.Mutex
	byName map[string]netip.Addr // guarded by mu
}

// maxStanding bounds the names. Any further one has no address.
const maxStanding = 1 << 14

var standingNet = netip.MustParsePrefix("198.18.0.0/15")

// of is the address of a name, the same for the whole session.
func (s *standing) of(name string) (netip.Addr, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.byName[name]; ok {
		return a, true
	}
	n := len(s.byName) + 1
	if n > maxStanding {
		return netip.Addr{}, false
	}
	if s.byName == nil {
		s.byName = map[string]netip.Addr{}
	}
	a := standingNet.Addr().As4()
	a[2], a[3] = byte(n>>8), byte(n)
	s.byName[name] = netip.AddrFrom4(a)
	return s.byName[name], true
}

// is reports whether a stands for the name.
func (s *standing) is(a netip.Addr, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, ok := s.byName[name]
	return ok && own == a
}
