package approvals

import (
	"fmt"
	"net/netip"
	"slices"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// A fetch is one request of codeagent itself for a page, to one host. Hosts that commands may
// reach are open to it. A host granted to fetches stays closed to commands: a program that
// reaches a host can send it anything, while a fetch sends only its URL. Therefore such a
// grant is possible also where the backend cannot grant single hosts.

// baseOf is Base for a; a fetch also has what was granted to fetches. A call of a server's tool has
// the policy of the server.
func (s state) baseOf(a Action) sandbox.Policy {
	if a.calls() {
		return s.server(a.Server.Server, a.Server.Policy)
	}
	base := s.base()
	if a.Kind != word.KindFetch {
		return base
	}
	hosts := slices.Clone(s.fetch)
	for _, e := range s.answers {
		hosts = append(hosts, e.Fetch...)
	}
	if base.Network.Mode == sandbox.NetworkFull {
		// They are open already, but a non-public address must still be named; see egress.
		base.Network.Hosts = append(base.Network.Hosts, hosts...)
	}
	return base.With(sandbox.Grant{Hosts: hosts})
}

// wantFetch returns what a fetch needs beyond base.
func (s state) wantFetch(base sandbox.Policy, w Wish) (want, *Refusal) {
	if len(w.Hosts) != 1 || len(w.Write)+len(w.Read)+len(w.Sockets) > 0 || w.Unsandboxed {
		return want{}, refuse("a fetch may ask only for the host of its address")
	}
	narrow := base
	if s.mode == Untrusted {
		// A policy that opens the whole network names no host, so nobody has approved one yet.
		narrow = sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: s.named(base)}}
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

// named returns the hosts that the settings or an answer name. base, from baseOf, has them
// all, except that a base with an open network lacks those granted to commands.
func (s state) named(base sandbox.Policy) []sandbox.HostPort {
	out := slices.Clone(base.Network.Hosts)
	for _, e := range s.answers {
		if e.Server == "" {
			out = append(out, e.Grant.Hosts...)
		}
	}
	return out
}

// ownPlace describes a host that is not on the internet. It must recognise the same addresses
// as egress: the person approves a URL with its address, and egress dials a named address.
func ownPlace(host string) string {
	if host == "localhost" {
		return "this machine"
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return sandbox.NotPublic(addr)
	}
	return ""
}
