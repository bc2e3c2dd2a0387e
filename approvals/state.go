package approvals

import (
	"slices"
	"strings"
	"time"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// state is all that a decision depends on beside the action. It is a value that nothing changes: what
// would happen under other rules is decided on a copy that has them.
type state struct {
	// policy is that of the settings, without what was revoked. revision is that of the answers.
	policy   sandbox.Policy
	revision int
	// fetch are the hosts that the settings open to fetches.
	fetch []sandbox.HostPort
	// answers are those that apply now, oldest first.
	answers []answered
	rules   *rules.Set
	now     time.Time
	consent
	limits
	at   places
	path []string
	// See Options. unconfined: there is no sandbox.
	grantsHosts, grantsSockets, careless, unconfined bool
}

// with is s under other rules.
func (s state) with(set *rules.Set) state {
	s.rules = s.at.rulesHere(set)
	return s
}

// start returns the policy before any answer. What Trusted protects depends on the settings. It is
// therefore computed before the model's limits: an answer may reopen what they close.
func (s state) start() sandbox.Policy { return s.forModel(s.policy.Clone()) }

// Ungranted returns the policy without any answer of the user's.
func (l *Ledger) Ungranted() sandbox.Policy { return l.state().start() }

// base returns the policy with the session's grants.
func (s state) base() sandbox.Policy { return s.granted(s.start(), "") }

// granted adds the session's grants to p: those for an MCP server, or for "" those for commands.
func (s state) granted(p sandbox.Policy, server string) sandbox.Policy {
	p.Revision = s.revision
	for _, e := range s.answers {
		if e.Server == server {
			p = p.With(s.at.standing(e.Grant))
		}
	}
	return p
}

// decision is what is decided about an action: it runs under policy, or it is refused (by refusal
// whatever the mode, or by the mode for a reason), or a person is asked.
type decision struct {
	runs    bool
	policy  sandbox.Policy
	refusal *Refusal
	reason  string
	// want is what the action wants beyond policy, about the topics of that, and by what rules say.
	want  want
	about topics
	by    byRules
	ruled bool
	// overwrites: it is a push that loses something, see lossesOf. edits are the files of an edit.
	overwrites bool
	// grantOnly: see Request.
	grantOnly bool
	edits     []string
	// news says why earlier answers do not apply any more.
	news []string
}

func (d decision) wants() bool { return d.about != 0 || d.ruled }

// decide decides about a. asks are the reasons why hooks want a question, seen is what the gate found
// where a may leave the sandbox.
func (s state) decide(a Action, asks []string, seen sight) (d decision) {
	if d.by, d.refusal = s.commandRules(a); d.refusal != nil {
		return d
	}
	if d.policy, d.want, d.edits, d.refusal = s.ruled(s.baseOf(a), a); d.refusal != nil {
		return d
	}
	d.news = s.toolNews(a, d.by)
	if d.want.leaves() && s.tooWide(d.want) == nil && seen.answered {
		if d.news = append(d.news, seen.news...); len(seen.news) == 0 && len(asks) == 0 {
			d.runs, d.policy = true, d.policy.With(sandbox.Grant{Unsandboxed: true})
			return d
		}
	}
	d.overwrites = !d.want.leaves() && s.loses(d.policy, a, d.by)
	d.about, d.ruled = aboutCall(a, d.want), d.by.decision == rules.Ask || d.overwrites || len(asks) > 0
	known := s.mode == Untrusted && a.Kind == word.KindCommand && knownReadOnly(a.Command)
	f := facts{
		kind: a.Kind, unconfined: d.policy.Unconfined, about: d.about, ruled: d.ruled,
		known: known || d.by.decision == rules.Allow, remembered: s.remembers(a, d),
	}
	unwished := f
	unwished.about = 0
	d.grantOnly = a.Kind == word.KindCommand && !d.want.leaves() && s.rule(unwished) == run
	switch s.rule(f) {
	case run:
		d.runs = true
	case no:
		d.refuse(s.consent, a, asks)
	}
	return d
}

// remembers reports whether an answer for the session covers a in the sandbox.
func (s state) remembers(a Action, d decision) bool {
	switch a.Kind {
	case word.KindEdit:
		return s.covers(d.edits, !d.policy.Unconfined)
	case word.KindServer:
		return s.tool(*a.Server)
	}
	return slices.ContainsFunc(s.answers, func(e answered) bool { return e.Folder != "" && (e.deed == deedOf(a) || e.runs(a)) })
}

// covers reports whether each of paths may be edited without a question. confined: the sandbox
// protects files. Otherwise an answer covers only files that it named.
func (s state) covers(paths []string, confined bool) bool {
	for _, p := range paths {
		if !slices.ContainsFunc(s.answers, func(e answered) bool {
			return slices.Contains(e.Paths, p) || confined && e.AllEdits != "" && sandbox.Covers(e.AllEdits, p)
		}) {
			return false
		}
	}
	return len(paths) > 0
}

// tool reports whether an answer for the session covers a call.
func (s state) tool(c ServerCall) bool {
	return slices.ContainsFunc(s.answers, func(e answered) bool { return e.covers(c) })
}

// refuse says why the approval policy refuses the question.
func (d *decision) refuse(policy consent, a Action, asks []string) {
	wanted := d.about&^serverCalls != 0
	switch {
	case !wanted && len(asks) > 0:
		d.refusal = refuse("a hook asks about this, and the approval policy is never: nobody is asked (%s)", strings.Join(asks, "; "))
		return
	case !wanted && !d.overwrites && d.by.decision == rules.Ask:
		d.refusal = refuse("the rule at %s asks about this, and the approval policy is never: nobody is asked", d.by.place)
		return
	}
	d.reason = policy.why(d.about)
	if wanted {
		d.reason += ", and the sandbox does not allow this (" + grantWords(d.want.shown()) + ")"
	}
	if d.overwrites {
		d.reason += "; " + remoteWarning
	}
}

// wanted returns what a needs beyond base, and the canonical paths of the files that
// it edits.
func (s state) wanted(base sandbox.Policy, a Action) (want, []string, *Refusal) {
	switch a.Kind {
	case word.KindPlan, word.KindRead, word.KindWatch:
		return want{}, nil, nil
	case word.KindCommand:
		if n := len(a.Wish.Write) + len(a.Wish.Read) + len(a.Wish.Hosts) + len(a.Wish.Sockets); n > 4*maxWishes {
			return want{}, nil, refuse("the request names %d paths and hosts; at most %d can be asked for at once", n, maxWishes)
		}
		w, r := s.want(base, a.Folder, a.Wish)
		return w, nil, r
	case word.KindEdit:
		wish := a.Wish
		wish.Write = slices.Concat(wish.Write, a.Paths)
		w, r := s.want(base, a.Folder, wish)
		if r != nil {
			return want{}, nil, r
		}
		var paths []string
		for _, raw := range a.Paths {
			p, r := s.at.canonical(a.Folder, raw)
			if r != nil {
				return want{}, nil, r
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
		return want{}, nil, checkServer(a)
	}
	return want{}, nil, refuse("unknown kind of action %q", a.Kind)
}
