package approvals

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/approvals/ledger"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// request writes the question for a and what it wants.
func (s state) request(a Action, w want, seen sight) Request {
	if a.Kind == word.KindInput {
		return s.inputRequest(a, w)
	}
	r := Request{
		CallID: a.CallID, Grant: w.shown(), Warnings: w.warnings,
		Justification: strings.ToValidUTF8(short.Head(a.Wish.Justification, maxReason), ""),
		Widest:        w.leaves(),
		Action:        cloneAction(a),
	}
	switch {
	case !r.Grant.Empty():
		r.Title = who(a) + " wants to " + grantWords(r.Grant)
	case a.Kind == word.KindEdit:
		r.Title = who(a) + " wants to edit " + firstOf(a.Paths, maxEntry)
	default:
		r.Title = who(a) + " wants to run"
	}
	if a.Background {
		r.Title += " in the background"
		if !r.Grant.Empty() || w.blocked != "" {
			r.Warnings = append(r.Warnings, "it keeps this until it ends or codeagent ends; typing to it needs an answer each time")
		}
	}
	if w.blocked != "" {
		r.Warnings = append(r.Warnings, w.blocked+": it can only be granted by running outside the sandbox")
	}
	switch {
	case r.Widest:
		r.bound = &seen.bound
		if w.unsandboxed && w.grant.Empty() && !s.unconfined {
			r.Warnings = append(r.Warnings, "the last resort: no path, host or socket would be enough")
		}
		r.Warnings = append(r.Warnings, "outside the sandbox it can change every file that you can change, and reach every host")
		r.Warnings = append(r.Warnings, seen.warnings...)
	case a.calls():
		r.Warnings = append(r.Warnings, a.Server.warnings()...)
	case s.unconfined:
		r.Warnings = append(r.Warnings, "there is no sandbox (danger-full-access)")
	}
	r.Options, r.Withheld = s.options(a, r.Grant, w, seen)
	return r
}

// options lists the answers, least permission first, and says why others are withheld. Running
// outside the sandbox is offered only if it was requested, or if nothing less can be enforced here.
func (s state) options(a Action, grant sandbox.Grant, w want, seen sight) (out []Option, withheld []string) {
	session := Option{Decision: Session, Label: "this session"}
	switch {
	case grant.Empty() && a.Kind == word.KindEdit:
		session.Label = "this session, these files"
	case a.Kind == word.KindFetch:
		session.Label = "this session, pages of this host"
	case a.calls() && grant.Empty():
		session.Label = "this session, this tool"
	case a.calls():
		session.Label = "this session, for this server"
	case grant.Empty():
		session.Label = "this session, exactly this command in this folder"
	}
	if !grant.Unsandboxed && w.blocked == "" {
		out = append(out, Option{Decision: Once, Label: "this once"}, session)
		if grant.Empty() && a.Kind == word.KindEdit && !s.unconfined && s.at.inWorkspace(a) {
			out = append(out, Option{Decision: AllEdits, Label: "this session, all edits in the workspace"})
		}
	}
	if w.unsandboxed || w.blocked != "" {
		out = append(out, Option{Decision: Outside, Label: "outside the sandbox, once"})
		if seen.pauses {
			out = append(out, Option{Decision: OutsidePaused, Label: "outside the sandbox, once, while jobs and servers are stopped (they stall)"})
		}
		if seen.unbound == "" {
			out = append(out, Option{Decision: OutsideSession, Label: "outside the sandbox, this session, exactly this command in this folder"})
		} else {
			withheld = append(withheld, "outside for the session: "+seen.unbound)
		}
	}
	return append(out, noes...), withheld
}

// inWorkspace reports whether an edit changes only files in the workspace.
func (at places) inWorkspace(a Action) bool {
	return at.workspace != "" && !slices.ContainsFunc(a.Paths, func(raw string) bool {
		p, r := at.canonical(a.Folder, raw)
		return r != nil || !sandbox.Covers(at.workspace, p)
	})
}

// noes are the answers to every question that grant nothing.
var noes = []Option{{Key: "n", Decision: Deny, Label: "no, because …"}, {Key: "s", Decision: Stop, Label: "stop"}}

// numbered assigns keys to the options of a question: consecutive numbers, and letters for denials.
func numbered(options []Option) []Option {
	out, n := slices.Clone(options), 0
	for i := range out {
		if slices.ContainsFunc(noes, func(no Option) bool { return no.Decision == out[i].Decision }) {
			continue
		}
		n++
		out[i].Key = strconv.Itoa(n)
	}
	return out
}

// Settle converts the answer to r into a permit or a *Refusal. Each question can be settled once.
// Of r only the ID is read; Settle sets Instead and Unsaved.
func (g *Gate) Settle(r *Request, ans Answer) (Permit, error) {
	asked, grant, err := g.answer(r, ans)
	if err != nil {
		return Permit{}, err
	}
	p := mint(asked.Action, g.state().baseOf(asked.Action).With(grant))
	p.paused, p.check = ans.Decision == OutsidePaused, g.recheck(asked)
	return p, nil
}

// answer checks ans against the question and remembers an answer for the session.
func (g *Gate) answer(r *Request, ans Answer) (Request, sandbox.Grant, error) {
	if r == nil {
		return Request{}, sandbox.Grant{}, refuse("nothing was asked")
	}
	q, ok := g.open.take(r.ID)
	if !ok {
		return Request{}, sandbox.Grant{}, refuse("this question is not open")
	}
	asked := q.Request
	g.said(asked, ans)
	if refusal := g.noInWords(asked, ans); refusal != nil {
		return asked, sandbox.Grant{}, refusal
	}
	if now := g.consent(); q.wants && now.question(q.about) == no {
		return asked, sandbox.Grant{}, refuse("the approval policy changed while the question was open: %s", now.why(q.about))
	}
	s := g.state()
	if _, refusal := s.commandRules(asked.Action); refusal != nil {
		return asked, sandbox.Grant{}, refusal // a rule was saved while the question was open
	}
	for i, p := range q.edits {
		if now, refusal := g.at.canonical(asked.Action.Folder, asked.Action.Paths[i]); refusal != nil || now != p {
			return asked, sandbox.Grant{}, refuse("%s became something else while the question was open", show(p))
		}
	}
	if moved := g.moved(s, asked); len(moved) > 0 {
		return asked, sandbox.Grant{}, g.again(q, moved)
	}
	base := s.base()
	if asked.Action.calls() {
		base = s.baseOf(asked.Action)
	}
	grant, refusal := s.yes(base, asked, ans)
	if refusal != nil {
		return asked, sandbox.Grant{}, refusal
	}
	if ans.Decision == Always {
		if !opens(grant, asked.Grant) {
			return asked, sandbox.Grant{}, refuse("always grants everything that the question showed; to grant less, answer for the session")
		}
		if ans.Decision, refusal = g.save(q, r, ans.Rule); refusal != nil {
			return asked, sandbox.Grant{}, refusal
		}
	}
	g.remember(q, ans.Decision, grant)
	return asked, grant, nil
}

// noInWords returns the refusal for a no, or nil for a yes.
func (g *Gate) noInWords(asked Request, ans Answer) *Refusal {
	words, because := strings.TrimSpace(strings.ToValidUTF8(short.Head(ans.Reason, maxReason), "")), ""
	if words != "" {
		because = ": " + words
	}
	if ans.Decision.Yes() {
		if ans.Command == "" || ans.Command == asked.Action.Command {
			return nil
		}
		return refuse("the user wants another command instead: %s%s", ans.Command, because)
	}
	switch ans.Decision {
	case Deny:
		return &Refusal{Reason: word.AnswerDenied.Reason(words)}
	case Reviewed:
		return &Refusal{Reason: cmp.Or(ans.By, "the reviewer") + " refused this, and the user was not asked" + because}
	case Unanswered:
		return &Refusal{Reason: "no answer" + because}
	case Stop:
		return &Refusal{Reason: word.AnswerStopped.Reason(words), Stop: true}
	case Unattended:
		if asked.overwrites {
			because += "; " + remoteWarning
		}
		return &Refusal{
			Reason: "nobody could be asked, so it was refused" + because,
			Hint:   remedy(g, g.hintFor(asked)), Request: &asked,
		}
	}
	return refuse("unknown answer %q: it counts as no", string(ans.Decision))
}

// yes returns what a yes grants.
func (s state) yes(base sandbox.Policy, asked Request, ans Answer) (sandbox.Grant, *Refusal) {
	if !slices.ContainsFunc(asked.Options, func(o Option) bool { return o.Decision == ans.Decision }) {
		return sandbox.Grant{}, refuse("the answer %q was not offered", string(ans.Decision))
	}
	if asked.Action.Kind == word.KindInput {
		return sandbox.Grant{}, yesInput(asked, ans)
	}
	grant := asked.Grant
	if ans.Grant != nil {
		if !s.narrower(base, *ans.Grant, asked.Grant) {
			return sandbox.Grant{}, refuse("the answer grants more than the question showed and counts as no")
		}
		grant = ans.Grant.Clone()
	}
	if ans.Decision.Leaves() {
		return sandbox.Grant{Unsandboxed: true}, nil
	}
	if grant.Unsandboxed {
		return sandbox.Grant{}, refuse("running outside the sandbox needs an answer of its own")
	}
	// What a backend cannot grant to a command, codeagent itself can still do.
	if blocked := s.blocked(base, grant); blocked != "" && asked.Action.Kind != word.KindFetch {
		return sandbox.Grant{}, refuse("%s", blocked)
	}
	for _, p := range slices.Concat(grant.Write, grant.Read, grant.Sockets) {
		if !s.at.unmoved(p) {
			return sandbox.Grant{}, refuse("%s became something else while the question was open", show(p))
		}
	}
	return grant, nil
}

// remember stores an answer for the session, bound to exactly what was shown.
func (g *Gate) remember(asked asked, d Decision, grant sandbox.Grant) {
	a := asked.Action
	e := answered{Entry: ledger.Entry{Origin: ledger.Question, Source: asked.ID, Title: asked.Title, Justification: asked.Justification}}
	switch {
	case d == Session && a.Kind == word.KindFetch:
		e.Fetch = slices.Clone(grant.Hosts)
	case d == OutsideSession:
		e.Command, e.Folder, e.Outside, e.deed = a.Command, a.Folder, true, deedOf(a)
		e.Bound = asked.bound.Clone()
	case d == Session && a.Kind == word.KindEdit:
		e.Grant = grant
		e.Paths = slices.Clone(asked.edits)
	case d == AllEdits:
		e.AllEdits = g.at.workspace
	case d == Session && a.Kind == word.KindServer && !asked.Held && !asked.AfterFailure:
		e.Tool, e.Described = a.Server.Name(), a.Server.Described
	case d == Session && a.Kind == word.KindServer:
		e.Grant, e.Server = grant, a.Server.Server
	case d == Session:
		e.Grant = grant
		if asked.mode == Untrusted && a.Kind == word.KindCommand && !asked.Held {
			e.Command, e.Folder, e.deed = a.Command, a.Folder, deedOf(a)
		}
	default:
		return
	}
	g.ledger.add(e)
}

// remedy returns what would allow a refused action: hint, or what the face of this session says
// in place of it.
func remedy(g *Gate, hint string) string {
	if hint == "" {
		return ""
	}
	return cmp.Or(g.opts.Hint, hint)
}

// hint returns the flag or setting that would allow gr where nobody can be asked. more are flags that
// are needed besides.
func (g *Gate) hint(kind word.Kind, gr sandbox.Grant, more ...string) string {
	ask := g.asking()
	if kind == word.KindServer {
		return "" // see serverHint
	}
	host := "--allow-host"
	if kind == word.KindFetch {
		host = "--allow-fetch" // the narrowest flag: it allows nothing to commands
	}
	if len(gr.Hosts) > 0 && !g.opts.GrantsHosts && kind != word.KindFetch || len(gr.Sockets) > 0 || len(gr.Read) > 0 || gr.Unsandboxed || len(gr.Write)+len(gr.Hosts) == 0 {
		return ask
	}
	if len(gr.Write) > 0 && g.ReadOnly() {
		return ask // what flags open is shut
	}
	flags := more
	for _, p := range gr.Write {
		name := g.at.flag(p)
		if name == "" {
			return ask
		}
		flags = append(flags, name+" "+ShellWord(p))
	}
	for _, h := range gr.Hosts {
		flags = append(flags, host+" "+ShellWord(h.String()))
	}
	return g.run(strings.Join(flags, " "))
}

// starter is the command of codeagent that a session runs under; "" is exec.
type starter struct{ command string }

// SetCommand names that command, for hints. It must be called before the first decision.
func (s *starter) SetCommand(name string) { s.command = name }

// asking says where such a session can ask.
func (s *starter) asking() string {
	if s.command == "" {
		return "run codeagent in a terminal with --ask-for-approval on-request to be asked"
	}
	return "codeagent " + s.command + " --ask-for-approval on-request, for a program that can show questions"
}

// run returns the command line that starts such a session with these flags.
func (s *starter) run(flags string) string {
	if s.command == "" {
		return "codeagent exec " + flags + " …" // the prompt
	}
	return "codeagent " + s.command + " " + flags
}

// ShellWord writes p as one word of a POSIX shell.
func ShellWord(p string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@%:,", r)
	}
	if p != "" && strings.IndexFunc(p, func(r rune) bool { return !plain(r) }) < 0 {
		return p
	}
	return "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
}

// firstOf names the first of paths in at most the given number of letters, and counts the others.
func firstOf(paths []string, most int) string {
	if len(paths) == 0 {
		return "files"
	}
	name := show(short.Cut(paths[0], most))
	if more := len(paths) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

func cloneAction(a Action) Action {
	a.Argv, a.Paths = slices.Clone(a.Argv), slices.Clone(a.Paths)
	a.Running.Policy, a.Running.Granted = a.Running.Policy.Clone(), slices.Clone(a.Running.Granted)
	for i, gr := range a.Running.Granted {
		a.Running.Granted[i] = gr.Clone()
	}
	a.Server = a.Server.clone()
	w := &a.Wish
	w.Write, w.Read = slices.Clone(w.Write), slices.Clone(w.Read)
	w.Hosts, w.Sockets = slices.Clone(w.Hosts), slices.Clone(w.Sockets)
	return a
}

// AsRefusal returns the *Refusal that err is.
func AsRefusal(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}
