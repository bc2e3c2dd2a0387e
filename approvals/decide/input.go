package decide

import (
	"slices"

	"codeagent/sandbox"
)

// wantInput returns what the command that receives a may do beyond base.
func wantInput(base sandbox.Policy, a Action) Want {
	p := a.Running.may()
	switch {
	case base.Unconfined:
		return Want{}
	case p.Unconfined, p.Network.Mode == sandbox.NetworkFull && base.Network.Mode != sandbox.NetworkFull:
		return Want{Unsandboxed: true}
	}
	write := roots(p.Write, base.Write)
	if p.SharedTemp && !base.SharedTemp {
		write = append(write, sandbox.SharedTempFolders...)
	}
	return Want{Grant: sandbox.Grant{
		Write: write, Read: moreRead(base, p),
		Hosts: moreHosts(base.Network, p.Network), Sockets: without(p.Sockets, base.Sockets),
	}}
}

// without returns the elements of list that are not in known.
func without[T comparable](list, known []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return slices.Contains(known, v) })
}

func roots(list, known []sandbox.Root) []string {
	return without(sandbox.PathsOf(list), sandbox.PathsOf(known))
}

// moreRead returns what p may read and base may not: roots, and paths denied in base only.
func moreRead(base, p sandbox.Policy) []string {
	out := append(without(base.DenyRead, p.DenyRead), without(base.DenyGlobs, p.DenyGlobs)...)
	switch {
	case len(base.Read) == 0: // which means everything
		return out
	case len(p.Read) == 0:
		return append(out, "/")
	}
	return append(out, roots(p.Read, base.Read)...)
}

func moreHosts(base, p sandbox.Network) []sandbox.HostPort {
	if base.Mode == sandbox.NetworkFull || p.Mode != sandbox.NetworkAllow {
		return nil
	}
	return without(p.Hosts, base.Hosts)
}
