package approvals

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// Ledger lists what is open beyond the policy: the answers of the session, the settings and the
// rules. It is safe for concurrent use, and is not saved.
type Ledger struct {
	now      func() time.Time
	settings func() []ledger.Setting
	changed  func([]ledger.Entry)
	// state is what a decision depends on now, and open the same without what may block.
	state, open func() state
	rules       atomic.Pointer[rules.Set]
	// changing is held from the change of a rules file until the new rules apply. Otherwise a rule
	// that is removed meanwhile could come back.
	changing sync.Mutex

	mu sync.Mutex
	// entries are the answers and the grants of an approvals file, oldest first.
	entries []answered
	last    int // the last number of an ID
	// given are the settings, loaded on first use. revoked is what was revoked of them.
	given   []ledger.Entry
	known   bool
	revoked []ledger.Entry
	// closings counts the Closings.
	closings int
	// uses counts the decisions that relied on a rule or a setting, by ID.
	uses map[string]int
	// again counts how often a command outside the sandbox was asked about again.
	again map[deed]int
}

// answered is an answer, with the fields by which it is compared.
type answered struct {
	ledger.Entry
	deed deed
	// adopted: it comes from a file, which names no program. See runs.
	adopted bool
}

// deed identifies a command across calls: what is run and where.
type deed [sha256.Size]byte

func deedOf(a Action) deed {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", a.Tool, a.Command, a.Folder, a.Argv, a.Background))
}

// List returns all that is open: settings, answers, rules; each oldest first.
func (l *Ledger) List() []ledger.Entry {
	var out []ledger.Entry
	for _, e := range l.ofSettings() {
		out = append(out, e.Clone())
	}
	for _, e := range l.answers() {
		out = append(out, e.Entry.Clone())
	}
	now := l.now()
	for _, r := range l.rules.Load().Rules() {
		if e, opens := ledger.OfRule(r); opens && r.Holds(now) {
			out = append(out, e)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range out {
		out[i].Uses += l.uses[out[i].ID]
	}
	return out
}

// ofSettings returns the settings that were not revoked. They are computed on first use.
func (l *Ledger) ofSettings() []ledger.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known && l.settings != nil {
		for _, s := range l.settings() {
			for _, e := range singly(s) {
				e.ID, e.Origin, e.Scope, e.Source = fmt.Sprintf("s%d", len(l.given)+1), ledger.FromSetting, ledger.Session, s.Source
				l.given = append(l.given, e)
			}
		}
	}
	l.known = true
	return slices.Clone(l.given)
}

// singly returns one entry for each path, host or socket that a setting opens.
func singly(s ledger.Setting) (out []ledger.Entry) {
	add := func(g sandbox.Grant) { out = append(out, ledger.Entry{Grant: g}) }
	had := sandbox.PathsOf(s.Without.Write)
	for _, p := range sandbox.PathsOf(s.With.Write) {
		if !slices.Contains(had, p) {
			add(sandbox.Grant{Write: []string{p}})
		}
	}
	for _, h := range without(s.With.Network.Hosts, s.Without.Network.Hosts) {
		add(sandbox.Grant{Hosts: []sandbox.HostPort{h}})
	}
	for _, p := range s.With.Sockets {
		if !slices.Contains(s.Without.Sockets, p) {
			add(sandbox.Grant{Sockets: []string{p}})
		}
	}
	for _, h := range s.Fetch {
		out = append(out, ledger.Entry{Fetch: []sandbox.HostPort{h}})
	}
	return out
}

// Beyond lists what a running command may access and a new command may not. It starts from the
// policy and grants of the running command, without what was revoked. The ID of an entry contains
// what it opens, so an ID is never reused for something else.
func (l *Ledger) Beyond(started sandbox.Policy, granted []sandbox.Grant, revoked []sandbox.Closing) []ledger.Entry {
	if started.Unconfined {
		return nil
	}
	for _, g := range granted {
		started = started.With(g)
	}
	for _, c := range revoked {
		started = started.Closed(c)
	}
	out := singly(ledger.Setting{With: started, Without: l.open().base()})
	for i, e := range out {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q", e.Lines(nil)))
		out[i].ID = fmt.Sprintf("%x", sum[:8])
	}
	return out
}

// answers returns the answers that apply now.
func (l *Ledger) answers() []answered {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.entries = slices.DeleteFunc(l.entries, func(e answered) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) })
	return slices.Clone(l.entries)
}

func (l *Ledger) add(e answered) {
	defer l.tell()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.ID, e.Made = fmt.Sprintf("g%d", l.last), l.now()
	if e.Scope == "" {
		e.Scope = ledger.Session
	}
	l.entries = append(l.entries, e)
}

// tell passes the current answers to Options.Changed.
func (l *Ledger) tell() {
	if l.changed == nil {
		return
	}
	out := []ledger.Entry{}
	for _, e := range l.answers() {
		out = append(out, e.Entry.Clone())
	}
	l.changed(out)
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
		hosts = without(hosts, e.Fetch)
	}
	return slices.Clone(hosts)
}

// askedAgain counts a question that is asked again, and reasked returns the count.
func (l *Ledger) askedAgain(a Action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again == nil {
		l.again = map[deed]int{}
	}
	l.again[deedOf(a)]++
}

func (l *Ledger) reasked(a Action) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.again[deedOf(a)]
}

// used counts a decision for each entry that it relied on.
func (l *Ledger) used(relied func(answered) bool) {
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
func (l *Ledger) relied(s state, g sandbox.Grant, server string) {
	l.used(func(e answered) bool { return e.Server == server && covered(e.Entry, g) })
	if server == "" {
		l.countRules(s, g)
	}
}

// usedRule counts a decision that relied on a rule.
func (l *Ledger) usedRule(r *rules.Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses == nil {
		l.uses = map[string]int{}
	}
	l.uses[ledger.RuleID(r)]++
}

// count records which entries a decision about a relied on. It only counts; it changes no decision.
func (l *Ledger) count(s state, a Action, did decision) {
	if by := did.by; by.decision == rules.Allow && by.rule != nil {
		l.usedRule(by.rule)
	}
	if a.calls() {
		l.used(func(e answered) bool { return e.covers(*a.Server) })
		return
	}
	d := deedOf(a)
	var wanted sandbox.Grant
	if !a.Wish.Empty() || a.Kind == word.KindEdit {
		// What the policy alone allows is not counted for an answer.
		base := s.start()
		if a.Kind == word.KindFetch {
			base = base.With(sandbox.Grant{Hosts: s.fetch})
		}
		if w, _, refusal := s.wanted(base, a); refusal == nil {
			wanted = w.grant
		}
	}
	l.used(func(e answered) bool {
		return e.Folder != "" && (e.deed == d || e.runs(a)) || covered(e.Entry, wanted) ||
			slices.ContainsFunc(did.edits, func(p string) bool {
				return slices.Contains(e.Paths, p) || e.AllEdits != "" && sandbox.Covers(e.AllEdits, p)
			})
	})
	l.countRules(s, wanted)
}

// countRules counts the rules for paths and hosts that open a part of wanted.
func (l *Ledger) countRules(s state, wanted sandbox.Grant) {
	if wanted.Empty() {
		return
	}
	for _, r := range s.rules.Rules() {
		e := ledger.Entry{}
		switch {
		case len(r.Hosts) > 0:
			e.Grant.Hosts = r.Hosts
		case r.Access == rules.Write:
			e.Grant.Write, e.Grant.Read = r.Paths, r.Paths
		case r.Access == rules.Read:
			e.Grant.Read = r.Paths
		}
		if covered(e, wanted) && r.Holds(s.now) {
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
		slices.ContainsFunc(wanted.Hosts, func(h sandbox.HostPort) bool { return slices.Contains(e.Grant.Hosts, h) || slices.Contains(e.Fetch, h) })
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
	l.entries = slices.DeleteFunc(l.entries, func(e answered) bool {
		if e.ID != id || found {
			return false
		}
		out.Entry, found = e.Entry, true
		return true
	})
	l.given = slices.DeleteFunc(l.given, func(e ledger.Entry) bool {
		if e.ID != id || found {
			return false
		}
		out.Entry, found = e, true
		l.revoked = append(l.revoked, e)
		return true
	})
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
	out.Closed, out.Still = l.open().split(out.Entry.Grant)
	out.Closed.Unsandboxed = out.Entry.Outside
	return out, true
}

// Closing returns what running commands lose when g is revoked. They keep what is still open to new
// commands or by a rule.
func (l *Ledger) Closing(g sandbox.Grant) sandbox.Closing {
	s := l.open()
	open := s.base()
	for _, r := range s.rules.Rules() {
		if r.Holds(s.now) {
			open = open.With(s.at.standing(ruleGrant(r)))
		}
	}
	return l.closing(open, g)
}

func (l *Ledger) closing(open sandbox.Policy, g sandbox.Grant) sandbox.Closing {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closings++
	return sandbox.Closing{Grant: g, Open: open, Number: l.closings}
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
	set = l.open().at.rulesHere(set)
	old := l.rules.Swap(set)
	for _, r := range old.Rules() {
		if slices.ContainsFunc(set.Rules(), func(n *rules.Rule) bool { return ledger.RuleID(n) == ledger.RuleID(r) }) {
			continue
		}
		lost, _ := l.open().split(ruleGrant(r))
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
	return rules.Join(list).In(l.open().at.workspace, func(p string) string { return p }).Rules()
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
func (s state) split(gr sandbox.Grant) (closed, still sandbox.Grant) {
	base := s.base()
	opened := s.opened(base, gr, false)
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
