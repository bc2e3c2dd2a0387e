package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/approvals/decide"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// For writes the question for a and what it wants.
func For(s decide.State, a decide.Action, w decide.Want, seen decide.Sight) Request {
	if a.Kind == word.KindInput {
		return forInput(s, a, w)
	}
	r := Request{
		CallID: a.CallID, Grant: w.Shown(), Warnings: w.Warnings,
		Justification: strings.ToValidUTF8(short.Head(a.Wish.Justification, decide.MaxReason), ""),
		Widest:        w.Leaves(),
		Action:        a.Clone(),
	}
	switch {
	case !r.Grant.Empty():
		r.Title = wants(who(a)) + " to " + decide.GrantWords(r.Grant)
	case a.Kind == word.KindEdit:
		r.Title = wants(who(a)) + " to edit " + decide.FirstOf(a.Paths, decide.MaxEntry)
	default:
		r.Title = wants(who(a)) + " to run"
	}
	if a.Background {
		r.Title += " in the background"
		if !r.Grant.Empty() || w.Blocked != "" {
			r.Warnings = append(r.Warnings, "it keeps this until it ends or codeagent ends; typing to it needs an answer each time")
		}
	}
	if w.Blocked != "" {
		r.Warnings = append(r.Warnings, w.Blocked+": it can only be granted by running outside the sandbox")
	}
	switch {
	case r.Widest:
		r.Warnings = append(r.Warnings, "outside the sandbox it can change every file that you can change, and reach every host")
		r.Warnings = append(r.Warnings, seen.Warnings...)
	case a.Calls():
		r.Warnings = append(r.Warnings, warnings(a.Server)...)
	case s.Unconfined:
		r.Warnings = append(r.Warnings, "there is no sandbox (danger-full-access)")
	}
	r.Options, r.Withheld = options(s, a, r.Grant, w, seen)
	return r
}

// options lists the answers, least permission first, and says why others are withheld. Running
// outside the sandbox is offered only if it was requested, or if nothing less can be enforced here.
func options(s decide.State, a decide.Action, grant sandbox.Grant, w decide.Want, seen decide.Sight) (out []Option, withheld []string) {
	session := Option{Decision: Session, Label: "this session"}
	switch {
	case grant.Empty() && a.Kind == word.KindEdit:
		session.Label = "this session, these files"
	case a.Kind == word.KindFetch:
		session.Label = "this session, pages of this host"
	case a.Calls() && grant.Empty():
		session.Label = "this session, this tool"
	case a.Calls():
		session.Label = "this session, for this server"
	case grant.Empty():
		session.Label = "this session, exactly this command in this folder"
	}
	if !grant.Unsandboxed && w.Blocked == "" {
		out = append(out, Option{Decision: Once, Label: "this once"}, session)
		if grant.Empty() && a.Kind == word.KindEdit && !s.Unconfined && inWorkspace(s.Places, a) {
			out = append(out, Option{Decision: AllEdits, Label: "this session, all edits in the workspace"})
		}
	}
	if w.Unsandboxed || w.Blocked != "" {
		out = append(out, Option{Decision: Outside, Label: "outside the sandbox, once"})
		if seen.Unbound == "" {
			out = append(out, Option{Decision: OutsideSession, Label: "outside the sandbox, this session, exactly this command in this folder"})
		} else {
			withheld = append(withheld, "outside for the session: "+seen.Unbound)
		}
	}
	return append(out, noes...), withheld
}

// inWorkspace reports whether an edit changes only files in the workspace.
func inWorkspace(at decide.Places, a decide.Action) bool {
	return at.Workspace != "" && !slices.ContainsFunc(a.Paths, func(raw string) bool {
		p, r := at.Canonical(a.Folder, raw)
		return r != nil || !sandbox.Covers(at.Workspace, p)
	})
}

// noes are the answers to every question that grant nothing.
var noes = []Option{{Key: "n", Decision: Deny, Label: "no, because …"}, {Key: "s", Decision: Stop, Label: "stop"}}

// Numbered assigns keys to the options of a question: consecutive numbers, and letters for denials.
func Numbered(options []Option) []Option {
	out, n := slices.Clone(options), 0
	for i := range out {
		if slices.ContainsFunc(noes, func(no Option) bool { return no.Decision == out[i].Decision }) {
			continue
		}
		n++
		out[i].Key = strconv.Itoa(n)
	}
	return out
}

// Decided is For what was decided about an action. A yes to a push that loses something
// applies once, because the next one loses something else.
func Decided(s decide.State, a decide.Action, d decide.Decision, seen decide.Sight) Request {
	r := For(s, a, d.Want, seen)
	if !d.Overwrites {
		return r
	}
	r.Overwrites = true
	if a.Kind == word.KindCommand {
		r.Title = "git push would overwrite or delete what the remote has"
		if words := decide.GrantWords(r.Grant); words != "" {
			r.Title += "; it wants to " + words
		}
	}
	r.Warnings = append([]string{decide.RemoteWarning}, r.Warnings...)
	r.Options = append([]Option{{Decision: Once, Label: "this once"}}, noes...)
	r.Withheld = []string{"session, always: each such push loses something else"}
	return r
}

// forInput returns the question for an input: all of what is typed, the command that
// receives it, and what that command may do.
func forInput(s decide.State, a decide.Action, w decide.Want) Request {
	r := Request{CallID: a.CallID, Action: a.Clone(), Grant: w.Grant}
	r.Title = fmt.Sprintf("type %s to job %d (%s)", short.Cut(strconv.Quote(a.Input), 60), a.Running.ID, who(decide.Action{Kind: word.KindCommand, Command: a.Running.Command}))
	switch {
	case w.Unsandboxed:
		r.Grant = sandbox.Grant{Unsandboxed: true}
		r.Warnings = append(r.Warnings, "the command runs outside the sandbox: what is typed to it can change every file that you can change, and reach every host")
	case s.Unconfined:
		r.Warnings = append(r.Warnings, "there is no sandbox (danger-full-access)")
	case !w.Grant.Empty():
		r.Warnings = append(r.Warnings, "the command has more permissions than the sandbox: what is typed to it can use them")
	}
	r.Options = append([]Option{{Decision: Once, Label: "this once, exactly this"}}, noes...)
	return r
}

// Loss is the question about a change that undo could not reverse.
func Loss(a decide.Action, d sandbox.Denial) Request {
	return Request{
		CallID: a.CallID, Action: a.Clone(), Held: true, GrantOnly: true, Denials: []sandbox.Denial{d},
		Title: heldWho(d) + " wants to delete or replace what /undo cannot bring back",
		Warnings: []string{
			"the first file: " + shown(d.Target) + "; " + d.Why,
			"a yes covers everything that this command deletes or replaces",
		},
		Options: append([]Option{{Decision: Once, Label: "once, for this command"}}, noes...),
	}
}

// Publish is the question whether the person's programs reach the port on which a job listens, at url.
func Publish(a decide.Action, job int, l sandbox.Listener, url string) Request {
	who := heldWho(sandbox.Denial{Executable: l.Executable, Program: l.Program})
	return Request{
		CallID: a.CallID, Action: a.Clone(), GrantOnly: true,
		Title: fmt.Sprintf("%s (job %d) serves port %d", who, job, l.Port),
		Opens: []string{"your browser reaches it at " + url},
		Facts: []string{
			"only programs of yours on this machine can reach it there",
			"it ends with the job; later jobs of the session may serve this port too, until /permissions revokes it",
		},
		Options: append([]Option{{Decision: Session, Label: "this session, this port"}}, noes...),
	}
}

// shown writes a path that a command chose on one line.
func shown(path string) string {
	if decide.PlainText(path) != nil {
		return strconv.Quote(path)
	}
	return decide.Show(path)
}

// Held is the question about d, a refused call of a that waits, and wants w.
func Held(s decide.State, a decide.Action, w decide.Want, d sandbox.Denial) Request {
	r := For(s, a, w, decide.Sight{})
	r.Title = heldWho(d) + " wants to " + decide.GrantWords(r.Grant)
	r.Held, r.GrantOnly, r.Denials, r.Widest = true, true, []sandbox.Denial{d}, false
	if d.Note != "" {
		r.Warnings = append(r.Warnings, d.Note)
	}
	r.Justification = "" // the model gave it for its own wish, not for this call
	r.Options = heldOptions(a, r.Options)
	return r
}

// Rerun is the question whether a runs again with w, which it lacked according to denials.
func Rerun(s decide.State, a decide.Action, w decide.Want, seen decide.Sight, denials []sandbox.Denial) Request {
	r := For(s, a, w, seen)
	r.AfterFailure, r.GrantOnly, r.Denials = true, !r.Widest, denials
	r.Title = refusedWho(a, denials) + " refused by the sandbox"
	return r
}

// Unmet is the question that nobody was asked: a needed w, and was refused d first.
func Unmet(s decide.State, a decide.Action, w decide.Want, seen decide.Sight, d sandbox.Denial) Request {
	r := For(s, a, w, seen)
	r.Title = heldWho(d) + " wants to " + decide.GrantWords(r.Grant)
	return r
}

// heldOptions returns the answers about a command that runs already: it cannot leave the
// sandbox, and its grants end with it.
func heldOptions(a decide.Action, all []Option) []Option {
	all = slices.DeleteFunc(all, func(o Option) bool { return o.Decision.Leaves() })
	for i := range all {
		if all[i].Decision == Once {
			all[i].Label = "once, for this command"
			if a.Kind == word.KindServer {
				all[i].Label = "once, for this call"
			}
		}
	}
	return all
}

// warnings say what about a call is not confined.
func warnings(c *decide.ServerCall) (out []string) {
	switch {
	case c.Remote:
		out = append(out, "the server runs elsewhere: it gets the arguments, and no sandbox is around what it does")
	case c.Policy.Unconfined:
		out = append(out, "the server runs outside the sandbox (danger-full-access)")
	}
	if c.ReadOnly {
		out = append(out, "the server says that this tool only reads; nothing proves it")
	}
	if c.Huge() {
		out = append(out, "the arguments are too long to be shown whole")
	}
	return out
}
