package approvals

import (
	"slices"

	"codeagent/approvals/ledger"
	"codeagent/sandbox"
)

// A call of a tool of an MCP server. Its question is not about the sandbox: the server's policy
// confines it already, but what it does elsewhere (send a message, open an issue) no sandbox knows.

// ServerPolicy returns p, the policy by the settings of a server, with the session's answers about
// that server.
func (l *Ledger) ServerPolicy(server string, p sandbox.Policy) sandbox.Policy {
	return l.state().Server(server, p)
}

// Lapsed returns what a running server loses of the grants given when now is its ServerPolicy.
func (l *Ledger) Lapsed(now sandbox.Policy, given []sandbox.Grant) sandbox.Revocation {
	var lost sandbox.Grant
	for _, g := range given {
		g = g.Clone()
		lost.Write = append(lost.Write, slices.DeleteFunc(g.Write, func(p string) bool { return now.JudgeWrite(p).Allowed })...)
		lost.Read = append(lost.Read, slices.DeleteFunc(g.Read, func(p string) bool { return now.JudgeRead(p).Allowed })...)
		lost.Hosts = append(lost.Hosts, slices.DeleteFunc(g.Hosts, func(h sandbox.HostPort) bool { return now.JudgeHost(h).Allowed })...)
		lost.Sockets = append(lost.Sockets, slices.DeleteFunc(g.Sockets, func(p string) bool { return slices.Contains(now.Sockets, p) })...)
	}
	return l.closing(now, lost)
}

// Opens returns what p opens beside reading, and under does not: what a permit for p grants to a
// server that was started under under.
func (*Ledger) Opens(under, p sandbox.Policy) sandbox.Grant { return ledger.Beyond(under, p) }
