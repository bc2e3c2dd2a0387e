package approvals

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"codeagent/approvals/content"
	"codeagent/approvals/decide"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/git/dotgit"
	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
)

// What runs outside the sandbox may read and run files that commands in it can change. No look at its
// words tells which files those are: make, npm and git read what their folder holds. So a yes is bound
// to what was there when the question was shown: the programs by their hashes, the folder and the
// named entries by device, inode and type, and all else by the change counter of the session, which
// covers every write root. What differs at the moment of the run is asked about again.

// mostAgain bounds how often a command is asked about again because something changed. After that a
// yes applies once, and what changes even then is refused.
const mostAgain = 2

// leaves reports whether a asks for what only running outside the sandbox gives it.
func leaves(s decide.State, a Action) bool {
	w, _, refusal := s.Wanted(s.Base(), a)
	return refusal == nil && w.Leaves()
}

// look finds what a question about running a outside the sandbox depends on. Where a would not leave
// the sandbox there is nothing to find.
func (g *Gate) look(s decide.State, a Action, leaves bool) (out decide.Sight, bound content.Binding) {
	base := s.Base().Reopened()
	if !leaves || a.Kind != word.KindCommand || base.Unconfined {
		return out, bound
	}
	bound, out.Unbound = g.bind(s, a)
	out.Warnings = append(g.writable(base, a.Folder), g.sessionChanges(a)...)
	source := g.opts.Content
	if source == nil {
		return out, bound
	}
	writers := source.Writers()
	for _, w := range writers {
		holds := ""
		if len(w.Holds) > 0 {
			holds = "; it holds open for writing: " + content.Few(w.Holds, decide.Show)
		}
		out.Warnings = append(out.Warnings, w.Name+" runs, and can change what this runs or reads"+holds)
	}
	if e, ok := outside(s, a); ok {
		out.Answered = true
		if len(writers) > 0 {
			out.News = append(out.News, writers[0].Name+" is running, and can change what this runs or reads")
		}
		for _, what := range e.Bound.Differs(source, bound, decide.Show) {
			out.News = append(out.News, what+" since your yes at "+e.Made.Format("15:04"))
		}
		if out.Unbound != "" {
			out.News = append(out.News, out.Unbound)
		}
	}
	switch {
	case out.Unbound != "":
	case len(writers) > 0:
		out.Unbound = writers[0].Name + " runs, and could change what it runs or reads"
	case g.ledger.reasked(a) >= mostAgain:
		out.Unbound = "what it depends on keeps changing"
	}
	return out, bound
}

// bind returns what a yes to a is bound to, and why that is not enough for a session.
func (g *Gate) bind(s decide.State, a Action) (b content.Binding, unbound string) {
	source := g.opts.Content
	if source == nil {
		return b, "changes of the session are not recorded"
	}
	var mark content.Binding
	mark.At(source) // before anything is looked at
	b, unbound = g.pinned(s, a, mark)
	if unbound == "" && !b.Counted() {
		unbound = "not all changes of the session are recorded"
	}
	return b, unbound
}

// pinned adds to b the programs and entries of a as they are now, and says which program cannot be
// read.
func (g *Gate) pinned(s decide.State, a Action, b content.Binding) (_ content.Binding, unread string) {
	source := g.opts.Content
	for _, name := range programNames(a.Command) {
		file := g.program(a.Folder, name)
		it, err := content.Of(source, name, file, !changeable(s.Base().Reopened(), file))
		if err != nil {
			it, unread = content.Item{Name: name, Path: file, Sum: content.Unread}, decide.Show(name)+" cannot be read, so that a change of it would not be noticed"
		}
		b.Items = append(b.Items, it)
	}
	b.Pin(source, append([]string{a.Folder}, namedPaths(a)...))
	return b, unread
}

// outside returns the latest answer by which exactly this command may run outside the sandbox.
func outside(s decide.State, a Action) (ledger.Entry, bool) {
	d := decide.CommandIDOf(a)
	for _, e := range slices.Backward(s.Answers) {
		if e.Folder != "" && e.CommandID == d && a.Kind == word.KindCommand && e.Outside {
			return e, true
		}
	}
	return ledger.Entry{}, false
}

// pin binds a question to each entry that it names and the folder of that, and one about an edit to the
// content that the person sees changed.
func (q *openQuestion) pin(source content.Source) {
	if source == nil || q.bound != nil {
		return
	}
	q.bound = &content.Binding{}
	paths := slices.Concat(q.Grant.Write, q.Grant.Read, q.Grant.Sockets, q.edits)
	if q.Action.Calls() && q.Action.Server.Huge() {
		q.bound.At(source) // more than is looked at by name
	} else if q.Action.Calls() {
		paths = append(paths, namedPaths(q.Action)...)
	}
	for _, p := range paths {
		paths = append(paths, path.Dir(p))
	}
	slices.Sort(paths)
	q.bound.Pin(source, slices.Compact(paths))
	for _, p := range q.edits {
		it, _ := content.Of(source, p, p, true)
		q.bound.Items = append(q.bound.Items, it)
	}
}

// moved lists what is not as it was when the question was shown.
func (g *Gate) moved(s decide.State, asked openQuestion) []string {
	source := g.opts.Content
	if source == nil || asked.bound == nil {
		return nil
	}
	now := asked.bound.Again(source)
	if asked.Widest && !asked.Held {
		now, _ = g.pinned(s, asked.Action, content.Binding{})
	}
	return asked.bound.Differs(source, now, decide.Show)
}

// recheck returns what compares once more, as the action starts, what its permit is bound to.
func (g *Gate) recheck(asked openQuestion) func() error {
	if g.opts.Content == nil || asked.bound == nil || asked.Held {
		return nil
	}
	return func() error {
		if moved := g.moved(g.state(), asked); len(moved) > 0 {
			g.ledger.forget(asked.ID) // it applied to nothing
			return g.again(asked, strings.Join(moved, ", ")+" after the answer")
		}
		return nil
	}
}

// again refuses a yes for why. Again then looks at the files, so nothing may wait for its caller.
func (g *Gate) again(q openQuestion, why string) *Refusal {
	if q.Held || q.AfterFailure || q.again > mostAgain {
		return refuse("%s", why)
	}
	return &Refusal{Reason: why, Again: func() (*Request, error) {
		_, r, err := g.decide(q.Action, q.asks, q.again+1, []string{why})
		return r, err
	}}
}

// program returns the file that name resolves to in folder, through PATH and links, or "".
func (g *Gate) program(folder, name string) string {
	dirs := g.opts.Path
	if strings.Contains(name, "/") {
		dirs = []string{folder}
	}
	for _, dir := range dirs {
		if strings.HasPrefix(name, "/") {
			dir = "/"
		}
		p, refusal := g.ledger.at.canonical(folder, strings.TrimSuffix(dir, "/")+"/"+name)
		if refusal != nil {
			continue
		}
		if m, err := g.ledger.at.files.Lstat(p); err == nil && m.IsRegular() && m&0o111 != 0 {
			return p
		}
	}
	return ""
}

// writable names the folders of PATH that commands can change: what runs outside looks for programs
// there, and nothing separates the two. A folder that cannot be reached has no program either.
func (g *Gate) writable(base sandbox.Policy, folder string) []string {
	var dirs []string
	for _, dir := range g.opts.Path {
		if p, refusal := g.ledger.at.canonical(folder, dir); refusal == nil && changeable(base, p) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	return []string{"programs are looked for in " + content.Few(dirs, decide.Show) + ", which commands can change"}
}

// sessionChanges warns about what the session changed or made, and first of that about what a names.
func (g *Gate) sessionChanges(a Action) (out []string) {
	if g.opts.MadeGit != nil {
		out = fewWarnings(g.opts.MadeGit(), func(dir string) string {
			return fmt.Sprintf("commands made the repository %s: outside, version control runs what its hooks and settings name", decide.Show(dir))
		})
	}
	if g.opts.Content == nil {
		return out
	}
	changes, all := g.opts.Content.Changed(0)
	changes = slices.DeleteFunc(slices.Clone(changes), func(c content.Change) bool {
		exists, _ := g.ledger.at.entry(c.Path)
		entry, _ := dotgit.Cut(c.Path)
		return !exists || entry != ""
	})
	names := namedPaths(a)
	for _, name := range programNames(a.Command) {
		names = append(names, g.program(a.Folder, name))
	}
	var named, others []content.Change
	for _, c := range changes {
		if slices.Contains(names, c.Path) {
			named = append(named, c)
		} else {
			others = append(others, c)
		}
	}
	if len(named) > 0 {
		out = append(out, "this session changed what the command names: "+content.Who(named, decide.Show))
	}
	if len(others) > 0 {
		out = append(out, "this session changed "+content.Who(others, decide.Show))
	}
	if !all {
		out = append(out, "this session changed more files than are listed")
	}
	return out
}

// changeable reports whether commands under p may change what the name path leads to.
func changeable(p sandbox.Policy, path string) bool {
	return sandbox.CoveredBy(sandbox.PathsOf(p.Roots()), path) && p.JudgeWrite(path).Allowed
}

// mostNamed bounds the git directories that a question names in warnings.
const mostNamed = 3

// fewWarnings returns warnings about the first paths; the rest is counted.
func fewWarnings(paths []string, words func(string) string) []string {
	paths = slices.Sorted(slices.Values(paths))
	paths = slices.Compact(paths)
	var out []string
	for _, p := range paths[:min(len(paths), mostNamed)] {
		out = append(out, words(p))
	}
	if more := len(paths) - mostNamed; more > 0 {
		out = append(out, fmt.Sprintf("the same holds for %d more", more))
	}
	return out
}

// eachCall calls each with the words of every program that the text of a command starts itself, and
// with those of its redirections. A word that the shell would change is left out.
func eachCall(command string, each func(words []string)) {
	if len(command) > rules.MaxLine {
		return
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			words := make([]string, len(call.Args))
			for i, w := range call.Args {
				words[i] = rules.Literal(w)
			}
			each(words)
		}
		if r, ok := n.(*syntax.Redirect); ok && r.Word != nil {
			each([]string{"", rules.Literal(r.Word)})
		}
		return true
	})
}

// programNames returns the words that name the programs of a command, each once.
func programNames(command string) (names []string) {
	eachCall(command, func(words []string) {
		if words[0] != "" && !slices.Contains(names, words[0]) {
			names = append(names, words[0])
		}
	})
	return names
}

// namedPaths returns the paths that the words of a command, or of the call of a server, can mean.
func namedPaths(a Action) (out []string) {
	each := func(words []string) {
		for _, word := range words[1:] {
			if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
				word = value
			}
			if word == "" || strings.HasPrefix(word, "-") || len(word) > decide.MaxEntry || strings.ContainsRune(word, 0) {
				continue
			}
			if !path.IsAbs(word) {
				word = path.Join(a.Folder, word)
			}
			if p := path.Clean(word); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	if a.Calls() {
		each(append([]string{""}, a.Server.Words()...))
	} else {
		eachCall(a.Command, each)
	}
	return out
}
