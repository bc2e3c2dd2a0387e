package approvals

// testdata/gate.txt is the decision table: what is decided about each combination of approval
// policy, sandbox, kind, wish, evidence, rule and earlier answer. Its test plays every line. In
// short:
//
//	What a rule forbids, or nobody can grant, is refused under every policy.
//	untrusted  asks about everything but reads, plans, pages of named hosts, commands in the
//	           sandbox that are known only to read or that a rule allows, and tools of MCP servers
//	           that a rule allows.
//	on-request asks about what the sandbox does not allow, about tools of MCP servers that do not
//	           claim to only read, and where a rule asks; all else runs.
//	           Where calls are held, a command that failed for what the kernel refused it is
//	           asked about once, with all that it lacked.
//	on-failure does the same, and asks after a command that the sandbox denied something: for
//	           exactly what was denied if the kernel said so, else whether it may run outside.
//	granular   is on-request, and refuses the questions about what granular.refuse lists.
//	never      is on-request, and refuses every question.
//
// A yes for the session ends the questions about what it granted. A yes is checked against the
// question that the gate has stored, not against the copy that was shown.

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/approvals/ask"
	"codeagent/approvals/content"
	"codeagent/approvals/decide"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// Options is what a Gate needs to judge.
type Options struct {
	// Mode is the approval policy at the start; empty means OnRequest.
	Mode Mode
	// Refuse lists the topics of questions that Granular refuses: "escalation", "network", "edit",
	// "fetch", "input", "mcp".
	Refuse []string
	// Base is what an action may access without any answer.
	Base  sandbox.Policy
	Files sandbox.FileSystem
	// Home and Workspace are absolute. Home may be empty: then "~" is refused.
	Home, Workspace string
	// NewID returns a new name for a question, each name once. Nil: questions are numbered.
	NewID func() string
	// GrantsHosts and GrantsSockets say whether the backend can grant single hosts and path
	// sockets. If not, such a wish can only be granted by running outside the sandbox, and
	// the question says so.
	GrantsHosts, GrantsSockets bool
	// Trusted protects in Base from what git takes programs and settings. It may block; nil:
	// nothing.
	Trusted func(sandbox.Policy) sandbox.Policy
	// Path is where programs are looked up.
	Path []string
	// MadeGit lists the git directories that commands of the session made; nil: none is
	// known.
	MadeGit func() []string
	// Content reads file hashes and lists what the session changed. Nil: both are unknown.
	Content content.Source
	// Rules are the rules at the start, including those of other projects. Nil means no rules. Now
	// returns the time. Nil means time.Now.
	Rules *rules.Set
	// Save appends rules to the user's file, and returns all rules that the file then has. Nil: Always
	// is not offered.
	Save func(text string) ([]*rules.Rule, error)
	// Refresh is called before each decision; it may drop rules (Ledger.DropRules). Nil: nothing.
	Refresh func()
	Now     func() time.Time
	// Fetch is what fetches may reach without an answer, in addition to Base.
	Fetch []sandbox.HostPort
	// Settings lists the settings that open something in Base and Fetch, for the ledger. It may be
	// nil.
	Settings func() []ledger.Setting
	// Changed is called with the current answers after one was added or revoked. It may be nil.
	Changed func([]ledger.Entry)
	// Reasons: a command's request without a valid reason is returned to the model once.
	Reasons bool
	// Hint is the hint of every refusal, where flags of codeagent exec would not help the person;
	// "" means those flags.
	Hint string
	// Managed is decide.Limits.Managed. Decides returns an error if root's settings do not allow a value of a setting;
	// nil allows all.
	Managed func(g sandbox.Grant, fetch bool) string
	Decides func(setting, value string) error
	// Careless: losses that undo cannot reverse need no approval (the setting undo.unkept).
	Careless bool
	// Backend is the name of the session's backend.
	Backend string
}

// Gate decides. It is safe for concurrent use.
type Gate struct {
	opts   *Options
	ledger *Ledger
	*modes
	*limiter
	*asker
	*starter
	open *questions
	// shutPorts are the ports about which a person said no.
	shutPorts *sync.Map
	// helper is the helper that this view of the gate judges; nil: the model itself.
	helper *Helper
}

// questions are the open questions.
type questions struct {
	mu   sync.Mutex
	byID map[string]openQuestion // guarded by mu
}

// openQuestion is an open question.
type openQuestion struct {
	Request
	// bound is what a yes is bound to beside words, and names what the decision looked at.
	bound *content.Binding
	names []string
	// mode is the approval policy under which the question was asked.
	mode Mode
	// wants: the action wants more than the sandbox allows, or a rule asks. about lists the topics.
	wants bool
	about decide.Topics
	// edits are the state of the files of an edit when the question was asked.
	edits []string
	// asks are the reasons of hooks, and again counts how often the question was asked again because
	// something changed before the action started.
	asks  []string
	again int
	// port is the port that is to be published, or 0.
	port uint16
	// given is what the action was granted in its earlier runs. It keeps that.
	given []sandbox.Grant
	// answers returns the policy of the action if it would run in a state without being asked about.
	answers func(decide.State) (sandbox.Policy, bool)
}

// NewGate returns a gate with an empty ledger.
func NewGate(o Options) *Gate {
	if o.Mode == "" {
		o.Mode = OnRequest
	}
	o.Base = o.Base.Clone()
	if o.NewID == nil {
		var count atomic.Int64
		o.NewID = func() string { return fmt.Sprintf("question-%d", count.Add(1)) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Decides == nil {
		o.Decides = func(string, string) error { return nil }
	}
	g := &Gate{
		opts: &o, modes: &modes{decides: o.Decides, now: decide.Consent{Mode: o.Mode, Refuse: decide.TopicsOf(o.Refuse)}}, limiter: &limiter{unconfined: o.Base.Unconfined, limits: decide.Limits{Managed: o.Managed}},
		asker: &asker{reasons: o.Reasons}, starter: &starter{}, shutPorts: &sync.Map{}, open: &questions{},
	}
	g.ledger = &Ledger{opts: g.opts, limits: g.limiter, at: newPlaces(o.Files, o.Home, o.Workspace)}
	g.ledger.rules.Store(g.ledger.at.rulesHere(o.Rules))
	return g
}

// Ledger returns the ledger of what is open beyond the policy.
func (g *Gate) Ledger() *Ledger { return g.ledger }

// Base returns what every action may access now without a question: the policy and the
// session's grants.
func (g *Gate) Base() sandbox.Policy { return g.state().Base() }

// Open returns Base without the protection of Trusted: it never blocks, and allows no less.
func (g *Gate) Open() sandbox.Policy { return g.narrowed(g.ledger.state()).Base() }

// Ungranted returns the policy without any answer of the user's, and without a helper's draft: it is that of hooks.
func (g *Gate) Ungranted() sandbox.Policy {
	s := g.state()
	s.Draft = nil
	return s.Start()
}

// Own is Base for the user's own commands. Rules for the model do not apply to them.
func (g *Gate) Own() sandbox.Policy {
	s := g.state()
	if g.helper != nil {
		return s.Base()
	}
	return s.Granted(s.Policy, "")
}

// state collects what a decision about names depends on now.
func (g *Gate) state(names ...string) decide.State {
	s := g.narrowed(g.ledger.state(names...))
	s.Consent = g.consent()
	if g.opts.Trusted != nil {
		s.Policy = g.opts.Trusted(s.Policy)
	}
	return s
}

// Decide returns exactly one of a permit, a question to ask, or a *Refusal. asks are the reasons why
// hooks of the user's want a question: with one it returns no permit.
func (g *Gate) Decide(a Action, asks ...string) (Permit, *Request, error) {
	if g.opts.Refresh != nil {
		g.opts.Refresh()
	}
	return g.decide(a, asks, 0, nil)
}

// decide is Decide for a question that was asked again already, and why it is asked again.
func (g *Gate) decide(a Action, asks []string, again int, why []string) (Permit, *Request, error) {
	names := g.ledger.at.names(a)
	s := g.state(names...)
	seen, bound := g.look(s, a, leaves(s, a))
	d := s.Decide(a, asks, seen)
	switch {
	case d.Refusal != nil:
		return Permit{}, nil, refused(d.Refusal)
	case d.Runs && len(why) == 0:
		g.ledger.count(s, a, d)
		p := mint(a, d.Policy)
		if seen.Answered && d.Policy.Unconfined {
			p.check = g.recheck(openQuestion{Request: Request{Action: a, Widest: true}, bound: &bound, asks: asks})
		}
		return p, nil, nil
	}
	r := ask.Decided(s, a, d, seen)
	r.ID, r.Title = g.opts.NewID(), g.named(r.Title)
	if d.Reason != "" {
		return Permit{}, nil, &Refusal{Reason: d.Reason, Hint: remedy(g, g.hintFor(r)), Request: &r}
	}
	r.GrantOnly = d.GrantOnly
	r.Warnings = slices.Concat(why, d.News, r.Warnings)
	if d.By.Decision == rules.Ask {
		r.Warnings = append(r.Warnings, "the rule at "+d.By.Place+" asks about this")
	}
	if len(asks) > 0 {
		r.Warnings = append(r.Warnings, "asked by the "+strings.Join(asks, "; "))
		if r.Grant.Empty() { // the hook asks again about the next call, whatever is answered now
			r.Options = slices.DeleteFunc(r.Options, func(o Option) bool { return o.Decision.Lasts() })
		}
	}
	if refusal := g.unasked(&r, a, d.Want, s.Limits); refusal != nil {
		return Permit{}, nil, refusal
	}
	if len(d.News)+len(why) > 0 {
		g.ledger.askedAgain(a)
	}
	q := openQuestion{Request: r, names: names, mode: s.Mode, wants: d.Wants(), about: d.About, edits: d.Edits, asks: asks, again: again}
	if r.Widest {
		q.bound = &bound
	}
	q.answers = func(s decide.State) (sandbox.Policy, bool) {
		d := s.Decide(a, asks, seen)
		return d.Policy, d.Runs
	}
	return Permit{}, g.put(q), nil
}

// BackendOf returns the backend that rules choose for a command with that wish; "" is that of the session, or none. The
// error is a *Refusal.
func (g *Gate) BackendOf(command string, w Wish) (string, error) {
	if g.opts.Refresh != nil {
		g.opts.Refresh()
	}
	s := decide.State{Rules: g.ledger.rulesNow(), Unconfined: g.opts.Base.Unconfined, Backend: g.opts.Backend}
	name, refusal := s.BackendBy(s.Rules.Command(command), w)
	if refusal != nil {
		return "", refused(refusal)
	}
	return name, nil
}

// Foresee returns the policy under which a would run now. ok is false if a question or a refusal would come first, or a
// would run without a sandbox. Nothing is asked, counted or granted.
func (g *Gate) Foresee(a Action) (p sandbox.Policy, ok bool) {
	d := g.state(g.ledger.at.names(a)...).Decide(a, nil, decide.Sight{})
	return d.Policy, d.Refusal == nil && d.Runs && !d.Policy.Unconfined
}

// AfterDenial returns the question to ask after the sandbox denied something to a, according to v:
// may it run again with everything that it lacked? It returns nil if there is nothing to ask. held
// are the answers of the run if its calls were held. Then every mode that holds calls asks, if the
// kernel recorded what was lacking, and the next run keeps what was granted in this one. If
// held is nil, only on-failure asks. Where all of it was granted while the command ran, Ruled answers the question: a yes
// "once" holds while the same command is repeated.
func (g *Gate) AfterDenial(a Action, v sandbox.Verdict, held *HeldAnswers) *Request {
	wish, q := suggested(a, v.Suggest), openQuestion{wants: true}
	if held != nil {
		q.given = held.Given
	}
	q.names = g.ledger.at.names(Action{Folder: a.Folder, Wish: wish})
	for _, p := range wish.Write {
		q.names = append(q.names, path.Dir(p), g.ledger.at.seen.Tree(a, p, q.given))
	}
	for _, gr := range q.given {
		q.names = append(q.names, paths(gr)...)
	}
	s := g.state(q.names...)
	base, policy := q.keeping(s, s.BaseOf(a)), s.Consent
	known := v.Evidence != sandbox.EvidenceOutputOnly && !v.Suggest.Empty() && !v.Suggest.Unsandboxed
	if policy.Mode != OnFailure && !(held != nil && known && policy.Mode.Holds()) || !v.Denied || !a.Confined() || base.Unconfined {
		return nil
	}
	if slices.ContainsFunc(v.Denials, isLoss) {
		return nil // the change is lost outside the sandbox too
	}
	w := decide.Want{Unsandboxed: true}
	if v.Evidence != sandbox.EvidenceOutputOnly && !v.Suggest.Empty() { // words in the output alone must not propose a grant
		var refusal *decide.Refusal
		if w, refusal = s.Siblings(base, a, wish, q.given); refusal != nil || w.Empty() && (held == nil || !held.News || a.Kind != word.KindCommand) {
			return nil
		}
	}
	if a.Kind == word.KindServer && (w.Unsandboxed || w.Blocked != "") {
		return nil // a server does not leave the sandbox
	}
	if s.TooWide(a.Kind, w) != nil || g.repeats(a, w) != nil || policy.Refuses(decide.About(a.Kind, w)) {
		return nil
	}
	seen, bound := g.look(s, a, w.Leaves())
	q.Request, q.mode, q.about = ask.Rerun(s, a, w, seen, v.Denials), policy.Mode, decide.About(a.Kind, w)
	q.ID = g.opts.NewID()
	q.answers = func(s decide.State) (sandbox.Policy, bool) {
		base := s.BaseOf(a)
		yes := a.Kind == word.KindCommand && s.Opened(base, w.Grant, false).Covers(w.Grant) && s.Places.Standing(w.Grant).Covers(w.Grant)
		return q.keeping(s, base.With(w.Grant)), yes
	}
	if q.Widest {
		q.bound = &bound
	}
	return g.put(q)
}

// keeping adds to p what the action was granted in its earlier runs.
func (q openQuestion) keeping(s decide.State, p sandbox.Policy) sandbox.Policy {
	for _, gr := range q.given {
		p = p.With(s.Places.Standing(gr))
	}
	return p
}

// under is the policy of the action with grant.
func (q openQuestion) under(s decide.State, grant sandbox.Grant) sandbox.Policy {
	return q.keeping(s, s.BaseOf(q.Action).With(grant))
}

// Preview returns the policy under which the action of an open question would run after a yes. ok is false unless
// it is a command that asks to write in folders alone, which a draft can cover, and runs then.
func (g *Gate) Preview(r *Request) (p sandbox.Policy, ok bool) {
	g.open.mu.Lock()
	q, ok := g.open.byID[r.ID]
	g.open.mu.Unlock()
	a, w := q.Action, q.Grant
	if !ok || q.Held || a.Kind != word.KindCommand || a.Background || w.Unsandboxed || len(w.Write) == 0 || len(w.Hosts)+len(w.Sockets) > 0 {
		return p, false
	}
	for _, folder := range w.Write {
		if mode, err := g.opts.Files.Lstat(folder); err != nil || !mode.IsDir() {
			return p, false
		}
	}
	p = q.under(g.state(q.names...), w)
	return p, !p.Unconfined
}

// put stores q as asked, and returns a deep copy of its request.
func (o *questions) put(q openQuestion) *Request {
	q.Options = ask.Numbered(q.Options)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = map[string]openQuestion{}
	}
	r := q.Request
	o.byID[r.ID] = q
	r.Action, r.Grant = r.Action.Clone(), r.Grant.Clone()
	r.Options, r.Withheld = slices.Clone(r.Options), slices.Clone(r.Withheld)
	r.Warnings, r.Denials = slices.Clone(r.Warnings), slices.Clone(r.Denials)
	if r.Lasting != nil {
		lasting := *r.Lasting
		r.Lasting = &lasting
	}
	return &r
}

// take removes the question and returns it: each is settled at most once.
func (o *questions) take(id string) (openQuestion, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q, ok := o.byID[id]
	delete(o.byID, id)
	return q, ok
}

// Grantable reports whether a backend can grant a single host and a single socket: it asks
// for the enforcement of a policy with such a grant, and runs nothing.
func Grantable(enforcement func(sandbox.Policy) (sandbox.Enforcement, error)) (hosts, sockets bool) {
	opens := func(g sandbox.Grant) bool {
		_, err := enforcement(sandbox.ReadOnly().With(g))
		return err == nil
	}
	return opens(sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "localhost", Port: 1}}}), opens(sandbox.Grant{Sockets: []string{"/run/socket"}})
}
