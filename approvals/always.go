package approvals

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"codeagent/approvals/ask"
	"codeagent/approvals/decide"
	"codeagent/approvals/rules"
	"codeagent/event/word"
)

// The answer Always saves rules that answer the same question in the future. It is offered only if
// it would not be asked under these rules: the decision is made again on a copy of the state that
// has them. The person may edit the rules. Edited rules get the same check, and may not open
// anything that a question cannot offer.

// mostLasting limits the number of rules of one answer, and their size in bytes.
const mostLasting, maxLasting = 8, 16 << 10

// put adds the answer Always to a question where it can be offered, and stores the question.
func (g *Gate) put(q openQuestion) *Request {
	q.pin(g.opts.Content)
	if g.opts.Save == nil || q.Action.Kind == word.KindInput || q.Overwrites {
		return g.open.put(q)
	}
	l := Lasting{}
	list, why := ask.Rules(q.Request, q.mode)
	if why == "" && len(list) == 0 {
		return g.open.put(q) // no rule is about an edit of a file in the workspace
	}
	if why == "" {
		l.Project = ask.RulesText(list, g.ledger.at.seen.Workspace)
		l.Check = func(text string) error {
			if refusal := g.check(q, text); refusal != nil {
				return errors.New(refusal.Reason)
			}
			return nil
		}
		if err := l.Check(l.Project); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		q.Withheld = append(q.Withheld, "always: "+why)
		return g.open.put(q)
	}
	q.Lasting = &l
	at := slices.IndexFunc(q.Options, func(o Option) bool { return !o.Decision.Yes() || o.Decision.Leaves() })
	q.Options = slices.Insert(q.Options, at, Option{Decision: Always, Label: "always in this project"})
	return g.open.put(q)
}

// Ruled returns a permit for a question that the current rules answer, and closes the question.
// There are two cases: a rule was saved after the question was made, or the question is about a
// denied command and calls are not held. What is asked again because something changed is always for
// the person. The permit grants what the rules open now, even if the
// question showed something else.
func (g *Gate) Ruled(r *Request) (Permit, bool) {
	q, ok := g.open.take(r.ID)
	if !ok {
		return Permit{}, false
	}
	if q.answers != nil && q.again == 0 && !q.Widest && !q.Grant.Unsandboxed {
		if policy, ok := q.answers(g.state(q.names...)); ok {
			p := mint(q.Action, policy)
			p.given = q.given
			return p, true
		}
	}
	g.open.put(q)
	return Permit{}, false
}

// check says why the rules in text cannot answer q; nil: they can.
func (g *Gate) check(q openQuestion, text string) *Refusal {
	if len(text) > maxLasting {
		return refuse("the rules are longer than 16 KiB")
	}
	list, err := rules.Parse("rule", []byte(text), g.ledger.at.seen.Written)
	switch {
	case err != nil:
		return refuse("%v", err)
	case len(list) == 0 || len(list) > mostLasting:
		return refuse("the text contains %d rules; an answer has 1 to %d", len(list), mostLasting)
	}
	names := q.names
	for _, r := range list {
		names = slices.Concat(names, r.Paths)
	}
	s := g.state(names...)
	for _, r := range list {
		// A session answer or read-only would hide what is protected: judge by the settings.
		if refusal := s.Openable(q.Grant, r); refusal != nil {
			return refused(refusal)
		}
	}
	wide := s.With(g.ledger.at.rulesHere(rules.Join(s.Rules.Rules(), list)).At(g.opts.Now()))
	if _, ok := q.answers(wide); !ok {
		return refuse("no rule answers this question (it asks to %s)", cmp.Or(decide.GrantWords(q.Grant), "run the command"))
	}
	return nil
}

// save saves the rules of an answer, and they apply at once. Empty text means the rules as shown.
// If saving fails, the answer counts for the session, or once if the text was edited, because an
// edited rule may expire. r then says so.
func (g *Gate) save(q openQuestion, r *Request, text string) (Decision, *Refusal) {
	if q.Lasting == nil {
		return Deny, refuse("the answer always was not offered")
	}
	text = strings.TrimSpace(cmp.Or(text, q.Lasting.Project))
	if refusal := g.check(q, text); refusal != nil {
		return Deny, refusal
	}
	g.ledger.changing.Lock()
	defer g.ledger.changing.Unlock()
	list, err := g.opts.Save(text + "\n")
	if err == nil && len(list) == 0 {
		err = errors.New("the file has no rules afterwards")
	}
	if err != nil {
		r.Instead, r.Unsaved = Once, err.Error()
		if text == strings.TrimSpace(q.Lasting.Project) {
			r.Instead = Session
		}
		return r.Instead, nil
	}
	g.ledger.ReplaceRules(list[0].File, list)
	return Always, nil
}
