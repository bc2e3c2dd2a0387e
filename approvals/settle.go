package approvals

import (
	"slices"
	"strings"

	"codeagent/approvals/decide"
	"codeagent/approvals/ledger"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Settle converts the answer to r into a permit or a *Refusal. Each question can be settled once.
// Of r only the ID is read; Settle sets Instead and Unsaved.
func (g *Gate) Settle(r *Request, ans Answer) (Permit, error) {
	q, grant, err := g.answer(r, ans)
	if err != nil {
		return Permit{}, err
	}
	s := g.state(q.names...)
	p := mint(q.Action, q.under(s, grant))
	p.check, p.given = g.recheck(q), q.given
	if ans.Decision == Once {
		p.given = append(slices.Clone(q.given), grant)
	}
	return p, nil
}

// answer checks ans against the question and remembers an answer for the session.
func (g *Gate) answer(r *Request, ans Answer) (openQuestion, sandbox.Grant, error) {
	if r == nil {
		return openQuestion{}, sandbox.Grant{}, refuse("nothing was asked")
	}
	q, ok := g.open.take(r.ID)
	if !ok || q.port != 0 { // see SettlePublish
		return openQuestion{}, sandbox.Grant{}, refuse("this question is not open")
	}
	g.said(q.Request, ans)
	if refusal := g.noInWords(q.Request, ans); refusal != nil {
		return q, sandbox.Grant{}, refusal
	}
	if now := g.consent(); q.wants && now.Refuses(q.about) {
		return q, sandbox.Grant{}, refuse("the approval policy changed while the question was open: %s", now.Why(q.about))
	}
	names := q.names
	if ans.Grant != nil {
		names = slices.Concat(names, paths(*ans.Grant))
	}
	s := g.state(slices.Concat(names, paths(q.Grant))...)
	if _, refusal := s.CommandRules(q.Action); refusal != nil {
		return q, sandbox.Grant{}, refused(refusal) // a rule was saved while the question was open
	}
	for i, p := range q.edits {
		if now, refusal := s.Places.Canonical(q.Action.Folder, q.Action.Paths[i]); refusal != nil || now != p {
			return q, sandbox.Grant{}, refuse("%s became something else while the question was open", decide.Show(p))
		}
	}
	if moved := g.moved(s, q); len(moved) > 0 {
		return q, sandbox.Grant{}, g.again(q, strings.Join(moved, ", ")+" while the question was open")
	}
	base := s.Base()
	if q.Action.Calls() {
		base = s.BaseOf(q.Action)
	}
	grant, refusal := yes(s, base, q.Request, ans)
	if refusal != nil {
		return q, sandbox.Grant{}, refusal
	}
	if ans.Decision == Always {
		if !grant.Covers(q.Grant) {
			return q, sandbox.Grant{}, refuse("always grants everything that the question showed; to grant less, answer for the session")
		}
		if ans.Decision, refusal = g.save(q, r, ans.Rule); refusal != nil {
			return q, sandbox.Grant{}, refusal
		}
	}
	g.remember(q, ans.Decision, grant)
	return q, grant, nil
}

// noInWords returns the refusal for a no, or nil for a yes.
func (g *Gate) noInWords(asked Request, ans Answer) *Refusal {
	words, because := strings.TrimSpace(strings.ToValidUTF8(short.Head(ans.Reason, decide.MaxReason), "")), ""
	if words != "" {
		because = ": " + words
	}
	if ans.Decision.Yes() {
		return nil
	}
	switch ans.Decision {
	case Deny:
		return &Refusal{Reason: word.AnswerDenied.Reason(words)}
	case Hooked:
		return &Refusal{Reason: "a hook refused this, and the user was not asked" + because}
	case Unanswered:
		return &Refusal{Reason: "no answer" + because}
	case Stop:
		return &Refusal{Reason: word.AnswerStopped.Reason(words), Stop: true}
	case Unattended:
		if asked.Overwrites {
			because += "; " + decide.RemoteWarning
		}
		return &Refusal{
			Reason: "nobody could be asked, so it was refused" + because,
			Hint:   remedy(g, g.hintFor(asked)), Request: &asked,
		}
	}
	return refuse("unknown answer %q: it counts as no", string(ans.Decision))
}

// yes returns what a yes grants.
func yes(s decide.State, base sandbox.Policy, asked Request, ans Answer) (sandbox.Grant, *Refusal) {
	if !slices.ContainsFunc(asked.Options, func(o Option) bool { return o.Decision == ans.Decision }) {
		return sandbox.Grant{}, refuse("the answer %q was not offered", string(ans.Decision))
	}
	if asked.Action.Kind == word.KindInput {
		// It grants nothing: the command keeps its permissions, and they cannot be reduced.
		if gr := ans.Grant; gr != nil && !(gr.Covers(asked.Grant) && asked.Grant.Covers(*gr)) {
			return sandbox.Grant{}, refuse("permissions of a running command cannot be reduced: the answer counts as no")
		}
		return sandbox.Grant{}, nil
	}
	grant := asked.Grant
	if ans.Grant != nil {
		if !s.Narrower(base, *ans.Grant, asked.Grant) {
			return sandbox.Grant{}, refuse("the answer grants more than the question showed and counts as no")
		}
		grant = ans.Grant.Clone()
	}
	if ans.Decision.Leaves() {
		return sandbox.Grant{Unsandboxed: true}, nil
	}
	if grant.Unsandboxed {
		return sandbox.Grant{}, refuse("running outside the sandbox needs an answer of its own")
	}
	// What a backend cannot grant to a command, codeagent itself can still do.
	if blocked := s.Blocked(base, grant); blocked != "" && asked.Action.Kind != word.KindFetch {
		return sandbox.Grant{}, refuse("%s", blocked)
	}
	for _, p := range slices.Concat(grant.Write, grant.Read, grant.Sockets) {
		if !s.Places.Unmoved(p) {
			return sandbox.Grant{}, refuse("%s became something else while the question was open", decide.Show(p))
		}
	}
	return grant, nil
}

// remember stores an answer for the session, bound to exactly what was shown.
func (g *Gate) remember(asked openQuestion, d Decision, grant sandbox.Grant) {
	a := asked.Action
	e := ledger.Entry{Origin: ledger.Question, Source: asked.ID, Title: asked.Title, Justification: asked.Justification}
	switch {
	case d == Session && a.Kind == word.KindFetch:
		e.Fetch = slices.Clone(grant.Hosts)
	case d == OutsideSession:
		e.Command, e.Folder, e.Outside, e.CommandID = a.Command, a.Folder, true, decide.CommandIDOf(a)
		e.Bound = asked.bound.Clone()
	case d == Session && a.Kind == word.KindEdit:
		e.Grant = grant
		e.Paths = slices.Clone(asked.edits)
	case d == AllEdits:
		e.AllEdits = g.ledger.at.seen.Workspace
	case d == Session && a.Kind == word.KindServer && !asked.Held && !asked.AfterFailure:
		e.Tool, e.Described = a.Server.Name(), a.Server.Described
	case d == Session && a.Kind == word.KindServer:
		e.Grant, e.Server = grant, a.Server.Server
	case d == Session:
		e.Grant = grant
		if asked.mode == Untrusted && a.Kind == word.KindCommand && !asked.Held {
			e.Command, e.Folder, e.CommandID = a.Command, a.Folder, decide.CommandIDOf(a)
		}
	default:
		return
	}
	g.ledger.add(e)
}
