package approvals

import (
	"fmt"
	"net/netip"
	"slices"

	"codeagent/event"
	"codeagent/sandbox"
)

// A fetch is one request of codeagent's own for a page, to one host. What is
// open to commands is open to it; what is opened for it is open to no command:
// a program that reaches a host can send it anything, a fetch sends the words of
// its URL. So it can be granted also where the backend opens no single hosts.

// baseOf is Base for a: a fetch has besides what was granted to fetches.
func (g *Gate) baseOf(a Action) sandbox.Policy {
	base := g.Base()
	if a.Kind != event.KindFetch {
		return base
	}
	hosts := slices.Clone(g.opts.Fetch)
	for _, e := range g.ledger.List() {
		hosts = append(hosts, e.Fetch...)
	}
	if base.Network.Mode == sandbox.NetworkFull {
		// They are open already. An address that is no public one must be named all
		// the same, see egress.
		base.Network.Hosts = append(base.Network.Hosts, hosts...)
	}
	return base.With(sandbox.Grant{Hosts: hosts})
}

// wantFetch is what a fetch asks for beyond base.
func (g *Gate) wantFetch(base sandbox.Policy, w Wish) (want, *Refusal) {
	if len(w.Hosts) != 1 || len(w.Write)+len(w.Read)+len(w.Sockets) > 0 || w.Unsandboxed {
		return want{}, refuse("a fetch may ask only for the host of its address")
	}
	narrow := base
	if g.opts.Mode == Untrusted {
		// A network that is open as a whole names no host: nobody was asked yet.
		narrow = sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: g.named(base)}}
	}
	var out want
	if r := out.addHosts(narrow, w.Hosts); r != nil {
		return want{}, r
	}
	for _, h := range out.grant.Hosts {
		if words := ownPlace(h.Host); words != "" {
			out.warnings = append(out.warnings, fmt.Sprintf("%s is %s: its pages go to the model", h.Host, words))
		}
	}
	return out, nil
}

// named are the hosts that the settings or an answer name. base, of baseOf, has all
// of them but, where it opens everything, those granted to commands.
func (g *Gate) named(base sandbox.Policy) []sandbox.HostPort {
	out := slices.Clone(base.Network.Hosts)
	for _, e := range g.ledger.List() {
		out = append(out, e.Grant.Hosts...)
	}
	return out
}

// ownPlace says what a host is that is not reached over the internet. It knows
// what egress knows: the URL that a person says yes to names its address, and an
// address that was named is dialled.
func ownPlace(host string) string {
	if host == "localhost" {
		return "this machine"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return sandbox.NotPublic(addr)
	}
	return ""
}
