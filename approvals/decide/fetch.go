package decide

import (
	"fmt"
	"slices"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// A fetch is one request of codeagent itself for a page, to one host. Hosts that commands may
// reach are open to it. A host granted to fetches stays closed to commands: a program that
// reaches a host can send it anything, while a fetch sends only its URL. Therefore such a
// grant is possible also where the backend cannot grant single hosts.

// BaseOf is Base for a; a fetch also has what was granted to fetches. A call of a server's tool has
// the policy of the server.
func (s State) BaseOf(a Action) sandbox.Policy {
	if a.Calls() {
		return s.Server(a.Server.Server, a.Server.Policy)
	}
	base := s.Base()
	if a.Kind != word.KindFetch {
		return base
	}
	hosts := slices.Clone(s.Fetch)
	for _, e := range s.Answers {
		hosts = append(hosts, e.Fetch...)
	}
	if base.Network.Mode == sandbox.NetworkFull {
		// They are open already, but a non-public address must still be named; see egress.
		base.Network.Hosts = append(base.Network.Hosts, hosts...)
	}
	return base.With(sandbox.Grant{Hosts: hosts})
}

// wantFetch returns what a fetch needs beyond base.
func (s State) wantFetch(base sandbox.Policy, w Wish) (Want, *Refusal) {
	if len(w.Hosts) != 1 || len(w.Write)+len(w.Read)+len(w.Sockets) > 0 || w.Unsandboxed {
		return Want{}, refuse("a fetch may ask only for the host of its address")
	}
	narrow := base
	if s.Mode == Untrusted {
		// A policy that opens the whole network names no host, so nobody has approved one yet.
		narrow = sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: s.named(base), Deny: base.Network.Deny}}
	}
	if h, err := sandbox.ParseHostPort(w.Hosts[0]); err != nil || h.Port == 0 {
		return Want{}, refuse("a fetch may ask only for the host of its address: %s is not one host with a port", Show(w.Hosts[0]))
	}
	var out Want
	if r := out.addHosts(narrow, w.Hosts); r != nil {
		return Want{}, r
	}
	for _, h := range out.Grant.Hosts {
		if words := ownPlace(h.Host); words != "" {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s is %s: its pages go to the model", h.Host, words))
		}
	}
	return out, nil
}

// named returns the hosts that the settings or an answer name. base, from baseOf, has them
// all, except that a base with an open network lacks those granted to commands.
func (s State) named(base sandbox.Policy) []sandbox.HostPort {
	out := slices.Clone(base.Network.Hosts)
	for _, e := range s.Answers {
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
	return sandbox.HostPort{Host: host}.NotPublic()
}
