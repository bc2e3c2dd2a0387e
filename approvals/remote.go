package approvals

import (
	"strings"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// remote asks about a git push that would overwrite or delete what the repository elsewhere has:
// nothing on this machine can bring it back. The kernel does not see it, so the command's text
// decides (rules.OverwritesRemote), as far as that goes.
type remote struct{ *Gate }

const (
	remoteWarning = "nothing on this machine can bring back what the remote then loses, /undo neither"
	// lossHint is the setting that allows what nothing brings back.
	lossHint = "codeagent exec -c undo.unkept=allow …"
)

// loses reports whether a is such a push in the sandbox, and neither a setting nor a rule has
// answered that. Outside the sandbox the question shows the whole command anyway.
func (g remote) loses(base sandbox.Policy, a Action, by byRules) bool {
	switch {
	case g.opts.Careless || base.Unconfined || by.overwrites:
		return false
	case a.Kind == word.KindCommand:
		return rules.OverwritesRemote(a.Command)
	}
	return a.Kind == word.KindInput && rules.OverwritesRemote(a.Input)
}

// question is request; overwrites: a yes is also for such a push. It is for this once, because the
// next push loses something else.
func (g remote) question(a Action, w want, overwrites bool) Request {
	r := g.request(a, w)
	if !overwrites {
		return r
	}
	r.overwrites = true
	if a.Kind == word.KindCommand {
		r.Title = "git push would overwrite or delete what the remote has"
		if words := grantWords(r.Grant); words != "" {
			r.Title += "; it wants to " + words
		}
	}
	r.Warnings = append([]string{remoteWarning}, r.Warnings...)
	r.Options = append([]Option{{Decision: Once, Label: "this once"}}, noes...)
	r.Withheld = []string{"session, always: each such push loses something else"}
	return r
}

// hintFor returns the flags or settings that would allow what r asks for where nobody can be asked.
func (g remote) hintFor(r Request) string {
	switch hint := g.hint(r.Action.Kind, r.Grant); {
	case !r.overwrites:
		return hint
	case r.Grant.Empty():
		return lossHint
	default:
		return strings.Replace(hint, "codeagent exec ", strings.TrimSuffix(lossHint, "…"), 1)
	}
}
