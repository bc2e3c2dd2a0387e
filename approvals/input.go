package approvals

import (
	"fmt"
	"slices"
	"strconv"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Input to a background command can do whatever that command may do: typed to a shell outside
// the sandbox, it is a command outside the sandbox, whatever was decided about the shell. A
// command keeps the policy it was started with and its grants. Therefore a question about an
// input is asked whenever these allow more than the present policy. The answer applies to
// these characters only, and is never remembered.

// wantInput returns what the command that receives a may do beyond base.
func wantInput(base sandbox.Policy, a Action) want {
	p := a.Running.may()
	switch {
	case base.Unconfined:
		return want{}
	case p.Unconfined, p.Network.Mode == sandbox.NetworkFull && base.Network.Mode != sandbox.NetworkFull:
		return want{unsandboxed: true}
	}
	write := roots(p.Write, base.Write)
	if p.SharedTemp && !base.SharedTemp {
		write = append(write, sandbox.SharedTempFolders...)
	}
	return want{grant: sandbox.Grant{
		Write: write, Read: moreRead(base, p),
		Hosts: moreHosts(base.Network, p.Network), Sockets: without(p.Sockets, base.Sockets),
	}}
}

// may returns the present policy of a running command. A grant counts as it was given, even
// if its path has become something else since.
func (r Running) may() sandbox.Policy {
	p := r.Policy
	for _, gr := range r.Granted {
		p = p.With(gr)
	}
	return p
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

// inputRequest returns the question for an input: all of what is typed, the command that
// receives it, and what that command may do.
func (s state) inputRequest(a Action, w want) Request {
	r := Request{CallID: a.CallID, Action: cloneAction(a), Grant: w.grant}
	r.Title = fmt.Sprintf("type %s to background command %d (%s)", short.Cut(strconv.Quote(a.Input), 60), a.Running.ID, who(Action{Kind: word.KindCommand, Command: a.Running.Command}))
	switch {
	case w.unsandboxed:
		r.Grant = sandbox.Grant{Unsandboxed: true}
		r.Warnings = append(r.Warnings, "the command runs outside the sandbox: what is typed to it can change every file that you can change, and reach every host")
	case s.unconfined:
		r.Warnings = append(r.Warnings, "there is no sandbox (danger-full-access)")
	case !w.grant.Empty():
		r.Warnings = append(r.Warnings, "the command has more permissions than the sandbox: what is typed to it can use them")
	}
	r.Options = append([]Option{{Decision: Once, Label: "this once, exactly this"}}, noes...)
	return r
}

// yesInput checks a yes to an input. It grants nothing: the command keeps its permissions,
// and they cannot be reduced.
func yesInput(asked Request, ans Answer) *Refusal {
	if g := ans.Grant; g != nil && !sameGrant(*g, asked.Grant) {
		return refuse("permissions of a running command cannot be reduced: the answer counts as no")
	}
	return nil
}

func sameGrant(a, b sandbox.Grant) bool {
	return slices.Equal(a.Write, b.Write) && slices.Equal(a.Read, b.Read) && slices.Equal(a.Hosts, b.Hosts) &&
		slices.Equal(a.Sockets, b.Sockets) && a.Unsandboxed == b.Unsandboxed
}
