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
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/approvals/content"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
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
	// Past calls each with the tool calls of earlier sessions of a folder, or of all folders for "".
	// The latest call comes first. part reports that some calls were not read. Nil: no earlier calls
	// are known.
	Past func(folder string, each func(rules.Past)) (part bool)
	Now  func() time.Time
	// Fetch is what fetches may reach without an answer, in addition to Base.
	Fetch []sandbox.HostPort
	// Settings lists the settings that open something in Base and Fetch, for the ledger. It may be
	// nil.
	Settings func() []ledger.Setting
	// Changed is called with the current answers after one was added or revoked. It may be nil.
	Changed func([]ledger.Entry)
	// Reasons: a command's request without a valid reason is returned to the model once.
	Reasons bool
	// Entries counts the entries of a folder, for the known facts that questions then state: see
	// review.Evidence. Nil: they state none.
	Entries func(folder string) (n int, more, ok bool)
	// Hint is the hint of every refusal, where flags of codeagent exec would not help the person;
	// "" means those flags.
	Hint string
	// Careless: losses that undo cannot reverse need no approval (the setting undo.unkept).
	Careless bool
}

// Gate decides. It is safe for concurrent use.
type Gate struct {
	opts   Options
	at     places
	ledger Ledger
	modes
	asker
	starter
	open questions
}

// questions are the open questions.
type questions struct {
	mu   sync.Mutex
	byID map[string]asked // guarded by mu
}

// asked is an open question.
type asked struct {
	Request
	// mode is the approval policy under which the question was asked.
	mode Mode
	// wants: the action wants more than the sandbox allows, or a rule asks. about lists the topics.
	wants bool
	about topics
	// edits are the state of the files of an edit when the question was asked.
	edits []string
	// asks are the reasons of hooks, and again counts how often the question was asked again because
	// something changed while it was open.
	asks  []string
	again int
	// answers returns the policy of the action if it would run in a state without being asked about.
	answers func(state) (sandbox.Policy, bool)
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
	g := &Gate{opts: o, at: newPlaces(o.Files, o.Home, o.Workspace), modes: modes{now: consent{o.Mode, topicsOf(o.Refuse)}}, asker: asker{unconfined: o.Base.Unconfined, reasons: o.Reasons, facts: o.Entries != nil}}
	g.ledger.now, g.ledger.settings, g.ledger.changed = o.Now, o.Settings, o.Changed
	g.ledger.state, g.ledger.open = g.state, g.unprotected
	g.ledger.rules.Store(g.at.rulesHere(o.Rules))
	return g
}

// Ledger returns the ledger of what is open beyond the policy.
func (g *Gate) Ledger() *Ledger { return &g.ledger }

// Base returns what every action may access now without a question: the policy and the
// session's grants.
func (g *Gate) Base() sandbox.Policy { return g.state().base() }

// Open returns Base without the protection of Trusted: it never blocks, and allows no less.
func (g *Gate) Open() sandbox.Policy { return g.unprotected().base() }

// Own is Base for the user's own commands. Rules for the model do not apply to them.
func (g *Gate) Own() sandbox.Policy {
	s := g.state()
	return s.granted(s.policy, "")
}

// state collects what a decision depends on now.
func (g *Gate) state() state {
	s := g.unprotected()
	if g.opts.Trusted != nil {
		s.policy = g.opts.Trusted(s.policy)
	}
	return s
}

// unprotected is state without the protection of Trusted.
func (g *Gate) unprotected() state {
	s := state{revision: g.ledger.revision()} // before the answers are read
	s.now, s.at, s.path = g.opts.Now(), g.at, g.opts.Path
	s.grantsHosts, s.grantsSockets, s.careless = g.opts.GrantsHosts, g.opts.GrantsSockets, g.opts.Careless
	s.unconfined = g.opts.Base.Unconfined
	s.consent, s.limits = g.consent(), g.limited()
	s.answers, s.rules = g.ledger.answers(), g.ledger.rules.Load()
	s.policy, s.fetch = g.ledger.narrowed(g.opts.Base.Clone()), g.ledger.fetches(g.opts.Fetch)
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
	s := g.state()
	seen := g.look(s, a, s.leaves(a))
	d := s.decide(a, asks, seen)
	switch {
	case d.refusal != nil:
		return Permit{}, nil, d.refusal
	case d.runs && len(why) == 0:
		g.ledger.count(s, a, d)
		p := mint(a, d.policy)
		if seen.answered && d.policy.Unconfined {
			p.check = g.recheck(Request{Action: a, Widest: true, bound: &seen.bound})
		}
		return p, nil, nil
	}
	r := s.question(a, d, seen)
	r.ID = g.opts.NewID()
	if d.reason != "" {
		return Permit{}, nil, &Refusal{Reason: d.reason, Hint: remedy(g, g.hintFor(r)), Request: &r}
	}
	r.GrantOnly = d.grantOnly
	r.Warnings = slices.Concat(why, d.news, r.Warnings)
	if d.by.decision == rules.Ask {
		r.Warnings = append(r.Warnings, "the rule at "+d.by.place+" asks about this")
	}
	if len(asks) > 0 {
		r.Warnings = append(r.Warnings, "asked by the "+strings.Join(asks, "; "))
		if r.Grant.Empty() { // the hook asks again about the next call, whatever is answered now
			r.Options = slices.DeleteFunc(r.Options, func(o Option) bool { return o.Decision.Lasts() })
		}
	}
	if refusal := g.unasked(&r, a, d.want, s); refusal != nil {
		return Permit{}, nil, refusal
	}
	if len(d.news) > 0 {
		g.ledger.askedAgain(a)
	}
	q := asked{Request: r, mode: s.mode, wants: d.wants(), about: d.about, edits: d.edits, asks: asks, again: again}
	q.answers = func(s state) (sandbox.Policy, bool) {
		d := s.decide(a, asks, seen)
		return d.policy, d.runs
	}
	return Permit{}, g.put(s, q), nil
}

// AfterDenial returns the question to ask after the sandbox denied something to a, according to v:
// may it run again with everything that it lacked? It returns nil if there is nothing to ask. held
// are the answers of the run if its calls were held. Then every mode that holds calls asks, if the
// kernel recorded what was lacking, and the next run also gets what was granted in this one. If
// held is nil, only on-failure asks.
func (g *Gate) AfterDenial(a Action, v sandbox.Verdict, held *HeldAnswers) *Request {
	s := g.state()
	base, policy := s.baseOf(a), s.consent
	known := v.Evidence != sandbox.EvidenceOutputOnly && !v.Suggest.Empty() && !v.Suggest.Unsandboxed
	if policy.mode != OnFailure && !(held != nil && known && policy.mode.Holds()) || !v.Denied || !a.Confined() || base.Unconfined {
		return nil
	}
	if slices.ContainsFunc(v.Denials, isLoss) {
		return nil // the change is lost outside the sandbox too
	}
	w := want{unsandboxed: true}
	if v.Evidence != sandbox.EvidenceOutputOnly && !v.Suggest.Empty() { // words in the output alone must not propose a grant
		var refusal *Refusal
		wish := suggested(a, v.Suggest)
		if held != nil {
			wish.add(held.Given)
		}
		if w, refusal = s.want(base, a.Folder, wish); refusal != nil || w.empty() {
			return nil
		}
	}
	if a.Kind == word.KindServer && (w.unsandboxed || w.blocked != "") {
		return nil // a server does not leave the sandbox
	}
	if s.tooWide(w) != nil || g.repeats(a, w) != nil || policy.question(about(a.Kind, w)) == no {
		return nil
	}
	r := s.request(a, w, g.look(s, a, w.leaves()))
	r.ID = g.opts.NewID()
	r.AfterFailure, r.GrantOnly, r.Denials = true, !r.Widest, v.Denials
	r.Title = refusedWho(a, v.Denials) + " refused by the sandbox"
	q := asked{Request: r, mode: policy.mode, wants: true, about: about(a.Kind, w)}
	q.answers = func(s state) (sandbox.Policy, bool) {
		base := s.baseOf(a)
		yes := a.Kind == word.KindCommand && opens(s.opened(base, w.grant, false), w.grant) && opens(s.at.standing(w.grant), w.grant)
		return base.With(w.grant), yes
	}
	return g.put(s, q)
}

// put stores q as asked, and returns a deep copy of its request.
func (o *questions) put(q asked) *Request {
	q.Options = numbered(q.Options)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID == nil {
		o.byID = map[string]asked{}
	}
	r := q.Request
	o.byID[r.ID] = q
	r.Action, r.Grant = cloneAction(r.Action), r.Grant.Clone()
	r.Options, r.Withheld = slices.Clone(r.Options), slices.Clone(r.Withheld)
	r.Warnings, r.Denials = slices.Clone(r.Warnings), slices.Clone(r.Denials)
	if r.Lasting != nil {
		lasting := *r.Lasting
		r.Lasting = &lasting
	}
	return &r
}

// take removes the question and returns it: each is settled at most once.
func (o *questions) take(id string) (asked, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q, ok := o.byID[id]
	delete(o.byID, id)
	return q, ok
}

// who names the program or tool that wants something, in at most 40 letters. It adds a note if the
// command starts further programs.
func who(a Action) string {
	if a.calls() {
		return "the tool " + plainName(a.Server.Tool) + " of the MCP server " + plainName(a.Server.Server)
	}
	if a.Kind != word.KindCommand {
		return plainName(a.Tool)
	}
	name, more := programs(a.Command)
	return plainName(name) + more
}

// programs returns the name of the first program of a command, and the number of programs after it.
// It skips "cd", which only sets the folder.
func programs(command string) (name, more string) {
	f, opaque := rules.ParseLine(command)
	if opaque != "" {
		line, rest, _ := strings.Cut(strings.TrimSpace(command), "\n")
		if rest != "" || strings.ContainsAny(line, ";&|`") || strings.Contains(line, "$(") {
			more = " (and more)"
		}
		return starts(strings.Fields(line)), more
	}
	count := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok || len(c.Args) == 0 {
			return true
		}
		var words []string
		for _, w := range c.Args[:min(len(c.Args), 2)] {
			words = append(words, command[w.Pos().Offset():w.End().Offset()])
		}
		if words[0] == "cd" {
			return true
		}
		if count++; count == 1 {
			name = starts(words)
		}
		return true
	})
	if count > 1 {
		more = fmt.Sprintf(" (and %d more)", count-1)
	}
	return name, more
}

// plainName returns a program's name for one line, in at most 40 letters.
func plainName(name string) string {
	return plainWord(short.Cut(strings.ToValidUTF8(name, "?"), 40))
}

// plainPath returns a program's path for one line. It cuts a long path in the middle, since
// its first folder and its name are the most informative parts.
func plainPath(path string) string {
	return plainWord(short.Middle(strings.ToValidUTF8(path, "?"), 81))
}

func plainWord(word string) string {
	plain := strings.Map(func(r rune) rune {
		if plainText(string(r)) != nil {
			return '?'
		}
		return r
	}, word)
	return cmp.Or(plain, "a command")
}

// commanders are programs whose first argument says what they do.
var commanders = []string{"apt", "apt-get", "brew", "bun", "cargo", "docker", "gh", "git", "go", "kubectl", "npm", "pip", "pip3", "pnpm", "terraform", "uv", "yarn"}

// keywords are words of the shell itself where a program's name could be.
var keywords = []string{"!", "(", "{", "[", "[[", "case", "export", "for", "if", "set", "until", "while"}

// starts returns the program that a command line starts: the first word after assignments, as
// written. For commanders it includes the second word if that is plain.
func starts(words []string) string {
	for len(words) > 1 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) == 0 || slices.Contains(keywords, words[0]) {
		return "" // no program
	}
	name := words[0]
	if len(words) > 1 && slices.Contains(commanders, path.Base(name)) && strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz-") == "" {
		return name + " " + words[1]
	}
	return name
}

// grantWords describes what a grant allows.
func grantWords(gr sandbox.Grant) string {
	var out []string
	list := func(verb string, things []string) {
		if len(things) > 0 {
			out = append(out, verb+" "+firstOf(things, 100))
		}
	}
	list("write", gr.Write)
	list("read", gr.Read)
	list("reach", sandbox.HostsOf(gr.Hosts))
	list("use the socket", gr.Sockets)
	if gr.Unsandboxed {
		out = append(out, "leave the sandbox")
	}
	return strings.Join(out, ", ")
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
