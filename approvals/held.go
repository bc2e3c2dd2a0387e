package approvals

import (
	"fmt"
	"slices"
	"strconv"

	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Questions of held calls: the sandbox has refused one system call of a running command, and
// the call waits for the answer.

// HeldAnswers are a person's answers so far about one running command.
type HeldAnswers struct {
	// Given is what was granted since it started, Refused what was refused.
	Given, Refused []sandbox.Grant
}

// add adds what was granted to a run.
func (w *Wish) add(given []sandbox.Grant) {
	for _, g := range given {
		w.Write, w.Read, w.Sockets = append(w.Write, g.Write...), append(w.Read, g.Read...), append(w.Sockets, g.Sockets...)
		w.Hosts = append(w.Hosts, sandbox.HostsOf(g.Hosts)...)
	}
}

// DecideHeld judges a held call of a. It returns exactly one of a grant under which the call
// may proceed, a question, or a *Refusal.
func (g *Gate) DecideHeld(a Action, d sandbox.Denial, so HeldAnswers) (sandbox.Grant, *Request, error) {
	if g.opts.Refresh != nil {
		g.opts.Refresh()
	}
	s := g.state()
	if isLoss(d) {
		return g.lossOf(s, a, d)
	}
	if grant, ok := s.allows(a, d, so.Given); ok {
		g.ledger.relied(s, grant, a.serverName())
		return grant, nil, nil
	}
	w, refusal := s.heldWant(s.startOf(a), a, d)
	switch {
	case refusal != nil:
		return sandbox.Grant{}, nil, refusal
	case w.empty():
		return sandbox.Grant{}, nil, refuse("%s %s is allowed by the policy and was refused for another reason", d.Operation, show(d.Target))
	case w.blocked != "":
		return sandbox.Grant{}, nil, refuse("%s", w.blocked)
	case slices.ContainsFunc(so.Refused, func(no sandbox.Grant) bool { return opens(no, w.grant) }):
		// If the program tries again, the person is not asked again.
		return sandbox.Grant{}, nil, refuse("the user denied this while the command ran")
	}
	r := s.request(a, w, sight{})
	r.ID, r.Title = g.opts.NewID(), heldWho(d)+" wants to "+grantWords(r.Grant)
	r.Held, r.GrantOnly, r.Denials, r.Widest = true, true, []sandbox.Denial{d}, false
	if d.Note != "" {
		r.Warnings = append(r.Warnings, d.Note)
	}
	r.Justification = "" // the model gave it for its own wish, not for this call
	r.Options = heldOptions(a, r.Options)
	topics := about(a.Kind, w)
	if s.consent.question(topics) == no {
		return sandbox.Grant{}, nil, &Refusal{Reason: s.why(topics), Hint: remedy(g, heldHint(g, a, w.grant)), Request: &r}
	}
	q := asked{Request: r, mode: s.mode, wants: true, about: topics}
	q.answers = func(s state) (sandbox.Policy, bool) {
		_, ok := s.allows(a, d, nil)
		return sandbox.Policy{}, ok
	}
	return sandbox.Grant{}, g.put(s, q), nil
}

func isLoss(d sandbox.Denial) bool { return d.Kind == sandbox.KindLoss }

// lossOf judges a change that undo could not reverse. The policy already allows the change, so a
// yes grants nothing; it only lets this command make such changes. No answer covers later commands.
func (g *Gate) lossOf(s state, a Action, d sandbox.Denial) (sandbox.Grant, *Request, error) {
	r := lossRequest(a, d)
	r.ID = g.opts.NewID()
	if s.mode == Never {
		return sandbox.Grant{}, nil, &Refusal{Reason: s.why(0), Hint: remedy(g, g.run(lossFlag)), Request: &r}
	}
	return sandbox.Grant{}, g.open.put(asked{Request: r, mode: s.mode, wants: true}), nil
}

func lossRequest(a Action, d sandbox.Denial) Request {
	return Request{
		CallID: a.CallID, Action: cloneAction(a), Held: true, GrantOnly: true, Denials: []sandbox.Denial{d},
		Title: heldWho(d) + " wants to delete or replace what /undo cannot bring back",
		Warnings: []string{
			"the first file: " + shown(d.Target) + "; " + d.Why,
			"a yes covers everything that this command deletes or replaces",
		},
		Options: append([]Option{{Decision: Once, Label: "once, for this command"}}, noes...),
	}
}

// shown writes a path that a command chose on one line.
func shown(path string) string {
	if plainText(path) != nil {
		return strconv.Quote(path)
	}
	return show(path)
}

// Granted returns the grant under which a held call of a running command may proceed without
// a question: given, a rule, or a session grant made after the command started covers it.
func (g *Gate) Granted(a Action, d sandbox.Denial, given []sandbox.Grant) (sandbox.Grant, bool) {
	return g.state().allows(a, d, given)
}

// allows is Granted.
func (s state) allows(a Action, d sandbox.Denial, given []sandbox.Grant) (sandbox.Grant, bool) {
	// Judge the wish against the policy alone first: the running command has no newer grants.
	w, refusal := s.heldWant(s.startOf(a), a, d)
	if refusal != nil || w.empty() || w.blocked != "" {
		return sandbox.Grant{}, false
	}
	base := s.baseOf(a)
	if a.Kind == word.KindCommand && opens(s.opened(base, w.grant, false), w.grant) {
		return w.grant, true
	}
	now := base
	for _, gr := range given {
		now = now.With(s.at.standing(gr))
	}
	left, refusal := s.heldWant(now, a, d)
	return w.grant, refusal == nil && left.empty()
}

// opens reports whether wide covers everything in gr.
func opens(wide, gr sandbox.Grant) bool { return wide.Covers(gr) }

// heldWho names the program that was refused by its file, which is a fact. The name that it
// gave itself and the words of the command are not.
func heldWho(d sandbox.Denial) string {
	switch {
	case d.Executable != "":
		return show(plainPath(d.Executable))
	case d.Program != "":
		return plainName(d.Program)
	}
	return sandbox.Unexamined
}

// refusedWho names the programs that were refused something that mattered, with their verb. It uses
// the executables that the kernel recorded, or else the program in the command's text.
func refusedWho(a Action, denials []sandbox.Denial) string {
	var names []string
	for _, d := range denials {
		if name := heldWho(d); !d.Moot && d.Evidence == sandbox.EvidenceKernel && d.Executable != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return who(a) + " was"
	case 1:
		return names[0] + " was"
	}
	return fmt.Sprintf("%s and %d more were", names[0], len(names)-1)
}

// heldWant returns what d, refused to a, needs beyond base.
func (s state) heldWant(base sandbox.Policy, a Action, d sandbox.Denial) (want, *Refusal) {
	var wish Wish
	switch d.Kind {
	case sandbox.KindWrite, sandbox.KindMetadata:
		wish.Write = []string{s.at.heldPlace(d.Target)}
	case sandbox.KindProtected:
		wish.Write = []string{d.Target}
	case sandbox.KindRead:
		wish.Read = []string{d.Target}
	case sandbox.KindNetwork:
		wish.Hosts = []string{named.WithPort(a.Command, d.Target)}
	case sandbox.KindSocket:
		wish.Sockets = []string{d.Target}
	default:
		return want{}, refuse("%s %s: no grant would allow it", d.Kind, d.Operation)
	}
	return s.want(base, "/", wish)
}

// heldOptions returns the answers about a command that runs already: it cannot leave the
// sandbox, and its grants end with it.
func heldOptions(a Action, all []Option) []Option {
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

// SettleHeld is Settle for a question of DecideHeld: it returns the grant under which the
// held call proceeds.
func (g *Gate) SettleHeld(r *Request, ans Answer) (sandbox.Grant, error) {
	_, grant, err := g.answer(r, ans)
	return grant, err
}
