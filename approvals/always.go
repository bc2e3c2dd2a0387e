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
	"codeagent/sandbox"
	"codeagent/sandbox/named"
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
		l = Lasting{Project: ask.RulesText(list, g.ledger.at.seen.Workspace), Everywhere: ask.RulesText(list, ""), Check: func(text string) (rules.Replay, error) { return g.check(q, text) }}
		if _, refusal := g.checked(q, l.Project); refusal != nil {
			why = refusal.Reason
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

// checked returns the state under the rules in text, or why they cannot answer q.
func (g *Gate) checked(q openQuestion, text string) (decide.State, *Refusal) {
	if len(text) > maxLasting {
		return decide.State{}, refuse("the rules are longer than 16 KiB")
	}
	list, err := rules.Parse("rule", []byte(text), g.ledger.at.seen.Written)
	switch {
	case err != nil:
		return decide.State{}, refuse("%v", err)
	case len(list) == 0 || len(list) > mostLasting:
		return decide.State{}, refuse("the text contains %d rules; an answer has 1 to %d", len(list), mostLasting)
	}
	names := q.names
	for _, r := range list {
		names = slices.Concat(names, r.Paths)
	}
	s := g.state(names...)
	for _, r := range list {
		// A session answer or read-only would hide what is protected: judge by the settings.
		if refusal := s.Openable(q.Grant, r); refusal != nil {
			return decide.State{}, refused(refusal)
		}
	}
	wide := s.With(g.ledger.at.rulesHere(rules.Join(s.Rules.Rules(), list)).At(g.opts.Now()))
	if _, ok := q.answers(wide); !ok {
		return decide.State{}, refuse("no rule answers this question (it asks to %s)", cmp.Or(decide.GrantWords(q.Grant), "run the command"))
	}
	return wide, nil
}

// save saves the rules of an answer, and they apply at once. Empty text means the rules as shown.
// If saving fails, the answer counts for the session, or once if the text was edited, because an
// edited rule may expire. r then says so.
func (g *Gate) save(q openQuestion, r *Request, text string) (Decision, *Refusal) {
	if q.Lasting == nil {
		return Deny, refuse("the answer always was not offered")
	}
	text = strings.TrimSpace(cmp.Or(text, q.Lasting.Project))
	if _, refusal := g.checked(q, text); refusal != nil {
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

// check is Lasting.Check.
func (g *Gate) check(q openQuestion, text string) (rules.Replay, error) {
	wide, refusal := g.checked(q, text)
	if refusal != nil {
		return rules.Replay{}, errors.New(refusal.Reason)
	}
	if g.opts.Past == nil {
		return rules.Replay{}, nil
	}
	list, _ := rules.Parse("rule", []byte(text), g.ledger.at.seen.Written) // checked has parsed it
	folder := g.ledger.at.seen.Workspace
	if slices.ContainsFunc(list, func(r *rules.Rule) bool { return r.Project == "" }) {
		folder = ""
	}
	now := g.state()
	p := comparison{at: g.ledger.at, now: now, wide: wide, base: now.Base(), known: map[string]bool{}, grants: map[string]string{}}
	p.commands = slices.ContainsFunc(list, func(r *rules.Rule) bool { return len(r.Words) > 0 })
	wanted := len(q.Grant.Write) + len(q.Grant.Read) + len(q.Grant.Hosts) // by a yes to all of it
	if p.commands {
		wanted++
	}
	if wanted == 0 {
		return rules.Replay{}, nil // a tool: sessions do not keep which calls were asked about
	}
	var out rules.Replay
	out.Part = g.opts.Past(folder, func(past rules.Past) {
		what := p.opened(past.Command, past.Refused)
		if past.Command != q.Action.Command && p.allowed(past.Command) {
			what = append(what, oneLine(past.Command))
		}
		if len(what) > 0 {
			out.Add(what)
		}
		if len(p.opened(past.Command, past.Allowed)) >= wanted {
			out.Yeses++
		}
	})
	return out, nil
}

// oneLine is a command that a rule allows, so plain text, without its line ends and tabs.
func oneLine(command string) string { return strings.Join(strings.Fields(command), " ") }

// replaying compares a state with one that has more rules.
type comparison struct {
	at        places
	now, wide decide.State
	base      sandbox.Policy
	// commands: some of the rules are for commands. known and grants are what was judged so far.
	commands bool
	known    map[string]bool
	grants   map[string]string
}

// allowed reports whether the rules allow a command that was not allowed before.
func (p comparison) allowed(command string) bool {
	if !p.commands || command == "" {
		return false
	}
	yes, ok := p.known[command]
	if !ok {
		by := func(s decide.State) rules.Decision { return s.Rules.Command(command).Decision }
		yes = by(p.wide) == rules.Allow && by(p.now) != rules.Allow
		p.known[command] = yes
	}
	return yes
}

// opened says which of the needs of an earlier command the rules answer in addition. The
// command itself is a need without a kind, and the host of a page has the kind of a fetch.
func (p comparison) opened(command string, needs []sandbox.Denial) (out []string) {
	for _, d := range needs {
		switch d.Kind {
		case "":
			if p.allowed(command) {
				out = append(out, oneLine(command))
			}
			continue
		case sandbox.DenialKind(rules.Fetch):
			h, err := sandbox.ParseHostPort(d.Target)
			by := func(s decide.State) bool { return s.Rules.Host(h, true) }
			if err == nil && by(p.wide) && !by(p.now) {
				out = append(out, "pages of "+h.String())
			}
			continue
		}
		if what := p.grant(command, d); what != "" {
			out = append(out, what)
		}
	}
	return out
}

// grant says what the rules grant in addition to a denial of an earlier command.
func (p comparison) grant(command string, d sandbox.Denial) string {
	key := sandbox.Denial{Kind: d.Kind, Target: d.Target}
	if d.Kind == sandbox.KindNetwork {
		key.Target = named.WithPort(command, d.Target) // a command may name the port
	}
	name := string(key.Kind) + " " + key.Target
	what, ok := p.grants[name]
	if ok {
		return what
	}
	p.now.Places = p.at.look(p.wide.Rules, decide.HeldNames(key.Target))
	p.wide.Places = p.now.Places
	w, refusal := p.now.HeldWant(p.base, Action{Command: command}, key, nil)
	if refusal == nil && !w.Empty() && w.Blocked == "" &&
		p.wide.Opened(p.base, w.Grant, false).Covers(w.Grant) && !p.now.Opened(p.base, w.Grant, false).Covers(w.Grant) {
		what = decide.GrantWords(w.Grant)
	}
	p.grants[name] = what
	return what
}
