package decide

import (
	"codeagent/approvals/ledger"
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
	more := ledger.Beyond(base, p)
	if p.SharedTemp && !base.SharedTemp {
		more.Write = append(more.Write, sandbox.SharedTempFolders...)
	}
	if p.Network.Mode != sandbox.NetworkAllow || base.Network.Mode == sandbox.NetworkFull {
		more.Hosts = nil
	}
	more.Read = moreRead(base, p)
	return Want{Grant: more}
}

// moreRead returns what p may read and base may not: roots, and paths denied in base only.
func moreRead(base, p sandbox.Policy) []string {
	out := append(ledger.Less(base.DenyRead, p.DenyRead), ledger.Less(base.DenyGlobs, p.DenyGlobs)...)
	switch {
	case len(base.Read) == 0: // which means everything
		return out
	case len(p.Read) == 0:
		return append(out, "/")
	}
	return append(out, ledger.Less(sandbox.PathsOf(p.Read), sandbox.PathsOf(base.Read))...)
}
