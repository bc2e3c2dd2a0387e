package approvals

import (
	"slices"

	"codeagent/approvals/ask"
	"codeagent/approvals/decide"
	"codeagent/sandbox"
)

// Questions of held calls: the sandbox has refused one system call of a running command, and
// the call waits for the answer.

// DecideHeld judges a held call of a. It returns exactly one of a grant under which the call
// may proceed, a question, or a *Refusal.
func (g *Gate) DecideHeld(a Action, d sandbox.Denial, so HeldAnswers) (sandbox.Grant, *Request, error) {
	if g.opts.Refresh != nil {
		g.opts.Refresh()
	}
	s := g.state(g.heldNames(a, d, so.Given)...)
	if s.Helper {
		return sandbox.Grant{}, nil, refused(s.Beyond())
	}
	if isLoss(d) {
		return g.lossOf(s, a, d)
	}
	if grant, ok := s.Allows(a, d, so.Given); ok {
		g.ledger.relied(s, grant, a.ServerName())
		return grant, nil, nil
	}
	w, refusal := s.HeldWant(s.StartOf(a), a, d, so.Given)
	if refusal == nil {
		refusal = s.TooWide(a.Kind, w)
	}
	switch {
	case refusal != nil:
		return sandbox.Grant{}, nil, refused(refusal)
	case w.Empty():
		return sandbox.Grant{}, nil, refuse("%s %s is allowed by the policy and was refused for another reason", d.Operation, decide.Show(d.Target))
	case w.Blocked != "":
		return sandbox.Grant{}, nil, refuse("%s", w.Blocked)
	case slices.ContainsFunc(so.Refused, func(no sandbox.Grant) bool { return no.Covers(w.Grant) }):
		// If the program tries again, the person is not asked again.
		return sandbox.Grant{}, nil, refuse("the user denied this while the command ran")
	}
	r := ask.Held(s, a, w, d)
	r.ID = g.opts.NewID()
	topics := decide.About(a.Kind, w)
	if s.Refuses(topics) {
		return sandbox.Grant{}, nil, &Refusal{Reason: s.Why(topics), Hint: remedy(g, heldHint(g, a, w.Grant)), Request: &r}
	}
	q := openQuestion{Request: r, names: g.heldNames(a, d, nil), mode: s.Mode, wants: true, about: topics}
	q.answers = func(s decide.State) (sandbox.Policy, bool) {
		_, ok := s.Allows(a, d, nil)
		return sandbox.Policy{}, ok
	}
	return sandbox.Grant{}, g.put(q), nil
}

func isLoss(d sandbox.Denial) bool { return d.Kind == sandbox.KindLoss }

// lossOf judges a change that undo could not reverse. The policy already allows the change, so a
// yes grants nothing; it only lets this command make such changes. No answer covers later commands.
func (g *Gate) lossOf(s decide.State, a Action, d sandbox.Denial) (sandbox.Grant, *Request, error) {
	r := ask.Loss(a, d)
	r.ID = g.opts.NewID()
	if s.Mode == Never {
		return sandbox.Grant{}, nil, &Refusal{Reason: s.Why(0), Hint: remedy(g, g.run(lossFlag)), Request: &r}
	}
	return sandbox.Grant{}, g.open.put(openQuestion{Request: r, mode: s.Mode, wants: true}), nil
}

// Granted returns the grant under which a held call of a running command may proceed without
// a question: given, a rule, or a session grant made after the command started covers it.
func (g *Gate) Granted(a Action, d sandbox.Denial, given []sandbox.Grant) (sandbox.Grant, bool) {
	return g.state(g.heldNames(a, d, given)...).Allows(a, d, given)
}

// heldNames are the names that a decision about d is about, where given was granted.
func (g *Gate) heldNames(a Action, d sandbox.Denial, given []sandbox.Grant) []string {
	names := append(decide.HeldNames(d.Target), g.ledger.at.seen.Tree(a, d.Target, given))
	for _, g := range given {
		names = append(names, paths(g)...)
	}
	return names
}

// SettleHeld is Settle for a question of DecideHeld: it returns the grant under which the
// held call proceeds.
func (g *Gate) SettleHeld(r *Request, ans Answer) (sandbox.Grant, error) {
	_, grant, err := g.answer(r, ans)
	return grant, err
}
