package approvals

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals/review"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// The answer Always saves rules that answer the same question in the future. It is offered only if
// it would not be asked under these rules: the decision is made again on a copy of the state that
// has them. The person may edit the rules. Edited rules get the same check, and may not open
// anything that a question cannot offer.

// Lasting is what the answer Always saves: the text of rules for rules.toml.
type Lasting struct {
	// Project is the text of rules for this project, Everywhere that for every folder.
	Project, Everywhere string
	// Replay counts the earlier calls that Project would have answered. Recall sets it.
	Replay rules.Replay
	// Check returns an error if text cannot be saved as the answer to this question. Otherwise it
	// returns which earlier calls the text would have answered. It reads files.
	Check func(text string) (rules.Replay, error) `json:"-"`
}

// oftenYes is the number of earlier approvals after which the label of Always mentions them.
const oftenYes = 3

// mostLasting limits the number of rules of one answer, and their size in bytes.
const mostLasting, maxLasting = 8, 16 << 10

// put adds the answer Always to a question where it can be offered, and stores the question.
func (g *Gate) put(s state, q asked) *Request {
	q.pin(g.opts.Content)
	if g.opts.Entries != nil {
		e := review.Evidence{Now: s.now, Home: g.at.home, Seen: g.seenSoFar(q.Request, s.now), Entries: g.opts.Entries}
		command := q.Action.Command
		if q.Action.Kind == word.KindServer {
			command = "" // the words of a call are no command line
		}
		q.Facts = e.Facts(command, q.Grant)
	}
	if g.opts.Save == nil || q.Action.Kind == word.KindInput || q.overwrites {
		return g.open.put(q)
	}
	l := Lasting{}
	list, why := lasting(q)
	if why == "" && len(list) == 0 {
		return g.open.put(q) // no rule is about an edit of a file in the workspace
	}
	if why == "" {
		l = Lasting{Project: rulesText(list, g.at.workspace), Everywhere: rulesText(list, ""), Check: func(text string) (rules.Replay, error) { return g.check(q, text) }}
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
// denied command and calls are not held. The permit grants what the rules open now, even if the
// question showed something else.
func (g *Gate) Ruled(r *Request) (Permit, bool) {
	q, ok := g.open.take(r.ID)
	if !ok {
		return Permit{}, false
	}
	if q.answers != nil && !q.Widest && !q.Grant.Unsandboxed {
		if policy, ok := q.answers(g.state()); ok {
			return mint(q.Action, policy), true
		}
	}
	g.open.put(q)
	return Permit{}, false
}

// lasting returns the narrowest rules that answer q, or why no rule should.
func lasting(q asked) (list []*rules.Rule, why string) {
	gr, a := q.Grant, q.Action
	switch {
	case gr.Unsandboxed || q.Widest:
		return nil, "it asks to leave the sandbox"
	case len(gr.Sockets) > 0:
		return nil, "no rule opens a socket"
	case a.calls():
		return a.Server.lasting(gr)
	}
	if len(gr.Write) > 0 {
		list = append(list, &rules.Rule{Decision: rules.Allow, Paths: gr.Write, Access: rules.Write})
	}
	if len(gr.Read) > 0 {
		list = append(list, &rules.Rule{Decision: rules.Allow, Paths: gr.Read, Access: rules.Read})
	}
	if len(gr.Hosts) > 0 {
		r := &rules.Rule{Decision: rules.Allow, Hosts: gr.Hosts}
		if a.Kind == word.KindFetch {
			r.Access = rules.Fetch
		}
		list = append(list, r)
	}
	if a.Kind == word.KindCommand && q.mode == Untrusted && !q.Held && !knownReadOnly(a.Command) {
		commands, why := rules.ForLine(a.Command)
		if why != "" {
			return nil, why
		}
		list = append(list, commands...)
	}
	return list, ""
}

// rulesText writes the rules as text. An empty project means every folder.
func rulesText(list []*rules.Rule, project string) string {
	var b strings.Builder
	for _, r := range list {
		in := *r
		in.Project = project
		b.Write(in.TOML())
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// checked returns the state under the rules in text, or why they cannot answer q.
func (g *Gate) checked(q asked, text string) (state, *Refusal) {
	if len(text) > maxLasting {
		return state{}, refuse("the rules are longer than 16 KiB")
	}
	list, err := rules.Parse("rule", []byte(text), g.at.written)
	switch {
	case err != nil:
		return state{}, refuse("%v", err)
	case len(list) == 0 || len(list) > mostLasting:
		return state{}, refuse("the text contains %d rules; an answer has 1 to %d", len(list), mostLasting)
	}
	s := g.state()
	for _, r := range list {
		// A session answer or read-only would hide what is protected: judge by the settings.
		if refusal := s.at.openable(s.policy, q.Grant, r); refusal != nil {
			return state{}, refusal
		}
	}
	wide := s.with(rules.Join(s.rules.Rules(), list))
	if _, ok := q.answers(wide); !ok {
		return state{}, refuse("no rule answers this question (it asks to %s)", cmp.Or(grantWords(q.Grant), "run the command"))
	}
	return wide, nil
}

// rulesHere returns the rules of set that hold in the workspace.
func (at places) rulesHere(set *rules.Set) *rules.Set {
	return set.In(at.workspace, func(path string) string {
		if p, err := sandbox.Canonical(at.files, "/", path); err == nil {
			return p
		}
		return path
	})
}

// openable rejects rules that a person may write by hand but an answer may not save. Such a rule
// opens something that no question can grant, or its text shows less than it opens. shown is the
// grant in the question.
func (at places) openable(base sandbox.Policy, shown sandbox.Grant, r *rules.Rule) *Refusal {
	if r.Decision != rules.Allow {
		return refuse("an answer saves only rules that allow")
	}
	if len(r.Words) > 0 {
		for _, name := range r.Words[0] {
			if why := rules.Runs(append([]string{name}, slices.Concat(r.Words[1:]...)...)); why != "" {
				return refuse("%s", why)
			}
		}
	}
	for _, p := range r.Paths {
		if refusal := at.unclear(p, p); refusal != nil {
			return refusal
		}
		if refusal := at.refusePath(base, p, p); refusal != nil {
			return refusal
		}
		switch j := base.JudgeWrite(p); {
		case !at.unmoved(p):
			return refuse("%s leads through a link", show(p))
		case r.Access == rules.Write && !j.Allowed && j.Kind == sandbox.KindProtected:
			return refuse("%s is protected (%s)", show(p), j.Why())
		case !base.JudgeRead(p).Allowed && len(readWarnings(base, p)) > 0:
			return refuse("%s is closed to reading by deny_read", show(p))
		}
	}
	for _, h := range r.Hosts {
		if words := ownPlace(h.Host); words != "" && !slices.Contains(shown.Hosts, h) {
			return refuse("%s is %s, and was not asked for", h.Host, words)
		}
	}
	return nil
}

// save saves the rules of an answer, and they apply at once. Empty text means the rules as shown.
// If saving fails, the answer counts for the session, or once if the text was edited, because an
// edited rule may expire. r then says so.
func (g *Gate) save(q asked, r *Request, text string) (Decision, *Refusal) {
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
func (g *Gate) check(q asked, text string) (rules.Replay, error) {
	wide, refusal := g.checked(q, text)
	if refusal != nil {
		return rules.Replay{}, errors.New(refusal.Reason)
	}
	if g.opts.Past == nil {
		return rules.Replay{}, nil
	}
	list, _ := rules.Parse("rule", []byte(text), g.at.written) // checked has parsed it
	folder := g.at.workspace
	if slices.ContainsFunc(list, func(r *rules.Rule) bool { return r.Project == "" }) {
		folder = ""
	}
	now := g.state()
	p := replaying{now: now, wide: wide, base: now.base(), known: map[string]bool{}, grants: map[string]string{}}
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

// Recall adds what the rule would have answered in earlier sessions of the project. It reads
// files.
func (r *Request) Recall() {
	if r.Lasting == nil {
		return
	}
	var err error
	if r.Lasting.Replay, err = r.Lasting.Check(r.Lasting.Project); err != nil || r.Lasting.Replay.Yeses < oftenYes {
		return
	}
	i := slices.IndexFunc(r.Options, func(o Option) bool { return o.Decision == Always })
	r.Options[i].Label += fmt.Sprintf(" (you said yes to this %d times)", r.Lasting.Replay.Yeses)
}

// replaying compares a state with one that has more rules.
type replaying struct {
	now, wide state
	base      sandbox.Policy
	// commands: some of the rules are for commands. known and grants are what was judged so far.
	commands bool
	known    map[string]bool
	grants   map[string]string
}

// allowed reports whether the rules allow a command that was not allowed before.
func (p replaying) allowed(command string) bool {
	if !p.commands || command == "" {
		return false
	}
	yes, ok := p.known[command]
	if !ok {
		by := func(s state) rules.Decision { return s.rules.Command(command, s.now).Decision }
		yes = by(p.wide) == rules.Allow && by(p.now) != rules.Allow
		p.known[command] = yes
	}
	return yes
}

// opened says which of the needs of an earlier command the rules answer in addition. The
// command itself is a need without a kind, and the host of a page has the kind of a fetch.
func (p replaying) opened(command string, needs []sandbox.Denial) (out []string) {
	for _, d := range needs {
		switch d.Kind {
		case "":
			if p.allowed(command) {
				out = append(out, oneLine(command))
			}
			continue
		case sandbox.DenialKind(rules.Fetch):
			h, err := sandbox.ParseHostPort(d.Target)
			by := func(s state) bool { return s.rules.Host(h, true, s.now) }
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
func (p replaying) grant(command string, d sandbox.Denial) string {
	key := sandbox.Denial{Kind: d.Kind, Target: d.Target}
	if d.Kind == sandbox.KindNetwork {
		key.Target = named.WithPort(command, d.Target) // a command may name the port
	}
	name := string(key.Kind) + " " + key.Target
	what, ok := p.grants[name]
	if ok {
		return what
	}
	w, refusal := p.now.heldWant(p.base, Action{Command: command}, key)
	if refusal == nil && !w.empty() && w.blocked == "" &&
		opens(p.wide.opened(p.base, w.grant, false), w.grant) && !opens(p.now.opened(p.base, w.grant, false), w.grant) {
		what = grantWords(w.grant)
	}
	p.grants[name] = what
	return what
}
