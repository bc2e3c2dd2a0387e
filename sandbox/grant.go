package sandbox

import (
	"encoding/json"
	"slices"
)

// Grant is what an approval adds to a policy: exactly these paths, hosts and sockets. Only the
// approvals room creates a non-empty one (house_test.go).
type Grant struct {
	Write   []string   `json:"write"`
	Read    []string   `json:"read"`
	Hosts   []HostPort `json:"hosts"`
	Sockets []string   `json:"sockets"`
	// Unsandboxed runs the command entirely outside the sandbox, as the last resort.
	Unsandboxed bool `json:"unsandboxed"`
}

// MarshalJSON encodes empty lists as [] and not as null, so that readers need not distinguish them.
func (g Grant) MarshalJSON() ([]byte, error) {
	type plain Grant
	p := plain(g)
	p.Write, p.Read, p.Hosts, p.Sockets = list(g.Write), list(g.Read), list(g.Hosts), list(g.Sockets)
	return json.Marshal(p)
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Empty reports whether g adds nothing.
func (g Grant) Empty() bool {
	return len(g.Write) == 0 && len(g.Read) == 0 && len(g.Hosts) == 0 && len(g.Sockets) == 0 && !g.Unsandboxed
}

// Clone returns a deep copy.
func (g Grant) Clone() Grant {
	g.Write, g.Read, g.Hosts, g.Sockets = slices.Clone(g.Write), slices.Clone(g.Read), slices.Clone(g.Hosts), slices.Clone(g.Sockets)
	return g
}

// Covers reports whether g contains everything in other. It compares names, not rights: permission
// to write a path does not count as permission to read it.
func (g Grant) Covers(other Grant) bool {
	all := func(roots, paths []string) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return !CoveredBy(roots, p) })
	}
	return all(g.Write, other.Write) && all(g.Read, other.Read) && all(g.Sockets, other.Sockets) &&
		!slices.ContainsFunc(other.Hosts, func(h HostPort) bool { return !Allowed(g.Hosts, h) }) &&
		(g.Unsandboxed || !other.Unsandboxed)
}

// Lines says what g opens, one thing a line: "write /srv/data". show formats a path; nil leaves it
// as it is.
func (g Grant) Lines(show func(path string) string) []string {
	if show == nil {
		show = func(path string) string { return path }
	}
	var out []string
	for _, p := range g.Write {
		out = append(out, "write "+show(p))
	}
	for _, p := range g.Read {
		out = append(out, "read "+show(p))
	}
	for _, h := range g.Hosts {
		out = append(out, "network "+h.String())
	}
	for _, s := range g.Sockets {
		out = append(out, "socket "+show(s))
	}
	if g.Unsandboxed {
		out = append(out, "outside the sandbox")
	}
	return out
}

// With returns p widened by exactly g; p itself is unchanged. A write grant at or below a protected
// path lifts that protection for the granted path only (JudgeWrite). A read grant lifts a deny-read
// entry only if it names that very entry: the grant of a folder never opens the secrets inside it.
// No grant lifts Protected.Own or Hidden.
func (p Policy) With(g Grant) Policy {
	q := p.Clone()
	if g.Unsandboxed {
		q.Unconfined = true
	}
	for _, path := range g.Write {
		if !slices.ContainsFunc(q.Write, func(r Root) bool { return r.Path == path }) {
			q.Write = append(q.Write, Root{Path: path, Optional: true})
		}
	}
	for _, path := range g.Read {
		if len(q.Read) > 0 {
			q.Read = append(q.Read, Root{Path: path, Optional: true})
		}
		q.DenyRead, q.DenyGlobs = lift(q.DenyRead, path), lift(q.DenyGlobs, path)
	}
	if len(g.Hosts) > 0 && q.Network.Mode != NetworkFull {
		q.Network.Mode = NetworkAllow
		for _, h := range g.Hosts {
			q.Network.Hosts = appendNew(q.Network.Hosts, h)
		}
	}
	for _, s := range g.Sockets {
		q.Sockets = appendNew(q.Sockets, s)
	}
	return q
}

// Revocation describes a revocation for running commands.
type Revocation struct {
	Grant
	// Open is what remains open: it protects paths below those of Grant.
	Open Policy
	// Number counts from 1. A command whose Policy has a smaller Revision was decided about before.
	Number int
}

// Without returns p without the roots, hosts and sockets that g names themselves. It never widens
// p. If a grant lifted places of DenyRead, they stay lifted.
func (p Policy) Without(g Grant) Policy {
	return p.without(g, func(path string) bool { return slices.Contains(g.Write, path) }, func(path string) bool { return slices.Contains(g.Read, path) },
		func(h HostPort) bool { return slices.Contains(g.Hosts, h) })
}

// Closed returns p without what c revokes. A root below a revoked path, or a host of a revoked pattern,
// may have been opened through that, so it is closed too, unless it is open in another way.
func (p Policy) Closed(c Revocation) Policy {
	return p.without(c.Grant, func(path string) bool {
		return slices.Contains(c.Write, path) || CoveredBy(c.Write, path) && !c.Open.JudgeWrite(path).Allowed
	}, func(path string) bool {
		return slices.Contains(c.Read, path) || CoveredBy(c.Read, path) && !c.Open.JudgeRead(path).Allowed
	}, func(h HostPort) bool {
		return slices.Contains(c.Hosts, h) || Allowed(c.Hosts, h) && !c.Open.JudgeHost(h).Allowed
	})
}

// without returns p without the sockets of g, and without the roots and hosts for which write, read or
// host returns true.
func (p Policy) without(g Grant, write, read func(path string) bool, host func(HostPort) bool) Policy {
	q := p.Clone()
	drop := func(roots []Root, gone func(string) bool) []Root {
		return slices.DeleteFunc(roots, func(r Root) bool { return gone(r.Path) })
	}
	q.Write = drop(q.Write, write)
	if len(q.Read) > 0 {
		if q.Read = drop(q.Read, read); len(q.Read) == 0 {
			q.Read = []Root{{Path: nowhere, Optional: true}} // an empty list would allow everything
		}
	}
	q.Network.Hosts = slices.DeleteFunc(q.Network.Hosts, host)
	q.Sockets = slices.DeleteFunc(q.Sockets, func(s string) bool { return slices.Contains(g.Sockets, s) })
	return q
}

// nowhere is a path below a file, which can never exist.
const nowhere = "/dev/null/nothing"

// lift removes the entries that equal the granted path.
func lift(entries []string, granted string) []string {
	return slices.DeleteFunc(entries, func(e string) bool { return e == granted })
}
