package approvals

import "codeagent/sandbox"

// Grantable reports whether a backend can grant a single host and a single socket: it asks
// for the enforcement of a policy with such a grant, and runs nothing.
func Grantable(backend sandbox.Backend) (hosts, sockets bool) {
	opens := func(g sandbox.Grant) bool {
		if backend == nil {
			return false
		}
		_, err := backend.Enforcement(sandbox.ReadOnly().With(g))
		return err == nil
	}
	return opens(sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "localhost", Port: 1}}}), opens(sandbox.Grant{Sockets: []string{"/run/socket"}})
}
