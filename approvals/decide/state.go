package decide

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// State is all that a decision depends on beside the action. It is a value that nothing changes: what
// would happen under other rules is decided on a copy that has them.
type State struct {
	// Policy is that of the settings, without what was revoked. Revision is that of the answers.
	Policy   sandbox.Policy
	Revision int
	// Fetch are the hosts that the settings open to fetches.
	Fetch []sandbox.HostPort
	// Answers are those that apply now, oldest first. Rules are those that hold here and now.
	Answers []ledger.Entry
	Rules   *rules.Set
	Consent
	Limits
	Places Places
	// Path is where programs are looked up.
	Path []string
	// GrantsHosts and GrantsSockets: the backend can grant single hosts and path sockets. Careless:
	// losses that undo cannot reverse need no approval. Unconfined: there is no sandbox.
	GrantsHosts, GrantsSockets, Careless, Unconfined bool
	// Backend is the name of the session's backend.
	Backend string
}

// With is s under other rules.
func (s State) With(set *rules.Set) State {
	s.Rules = set
	return s
}

// Start returns the policy before any answer. What Trusted protects depends on the settings. It is
// therefore computed before the model's limits: an answer may reopen what they close.
func (s State) Start() sandbox.Policy { return s.forModel(s.Policy.Clone()) }

// Base returns the policy with the session's grants.
func (s State) Base() sandbox.Policy { return s.Granted(s.Start(), "") }

// Granted adds the session's grants to p: those for an MCP server, or for "" those for commands.
func (s State) Granted(p sandbox.Policy, server string) sandbox.Policy {
	p.Revision = s.Revision
	for _, e := range s.Answers {
		if e.Server == server {
			p = p.With(s.Places.Standing(s.open(e.Grant, false)))
		}
	}
	return p
}

// Decision is what is decided about an action: it runs under policy, or it is refused (by refusal
// whatever the mode, or by the mode for a reason), or a person is asked.
type Decision struct {
	Runs    bool
	Policy  sandbox.Policy
	Refusal *Refusal
	Reason  string
	// Want is what the action wants beyond Policy, About the topics of that, and By what rules say.
	Want  Want
	About Topics
	By    ByRules
	// Ruled: a rule or a hook asks, or the action overwrites.
	Ruled bool
	// Overwrites: it is a push that loses something. Edits are the files of an edit.
	Overwrites bool
	// GrantOnly: without the wish the action would run unasked.
	GrantOnly bool
	Edits     []string
	// News says why earlier answers do not apply any more.
	News []string
}

// Sight is what the gate found, before the decision, about an action that may leave the sandbox.
type Sight struct {
	// Unbound says why a yes cannot apply to the session; "" if it can.
	Unbound string
	// Answered: a yes for the session was given to this very command, and News is what changed since.
	Answered       bool
	News, Warnings []string
}

// Wants reports whether the action wants more than the sandbox allows, or a rule asks.
func (d Decision) Wants() bool { return d.About != 0 || d.Ruled }

// Decide decides about a. asks are the reasons why hooks want a question, seen is what the gate found
// where a may leave the sandbox.
func (s State) Decide(a Action, asks []string, seen Sight) (d Decision) {
	if d.By, d.Refusal = s.CommandRules(a); d.Refusal != nil {
		return d
	}
	if d.Policy, d.Want, d.Edits, d.Refusal = s.ruled(s.BaseOf(a), a); d.Refusal != nil {
		return d
	}
	if d.Refusal = s.unplanned(a, d.Policy, d.Want); d.Refusal != nil {
		return d
	}
	d.News = s.toolNews(a, d.By)
	if d.Want.Leaves() && s.TooWide(a.Kind, d.Want) == nil && seen.Answered {
		if d.News = append(d.News, seen.News...); len(seen.News) == 0 && len(asks) == 0 {
			d.Runs, d.Policy = true, d.Policy.With(sandbox.Grant{Unsandboxed: true})
			return d
		}
	}
	d.Overwrites = !d.Want.Leaves() && s.loses(d.Policy, a, d.By)
	d.About, d.Ruled = s.aboutCall(a, d.Want, d.Policy), d.By.Decision == rules.Ask || d.Overwrites || len(asks) > 0
	known := s.Mode == Untrusted && a.Kind == word.KindCommand && KnownReadOnly(a.Command)
	f := cell{
		kind: a.Kind, unconfined: d.Policy.Unconfined, about: d.About, ruled: d.Ruled,
		known: known || d.By.Decision == rules.Allow, remembered: s.remembers(a, d),
	}
	unwished := f
	unwished.about = 0
	d.GrantOnly = a.Kind == word.KindCommand && !d.Want.Leaves() && s.rule(unwished) == run
	switch s.rule(f) {
	case run:
		d.Runs = true
	case no:
		d.refuse(s.Consent, asks)
	}
	return d
}

// remembers reports whether an answer for the session covers a in the sandbox.
func (s State) remembers(a Action, d Decision) bool {
	switch a.Kind {
	case word.KindEdit:
		// Nothing of an edit on a draft is in the files, so that an answer would be one about other edits.
		return len(s.Draft) > 0 || s.covers(d.Edits, !d.Policy.Unconfined)
	case word.KindServer:
		return s.tool(*a.Server)
	}
	return slices.ContainsFunc(s.Answers, func(e ledger.Entry) bool { return Answers(e, a) })
}

// covers reports whether each of paths may be edited without a question. confined: the sandbox
// protects files. Otherwise an answer covers only files that it named.
func (s State) covers(paths []string, confined bool) bool {
	for _, p := range paths {
		if !slices.ContainsFunc(s.Answers, func(e ledger.Entry) bool {
			return slices.Contains(e.Paths, p) || confined && e.AllEdits != "" && sandbox.Covers(e.AllEdits, p)
		}) {
			return false
		}
	}
	return len(paths) > 0
}

// tool reports whether an answer for the session covers a call.
func (s State) tool(c ServerCall) bool {
	return slices.ContainsFunc(s.Answers, func(e ledger.Entry) bool { return c.Covered(e) })
}

// refuse says why the approval policy refuses the question.
func (d *Decision) refuse(policy Consent, asks []string) {
	wanted := d.About&^serverCalls != 0
	switch {
	case !wanted && len(asks) > 0:
		d.Refusal = refuse("a hook asks about this, and the approval policy is never: nobody is asked (%s)", strings.Join(asks, "; "))
		return
	case !wanted && !d.Overwrites && d.By.Decision == rules.Ask:
		d.Refusal = refuse("the rule at %s asks about this, and the approval policy is never: nobody is asked", d.By.Place)
		return
	}
	d.Reason = policy.Why(d.About)
	if wanted {
		d.Reason += ", and the sandbox does not allow this (" + GrantWords(d.Want.Shown()) + ")"
	}
	if d.Overwrites {
		d.Reason += "; " + RemoteWarning
	}
}

// Wanted returns what a needs beyond base, and the canonical paths of the files that
// it edits.
func (s State) Wanted(base sandbox.Policy, a Action) (Want, []string, *Refusal) {
	if a.Kind.Harmless() {
		return Want{}, nil, nil
	}
	switch a.Kind {
	case word.KindCommand:
		if n := len(a.Wish.Write) + len(a.Wish.Read) + len(a.Wish.Hosts) + len(a.Wish.Sockets); n > 4*maxWishes {
			return Want{}, nil, refuse("the request names %d paths and hosts; at most %d can be asked for at once", n, maxWishes)
		}
		w, r := s.Exact(base, a.Folder, a.Wish)
		return w, nil, r
	case word.KindEdit:
		wish := a.Wish
		wish.Write = slices.Concat(wish.Write, a.Paths)
		w, r := s.Exact(base, a.Folder, wish)
		if r != nil {
			return Want{}, nil, r
		}
		var paths []string
		for _, raw := range a.Paths {
			p, r := s.Places.Canonical(a.Folder, raw)
			if r != nil {
				return Want{}, nil, r
			}
			paths = append(paths, p)
		}
		return w, paths, nil
	case word.KindFetch:
		w, r := s.wantFetch(base, a.Wish)
		return w, nil, r
	case word.KindInput:
		return wantInput(base, a), nil, nil
	case word.KindServer:
		return Want{}, nil, checkServer(a)
	}
	return Want{}, nil, refuse("unknown kind of action %q", a.Kind)
}

// A person is asked about a git push that would overwrite or delete refs of a remote repository. Nothing
// on this machine can undo that. The kernel does not see it, so codeagent judges the command's text
// (rules.OverwritesRemote). That is a heuristic.
const RemoteWarning = "nothing on this machine can restore what the remote loses, not even /undo"

// loses reports whether a is such a push in the sandbox that neither a setting nor a rule allows.
// Outside the sandbox the question shows the whole command anyway.
func (s State) loses(base sandbox.Policy, a Action, by ByRules) bool {
	switch {
	case s.Careless || base.Unconfined || by.overwrites:
		return false
	case a.Kind == word.KindCommand:
		return rules.OverwritesRemote(a.Command)
	}
	return a.Kind == word.KindInput && rules.OverwritesRemote(a.Input)
}

// Answers reports whether e says that exactly the command a runs.
func Answers(e ledger.Entry, a Action) bool {
	return e.Folder != "" && (e.CommandID == CommandIDOf(a) || runs(e, a))
}

// runs reports whether e comes from a file and names exactly this command line in this folder, as
// the model's shell would run it.
func runs(e ledger.Entry, a Action) bool {
	n := len(a.Argv)
	return e.Adopted && a.Kind == word.KindCommand && !a.Background && e.Command == a.Command && e.Folder == a.Folder &&
		n == 3 && a.Argv[1] == "-c" && a.Argv[2] == a.Command
}

// CommandIDOf identifies a command across calls: what is run and where.
func CommandIDOf(a Action) ledger.CommandID {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v %q", a.Tool, a.Command, a.Folder, a.Argv, a.Background, a.Backend))
}
