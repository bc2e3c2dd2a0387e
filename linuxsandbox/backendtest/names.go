//go:build linux

package backendtest

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"testing"

	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// FakeNames are the names that a test's backend looks up on the host.
type FakeNames struct {
	mu     sync.Mutex
	lookup linuxsandbox.LookupFunc
	// anywhere lets names lead to this machine.
	anywhere bool
	proxy    linuxsandbox.ProxyFunc
}

// SetProxy replaces the proxy of the environment.
func (f *FakeNames) SetProxy(find linuxsandbox.ProxyFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proxy = find
}

func (f *FakeNames) proxyOf(h sandbox.HostPort) (*url.URL, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.proxy == nil {
		return nil, nil
	}
	return f.proxy(h)
}

// fakes maps each backend of New to its FakeNames.
var fakes sync.Map

// Set replaces the lookup. anywhere lets names lead to this machine.
func (f *FakeNames) Set(lookup linuxsandbox.LookupFunc, anywhere bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookup, f.anywhere = lookup, anywhere
}

func (f *FakeNames) find(ctx context.Context, network, host string) ([]netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lookup == nil {
		return nil, nil
	}
	return f.lookup(ctx, network, host)
}

func (f *FakeNames) closed(h sandbox.HostPort, a netip.Addr, judge func(sandbox.HostPort) sandbox.Judgement) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.anywhere {
		return ""
	}
	return h.ClosedTo(a, netns.HostHas, judge)
}

// Names returns the names that the theatre's backend looks up.
func (th *Theatre) Names(t *testing.T) *FakeNames {
	t.Helper()
	f, ok := fakes.Load(th.Backend)
	if !ok {
		t.Fatal("this backend has no names")
	}
	return f.(*FakeNames)
}

// NamesOf gives names their addresses. anywhere also allows loopback addresses, which outside tests
// no name may have.
func (th *Theatre) NamesOf(t *testing.T, anywhere bool, names map[string]netip.Addr) {
	t.Helper()
	th.Names(t).Set(func(_ context.Context, network, host string) ([]netip.Addr, error) {
		addr, ok := names[host]
		if !ok || addr.Is4() != (network == "ip4") {
			return nil, &net.DNSError{Name: host, IsNotFound: true}
		}
		return []netip.Addr{addr}, nil
	}, anywhere)
}

// Allowing returns p with these hosts allowed.
func Allowing(t testing.TB, p sandbox.Policy, hosts ...string) sandbox.Policy {
	t.Helper()
	p = p.Clone()
	p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Deny: p.Network.Deny}
	for _, h := range hosts {
		open, err := named.ParseAllowed(h)
		if err != nil {
			t.Fatal(err)
		}
		p.Network.Hosts = append(p.Network.Hosts, open...)
	}
	return p
}
