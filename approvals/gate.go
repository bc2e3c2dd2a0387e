package approvals

// The whole judgement, walked row by row by a test (testdata/gate.txt). An
// answer for the session changes it in one way: what was answered is then no
// longer new.
//
//	What Decide answers: the first row that matches. "*" matches anything, "a|b" a or b.
//	sandbox: on, off (danger-full-access).  wish: none (or nothing new), new (paths, hosts, an edit outside the write roots;
//	under untrusted also a fetch from a host that nobody named), outside (require_escalated), bad (nobody can grant it);
//	of an input: what the command may that it is typed to.
//	command: known (on the short read-only list), other.
//	nobody: what becomes of it when no person is there to answer.
//	mode                  sandbox  kind       wish         command  decision  nobody
//	*                       *        plan|read|watch  *      *        run       run
//	*                       *        fetch      bad          *        refuse    refuse
//	*                       on       *          bad          *        refuse    refuse
//	never                   on       *          new|outside  *        refuse    refuse
//	never                   *        *          *            *        run       run
//	untrusted               *        edit|input  *           *        ask       refuse
//	untrusted               on       command    none         known    run       run
//	untrusted               *        fetch      none         *        run       run
//	untrusted               *        command|fetch  *        *        ask       refuse
//	on-request|on-failure   on       *          new|outside  *        ask       refuse
//	on-request|on-failure   *        *          *            *        run       run
//
// After a command that the sandbox refused, on-failure alone asks: for exactly
// what was refused when that is certain, else only whether it may run outside
// the sandbox. An answer of yes is checked against what was shown, by the
// gate's own memory of the question and not by the copy that travelled.

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"codeagent/event"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Options is what a Gate judges by.
type Options struct {
	// Mode is the approval policy; empty means OnRequest.
	Mode Mode
	// Base is what an action may touch without any answer.
	Base  sandbox.Policy
	Files sandbox.FileSystem
	// Home and Workspace are absolute. Home may be empty: then "~" is refused.
	Home, Workspace string
	// NewID names questions, each name once. Nil: they are counted.
	NewID func() string
	// GrantsHosts and GrantsSockets say whether the backend can open single
	// hosts and path sockets. Where it cannot, such a wish can only be granted
	// by running outside the sandbox, and the question says so.
	GrantsHosts, GrantsSockets bool
	// Trusted lists paths in the write roots of Base that are protected besides: what
	// git was found to take programs and settings from. It may wait; nil: none.
	Trusted func() []string
	// Path is where programs are looked for.
	Path []string
	// MadeGit lists the git directories that commands of the session made, nil:
	// none is known.
	MadeGit func() []string
	// Fetch is what fetches may reach without any answer, beside Base.
	Fetch []sandbox.HostPort
}

// Gate decides. It is safe for concurrent use.
type Gate struct {
	opts   Options
	at     places
	ledger Ledger

	mu   sync.Mutex
	open map[string]Request // questions not yet settled, by ID; mu guards it
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
	return &Gate{opts: o, at: newPlaces(o.Files, o.Home, o.Workspace), open: map[string]Request{}}
}

// Mode is the approval policy.
func (g *Gate) Mode() Mode { return g.opts.Mode }

// Ledger holds the answers that stand for the session.
func (g *Gate) Ledger() *Ledger { return &g.ledger }

// Base is what every action may touch now without a question: the policy and
// what was granted for the session.
func (g *Gate) Base() sandbox.Policy { return g.granted(g.start()) }

// Open is Base without what Trusted protects: it never waits, and opens no less.
func (g *Gate) Open() sandbox.Policy { return g.granted(g.opts.Base.Clone()) }

func (g *Gate) granted(p sandbox.Policy) sandbox.Policy {
	for _, e := range g.ledger.List() {
		p = p.With(g.at.standing(e.Grant))
	}
	return p
}

// start is the policy before any answer.
func (g *Gate) start() sandbox.Policy {
	p := g.opts.Base.Clone()
	if g.opts.Trusted != nil {
		p.Protected.Paths = append(p.Protected.Paths, g.opts.Trusted()...)
	}
	return p
}

// ruling is what the table says.
type ruling int

const (
	askFirst ruling = iota
	run
	no
)

// rule is the table but for the bad wish. known and remembered are about the
// command: on the read-only list; answered for the session.
func rule(m Mode, unconfined bool, kind event.Kind, wants, known, remembered bool) ruling {
	switch {
	case kind == event.KindPlan || kind == event.KindRead || kind == event.KindWatch:
		return run
	case m == Never && wants:
		return no
	case m == Never:
		return run
	case m == OnRequest || m == OnFailure:
		if wants {
			return askFirst
		}
		return run
	case wants:
		return askFirst
	case remembered, kind == event.KindFetch:
		return run
	case kind == event.KindCommand && known && !unconfined:
		// The list may spare a question because the sandbox is the boundary;
		// without a sandbox it spares nothing.
		return run
	}
	return askFirst
}

// Decide says whether a may run: exactly one of a permit, a question to ask, or
// a *Refusal.
func (g *Gate) Decide(a Action) (Permit, *Request, error) {
	base := g.baseOf(a)
	w, paths, refusal := g.wanted(base, a)
	if refusal != nil {
		return Permit{}, nil, refusal
	}
	remembered, outside := g.ledger.command(a)
	switch a.Kind {
	case event.KindEdit:
		remembered = g.ledger.edits(paths)
	case event.KindInput:
		remembered, outside = false, false
	}
	if outside && (w.unsandboxed || w.blocked != "") && g.outsideOf(g.Base(), a).changes == "" {
		return mint(a, base.With(sandbox.Grant{Unsandboxed: true})), nil, nil
	}
	known := g.opts.Mode == Untrusted && a.Kind == event.KindCommand && knownReadOnly(a.Command)
	switch rule(g.opts.Mode, base.Unconfined, a.Kind, !w.empty(), known, remembered) {
	case run:
		return mint(a, base), nil, nil
	case no:
		r := g.request(a, w)
		return Permit{}, nil, &Refusal{
			Reason:  "the approval policy is never: nobody is asked, and the sandbox does not allow this (" + grantWords(r.Grant) + ")",
			Hint:    g.hint(a.Kind, r.Grant),
			Request: &r,
		}
	}
	r := g.request(a, w)
	return Permit{}, g.put(r), nil
}

// wanted is what a asks for beyond base, and the canonical files it edits.
func (g *Gate) wanted(base sandbox.Policy, a Action) (want, []string, *Refusal) {
	switch a.Kind {
	case event.KindPlan, event.KindRead, event.KindWatch:
		return want{}, nil, nil
	case event.KindCommand:
		if n := len(a.Wish.Write) + len(a.Wish.Read) + len(a.Wish.Hosts) + len(a.Wish.Sockets); n > 4*maxWishes {
			return want{}, nil, refuse("the request names %d paths and hosts; at most %d can be asked for at once", n, maxWishes)
		}
		w, r := g.want(base, a.Folder, a.Wish)
		return w, nil, r
	case event.KindEdit:
		wish := a.Wish
		wish.Write = append(append([]string(nil), wish.Write...), a.Paths...)
		w, r := g.want(base, a.Folder, wish)
		if r != nil {
			return want{}, nil, r
		}
		var paths []string
		for _, raw := range a.Paths {
			p, r := g.at.canonical(a.Folder, raw)
			if r != nil {
				return want{}, nil, r
			}
			paths = append(paths, p)
		}
		return w, paths, nil
	case event.KindFetch:
		w, r := g.wantFetch(base, a.Wish)
		return w, nil, r
	case event.KindInput:
		return wantInput(base, a), nil, nil
	}
	return want{}, nil, refuse("unknown kind of action %q", a.Kind)
}

// AfterDenial returns the question to ask after a ran and v says that the
// sandbox refused it, or nil when nothing is to be asked: in every mode but
// on-failure, and where nothing that was refused can be granted.
func (g *Gate) AfterDenial(a Action, v sandbox.Verdict) *Request {
	base := g.Base()
	if g.opts.Mode != OnFailure || !v.Denied || a.Kind != event.KindCommand || base.Unconfined {
		return nil
	}
	w := want{unsandboxed: true}
	if v.Evidence != sandbox.EvidenceOutputOnly && !v.Suggest.Empty() { // words fill in no question
		wish := Wish{Write: v.Suggest.Write, Read: v.Suggest.Read, Sockets: v.Suggest.Sockets, Unsandboxed: v.Suggest.Unsandboxed}
		for _, h := range v.Suggest.Hosts {
			wish.Hosts = append(wish.Hosts, withPort(a.Command, h.String()))
		}
		var refusal *Refusal
		if w, refusal = g.want(base, a.Folder, wish); refusal != nil || w.empty() {
			return nil
		}
	}
	r := g.request(a, w)
	r.AfterFailure, r.Denials = true, v.Denials
	r.Title = who(a) + " was refused by the sandbox"
	return g.put(r)
}

// put remembers r as asked, and returns a copy that shares nothing with it.
func (g *Gate) put(r Request) *Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[r.ID] = r
	r.Action, r.Grant = cloneAction(r.Action), cloneGrant(r.Grant)
	r.Options, r.Warnings, r.Denials = slices.Clone(r.Options), slices.Clone(r.Warnings), slices.Clone(r.Denials)
	return &r
}

// take forgets the question and returns it: each is settled at most once.
func (g *Gate) take(id string) (Request, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.open[id]
	delete(g.open, id)
	return r, ok
}

// who names the program or tool that wants something, in at most 40 letters.
func who(a Action) string {
	name := a.Tool
	if a.Kind == event.KindCommand {
		line, _, _ := strings.Cut(strings.TrimSpace(a.Command), "\n")
		name = starts(strings.Fields(line))
	}
	return plainName(name)
}

// plainName makes a program's name fit for a line: in at most 40 letters.
func plainName(name string) string {
	return plainWord(short.Cut(strings.ToValidUTF8(name, "?"), 40))
}

// plainPath makes a program's path fit for a line. Of a long one it leaves out the
// middle: the folder that it begins with and its own name say most.
func plainPath(path string) string {
	return plainWord(short.Middle(strings.ToValidUTF8(path, "?"), 81))
}

func plainWord(word string) string {
	runes := []rune(word)
	for i, r := range runes {
		if plainText(string(r)) != nil {
			runes[i] = '?'
		}
	}
	if len(runes) == 0 {
		return "a command"
	}
	return string(runes)
}

// commanders are programs whose first argument says what they do.
var commanders = []string{"apt", "apt-get", "brew", "bun", "cargo", "docker", "gh", "git", "go", "kubectl", "npm", "pip", "pip3", "pnpm", "terraform", "uv", "yarn"}

// keywords are what a shell itself understands in a program's place.
var keywords = []string{"!", "(", "{", "[", "[[", "case", "export", "for", "if", "set", "until", "while"}

// starts names what a command line starts: the first word after assignments,
// without the folder, and for commanders the second word where it is plain.
func starts(words []string) string {
	for len(words) > 1 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	if slices.Contains(keywords, words[0]) {
		return "" // no program
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if len(words) > 1 && slices.Contains(commanders, name) && strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz-") == "" {
		return name + " " + words[1]
	}
	return name
}

// grantWords says in words what a grant opens.
func grantWords(gr sandbox.Grant) string {
	var out []string
	list := func(verb string, things []string) {
		switch len(things) {
		case 0:
		case 1:
			out = append(out, verb+" "+show(short.Cut(things[0], 100)))
		default:
			out = append(out, fmt.Sprintf("%s %s and %d more", verb, show(short.Cut(things[0], 100)), len(things)-1))
		}
	}
	var hosts []string
	for _, h := range gr.Hosts {
		hosts = append(hosts, h.String())
	}
	list("write", gr.Write)
	list("read", gr.Read)
	list("reach", hosts)
	list("use the socket", gr.Sockets)
	if gr.Unsandboxed {
		out = append(out, "leave the sandbox")
	}
	return strings.Join(out, ", ")
}
