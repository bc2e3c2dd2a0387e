package approvals

import (
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// A person is asked about a git push that would overwrite or delete refs of a remote repository. Nothing
// on this machine can undo that. The kernel does not see it, so codeagent judges the command's text
// (rules.OverwritesRemote). That is a heuristic.
const (
	remoteWarning = "nothing on this machine can restore what the remote loses, not even /undo"
	// lossFlag is the setting that allows irreversible losses.
	lossFlag = "-c undo.unkept=allow"
)

// loses reports whether a is such a push in the sandbox that neither a setting nor a rule allows.
// Outside the sandbox the question shows the whole command anyway.
func (s state) loses(base sandbox.Policy, a Action, by byRules) bool {
	switch {
	case s.careless || base.Unconfined || by.overwrites:
		return false
	case a.Kind == word.KindCommand:
		return rules.OverwritesRemote(a.Command)
	}
	return a.Kind == word.KindInput && rules.OverwritesRemote(a.Input)
}

// question is request for what was decided about an action. A yes to a push that loses something
// applies once, because the next one loses something else.
func (s state) question(a Action, d decision, seen sight) Request {
	r := s.request(a, d.want, seen)
	if !d.overwrites {
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

// hintFor returns the flags or settings that would allow r in a run without a person.
func (g *Gate) hintFor(r Request) string {
	switch {
	case r.Action.calls():
		return r.Action.Server.hint(r.Grant)
	case !r.overwrites:
		return g.hint(r.Action.Kind, r.Grant)
	case r.Grant.Empty():
		return g.run(lossFlag)
	default:
		return g.hint(r.Action.Kind, r.Grant, lossFlag)
	}
}
