package approvals

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"codeagent/approvals/decide"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// Ledger is what is open: the policy of the settings, the limits on it, the answers of the session and
// the rules. It is safe for concurrent use, and is not saved.
type Ledger struct {
	opts   *Options
	at     places
	limits *limiter
	rules  atomic.Pointer[rules.Set]
	// changing is held from the change of a rules file until the new rules apply. Otherwise a rule
	// that is removed meanwhile could come back.
	changing sync.Mutex

	mu sync.Mutex
	// entries are the answers and the grants of an approvals file, oldest first.
	entries []ledger.Entry
	last    int // the last number of an ID
	// given are the settings, loaded on first use. revoked is what was revoked of them.
	given   []ledger.Entry
	known   bool
	revoked []ledger.Entry
	// closings counts the Closings.
	closings int
	// uses counts the decisions that relied on a rule or a setting, by ID.
	uses map[string]int
	// traffic is that of the entries, by ID.
	traffic map[string]sandbox.Traffic
	// again counts how often a command outside the sandbox was asked about again.
	again map[ledger.CommandID]int
}

// state is what a decision depends on now, beside the approval policy. It saw where the answers' paths
// lead, where names do, and the rules that cover them.
func (l *Ledger) state(names ...string) decide.State {
	s := decide.State{Revision: l.revision()} // before the answers are read
	s.GrantsHosts, s.GrantsSockets, s.Careless, s.Path = l.opts.GrantsHosts, l.opts.GrantsSockets, l.opts.Careless, l.opts.Path
	s.Unconfined, s.Limits, s.Backend = l.opts.Base.Unconfined, l.limits.limited(), l.opts.Backend
	s.Answers, s.Rules = l.answers(), l.rulesNow()
	s.Policy, s.Fetch = l.narrowed(l.opts.Base.Clone()), l.fetches(l.opts.Fetch)
	for _, e := range s.Answers {
		names = append(names, paths(e.Grant)...)
	}
	s.Places = l.at.look(s.Rules, names)
	return s
}

// rulesNow are the rules that have not expired.
func (l *Ledger) rulesNow() *rules.Set { return l.rules.Load().At(l.opts.Now()) }

// paths are the paths of a grant.
func paths(g sandbox.Grant) []string { return slices.Concat(g.Write, g.Read, g.Sockets) }

// List returns all that is open: settings, answers, rules; each oldest first.
func (l *Ledger) List() []ledger.Entry {
	var out []ledger.Entry
	for _, e := range l.ofSettings() {
		out = append(out, e.Clone())
	}
	for _, e := range l.answers() {
		out = append(out, e.Clone())
	}
	for _, r := range l.rules.Load().At(l.opts.Now()).Rules() {
		if e, opens := ledger.OfRule(r); opens {
			out = append(out, e)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range out {
		out[i].Uses += l.uses[out[i].ID]
		out[i].Traffic = l.traffic[out[i].ID]
	}
	return out
}

// Connected counts connections of a command, or of an MCP server, for each entry that opens them.
func (l *Ledger) Connected(server string, list sandbox.Connections) {
	hosts := map[string][]sandbox.HostPort{}
	for _, e := range slices.Concat(l.ofSettings(), l.answers()) {
		if e.Server == server {
			hosts[e.ID] = e.Grant.Hosts
		}
	}
	for _, r := range l.rules.Load().At(l.opts.Now()).Rules() {
		if server == "" && r.Decision == rules.Allow {
			hosts[ledger.RuleID(r)] = ruleGrant(r).Hosts
		}
	}
	if l.addTraffic(hosts, list) {
		l.tell()
	}
}

// addTraffic adds the connections for the hosts of each ID. It reports whether there were any.
func (l *Ledger) addTraffic(hosts map[string][]sandbox.HostPort, list sandbox.Connections) (added bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.traffic == nil {
		l.traffic = map[string]sandbox.Traffic{}
	}
	for _, c := range list.List {
		for id, open := range hosts {
			if c.Verdict == sandbox.ConnectionAllowed && c.Names(open) {
				t := l.traffic[id]
				t.Add(c.Traffic)
				l.traffic[id], added = t, true
			}
		}
	}
	return added
}

// ofSettings returns the settings that were not revoked. They are computed on first use.
func (l *Ledger) ofSettings() []ledger.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known && l.opts.Settings != nil {
		for _, s := range l.opts.Settings() {
			for _, e := range s.Entries() {
				e.ID, e.Origin, e.Scope, e.Source = fmt.Sprintf("s%d", len(l.given)+1), ledger.FromSetting, ledger.Session, s.Source
				l.given = append(l.given, e)
			}
		}
	}
	l.known = true
	return slices.Clone(l.given)
}

// Beyond lists what a running command may access and a new command may not. It starts from the
// policy and grants of the running command, without what was revoked. The ID of an entry contains
// what it opens, so an ID is never reused for something else.
func (l *Ledger) Beyond(started sandbox.Policy, granted []sandbox.Grant, revoked []sandbox.Revocation) []ledger.Entry {
	if started.Unconfined {
		return nil
	}
	for _, g := range granted {
		started = started.With(g)
	}
	for _, c := range revoked {
		started = started.Closed(c)
	}
	out := ledger.Setting{With: started, Without: l.state().Base()}.Entries()
	for i, e := range out {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q", e.Lines(nil)))
		out[i].ID = fmt.Sprintf("%x", sum[:8])
	}
	return out
}

// answers returns the answers that apply now.
func (l *Ledger) answers() []ledger.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.Now()
	l.entries = slices.DeleteFunc(l.entries, func(e ledger.Entry) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) })
	return slices.Clone(l.entries)
}

func (l *Ledger) add(e ledger.Entry) {
	defer l.tell()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.ID, e.Made = fmt.Sprintf("g%d", l.last), l.opts.Now()
	if e.Scope == "" {
		e.Scope = ledger.Session
	}
	l.entries = append(l.entries, e)
}

// forget removes the answer to a question.
func (l *Ledger) forget(question string) {
	defer l.tell()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e ledger.Entry) bool { return e.Origin == ledger.Question && e.Source == question })
}

// tell passes the current answers to Options.Changed.
func (l *Ledger) tell() {
	if l.opts.Changed == nil {
		return
	}
	out := []ledger.Entry{}
	for _, e := range l.answers() {
		l.mu.Lock()
		e.Traffic = l.traffic[e.ID]
		l.mu.Unlock()
		out = append(out, e.Clone())
	}
	l.opts.Changed(out)
}

// narrowed returns the policy of the settings without what was revoked.
func (l *Ledger) narrowed(p sandbox.Policy) sandbox.Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.revoked {
		p = p.Without(e.Grant)
	}
	return p
}

// fetches returns hosts without those that were revoked.
func (l *Ledger) fetches(hosts []sandbox.HostPort) []sandbox.HostPort {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.revoked {
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h sandbox.HostPort) bool { return slices.Contains(e.Fetch, h) })
	}
	return hosts
}

// askedAgain counts a question that is asked again, and reasked returns the count.
func (l *Ledger) askedAgain(a Action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again == nil {
		l.again = map[ledger.CommandID]int{}
	}
	l.again[decide.CommandIDOf(a)]++
}

func (l *Ledger) reasked(a Action) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.again[decide.CommandIDOf(a)]
}

// used counts a decision for each entry that it relied on.
func (l *Ledger) used(relied func(ledger.Entry) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.entries {
		if relied(l.entries[i]) {
			l.entries[i].Uses++
		}
	}
}

// relied counts a decision about a held call of a command, or of an MCP server, for the entries that
// open the grant.
func (l *Ledger) relied(s decide.State, g sandbox.Grant, server string) {
	l.used(func(e ledger.Entry) bool { return e.Server == server && covered(e, g) })
	if server == "" {
		l.countRules(s, g)
	}
}

// usedRule counts a decision that relied on a rule.
func (l *Ledger) usedRule(r *rules.Rule) { l.usedID(ledger.RuleID(r)) }

// usedID is usedRule for the ID of a rule or a setting.
func (l *Ledger) usedID(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses == nil {
		l.uses = map[string]int{}
	}
	l.uses[id]++
}

// count records which entries a decision about a relied on. It only counts; it changes no decision.
func (l *Ledger) count(s decide.State, a Action, did decide.Decision) {
	if by := did.By; by.Decision == rules.Allow && by.Rule != nil {
		l.usedRule(by.Rule)
	}
	if a.Calls() {
		l.used(func(e ledger.Entry) bool { return a.Server.Covered(e) })
		return
	}
	var wanted sandbox.Grant
	if !a.Wish.Empty() || a.Kind == word.KindEdit {
		// What the policy alone allows is not counted for an answer.
		base := s.Start()
		if a.Kind == word.KindFetch {
			base = base.With(sandbox.Grant{Hosts: s.Fetch})
		}
		if w, _, refusal := s.Wanted(base, a); refusal == nil {
			wanted = w.Grant
		}
	}
	l.used(func(e ledger.Entry) bool {
		return decide.Answers(e, a) || covered(e, wanted) ||
			slices.ContainsFunc(did.Edits, func(p string) bool {
				return slices.Contains(e.Paths, p) || e.AllEdits != "" && sandbox.Covers(e.AllEdits, p)
			})
	})
	l.countRules(s, wanted)
}

// countRules counts the rules for paths and hosts that open a part of wanted.
func (l *Ledger) countRules(s decide.State, wanted sandbox.Grant) {
	if wanted.Empty() {
		return
	}
	for _, r := range s.Rules.Rules() {
		e := ledger.Entry{}
		switch {
		case len(r.Hosts) > 0:
			e.Grant.Hosts = r.Hosts
		case r.Access == rules.Write:
			e.Grant.Write, e.Grant.Read = r.Paths, r.Paths
		case r.Access == rules.Read:
			e.Grant.Read = r.Paths
		}
		if covered(e, wanted) {
			l.usedRule(r)
		}
	}
}

// covered reports whether e opens any part of wanted.
func covered(e ledger.Entry, wanted sandbox.Grant) bool {
	any := func(roots, paths []string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return sandbox.CoveredBy(roots, p) })
	}
	return any(e.Grant.Write, wanted.Write) || any(e.Grant.Read, wanted.Read) || any(e.Grant.Sockets, wanted.Sockets) ||
		slices.ContainsFunc(wanted.Hosts, func(h sandbox.HostPort) bool { return sandbox.Allowed(e.Grant.Hosts, h) || sandbox.Allowed(e.Fetch, h) })
}

// revocation is the result of a revocation.
type revocation struct {
	Entry ledger.Entry
	// Closed is what nothing opens any more. Running commands lose it as far as the kernel allows.
	// Still is the part that another entry or setting keeps open.
	Closed, Still sandbox.Grant
}

// Revoke ends an answer or a setting. It applies from the next decision on; for a setting, until
// the session ends. It returns false for other IDs. A rule must be removed from its file instead
// (SetRules).
func (l *Ledger) Revoke(id string) (revocation, bool) {
	l.ofSettings()
	l.mu.Lock()
	var out revocation
	found := false
	for _, list := range []*[]ledger.Entry{&l.entries, &l.given} {
		i := slices.IndexFunc(*list, func(e ledger.Entry) bool { return e.ID == id })
		if found = i >= 0; found {
			out.Entry = (*list)[i]
			*list = slices.Delete(*list, i, i+1)
			if list == &l.given {
				l.revoked = append(l.revoked, out.Entry)
			}
			break
		}
	}
	out.Entry.Uses += l.uses[id]
	l.mu.Unlock()
	if !found {
		return revocation{}, false
	}
	l.tell()
	if out.Entry.Server != "" { // Lapsed compares it with the server's policy
		out.Closed = out.Entry.Grant
		return out, true
	}
	out.Closed, out.Still = split(l.state(paths(out.Entry.Grant)...), out.Entry.Grant)
	out.Closed.Unsandboxed = out.Entry.Outside
	return out, true
}

// Closing returns what running commands lose when g is revoked. They keep what is still open to new
// commands or by a rule.
func (l *Ledger) Closing(g sandbox.Grant) sandbox.Revocation {
	var ruled sandbox.Grant
	for _, r := range l.rules.Load().At(l.opts.Now()).Rules() {
		gr := ruleGrant(r)
		ruled.Write, ruled.Read, ruled.Hosts = append(ruled.Write, gr.Write...), append(ruled.Read, gr.Read...), append(ruled.Hosts, gr.Hosts...)
	}
	s := l.state(paths(ruled)...)
	open := s.Base().With(s.Places.Standing(ruled))
	return l.closing(open, g)
}

func (l *Ledger) closing(open sandbox.Policy, g sandbox.Grant) sandbox.Revocation {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closings++
	return sandbox.Revocation{Grant: g, Open: open, Number: l.closings}
}

func (l *Ledger) revision() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closings
}

// ruleGrant is the grant of a rule for paths or hosts.
func ruleGrant(r *rules.Rule) (out sandbox.Grant) {
	switch r.Access {
	case "":
		out.Hosts = r.Hosts
	case rules.Write:
		out.Write = r.Paths
	case rules.Read:
		out.Read = r.Paths
	}
	return out
}

// SetRules replaces the rules by those of set that apply to the workspace. It returns the paths and
// hosts that only the old rules opened.
func (l *Ledger) SetRules(set *rules.Set) (closed sandbox.Grant) {
	set = l.at.rulesHere(set)
	old := l.rules.Swap(set)
	for _, r := range old.Rules() {
		if slices.ContainsFunc(set.Rules(), func(n *rules.Rule) bool { return ledger.RuleID(n) == ledger.RuleID(r) }) {
			continue
		}
		lost, _ := split(l.state(paths(ruleGrant(r))...), ruleGrant(r))
		closed.Write, closed.Read, closed.Hosts = append(closed.Write, lost.Write...), append(closed.Read, lost.Read...), append(closed.Hosts, lost.Hosts...)
	}
	return closed
}

// ReplaceRules is SetRules for the rules of one file; the rules of other files stay. Rules of list
// for other projects are ignored.
func (l *Ledger) ReplaceRules(file string, list []*rules.Rule) (closed sandbox.Grant) {
	others := slices.DeleteFunc(slices.Clone(l.rules.Load().Rules()), func(r *rules.Rule) bool { return r.File == file })
	return l.SetRules(rules.Join(l.here(list), others))
}

// here returns the rules that apply to the workspace. The project of a rule must lead there without
// a link.
func (l *Ledger) here(list []*rules.Rule) []*rules.Rule {
	return rules.Join(list).In(l.at.seen.Workspace, func(p string) string { return p }).Rules()
}

// DropRules calls remove, which removes rules from one file and returns the remaining ones, and
// then SetRules. It never adds an allow rule.
func (l *Ledger) DropRules(file string, remove func() ([]*rules.Rule, error)) (closed sandbox.Grant, err error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	left, err := remove()
	if err != nil {
		return closed, err
	}
	now := l.rules.Load().Rules()
	had := func(r *rules.Rule) bool {
		return slices.ContainsFunc(now, func(o *rules.Rule) bool { return o.File == file && ledger.RuleID(o) == ledger.RuleID(r) })
	}
	left = slices.DeleteFunc(slices.Clone(left), func(r *rules.Rule) bool { return !r.Decision.Stricter(rules.None) && !had(r) })
	others := slices.DeleteFunc(slices.Clone(now), func(r *rules.Rule) bool { return r.File == file })
	return l.SetRules(rules.Join(left, others)), nil
}

// split divides a revoked grant into what is closed now and what is still open.
func split(s decide.State, gr sandbox.Grant) (closed, still sandbox.Grant) {
	base := s.Base()
	opened := s.Opened(base, gr, false)
	part := func(paths, ruled []string, open func(string) bool, closed, still *[]string) {
		for _, p := range paths {
			if open(p) || slices.Contains(ruled, p) {
				*still = append(*still, p)
			} else {
				*closed = append(*closed, p)
			}
		}
	}
	part(gr.Write, opened.Write, func(p string) bool { return base.JudgeWrite(p).Allowed }, &closed.Write, &still.Write)
	part(gr.Read, opened.Read, func(p string) bool { return base.JudgeRead(p).Allowed }, &closed.Read, &still.Read)
	part(gr.Sockets, nil, func(p string) bool { return slices.Contains(base.Sockets, p) }, &closed.Sockets, &still.Sockets)
	for _, h := range gr.Hosts {
		if base.JudgeHost(h).Allowed || slices.Contains(opened.Hosts, h) {
			still.Hosts = append(still.Hosts, h)
		} else {
			closed.Hosts = append(closed.Hosts, h)
		}
	}
	return closed, still
}
