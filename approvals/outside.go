package approvals

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"codeagent/approvals/content"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// A yes to run outside the sandbox is bound to the text of a command. The text names programs and
// files, and sandboxed commands may change these files after the person has read the question. A
// yes for the session is therefore bound to content too. It is bound to the hashes of the programs
// as PATH resolves them, and of the named files. Any program may read its folder (make, npm, git).
// So the yes also ends when the session changes something in the write roots that contain the
// command's folder or a named file. Such a call runs alone. It is asked about while a background
// command could change these files. If changes are not recorded, or the text hides what it runs,
// the yes applies to one call.

// leaving describes what a command would run and read outside the sandbox.
type leaving struct{ *Gate }

// outside is what a question about leaving the sandbox shows beside the text.
type outside struct {
	// changes says why a yes cannot apply to the session; "" if it can. bound is the content to bind
	// it to.
	changes  string
	bound    content.Binding
	warnings []string
}

// outsideOf finds what a, run outside the sandbox, would run or read that commands under base
// may change.
func (g leaving) outsideOf(base sandbox.Policy, a Action) outside {
	if a.Kind != word.KindCommand || base.Unconfined {
		return outside{}
	}
	base = reopened(base)
	words, plain := plainWords(a.Command)
	var out outside
	var named []string
	for _, word := range words {
		for _, p := range g.at.meanings(a.Folder, word) {
			if p == "" || changeable(base, p) || holdsRoot(base, p) {
				named = append(named, p)
			}
		}
	}
	folder, refusal := g.at.canonical("/", a.Folder)
	way := slices.IndexFunc(g.opts.Path, func(dir string) bool {
		p, refusal := g.at.canonical(a.Folder, dir)
		return refusal != nil || changeable(base, p)
	})
	var reads []string // paths that commands can change: its folder, and files that its words lead to
	switch {
	case way >= 0:
		out.changes = "programs are looked for in " + show(g.opts.Path[way]) + ", which commands can change"
	case knownReadOnly(a.Command):
	case !plain:
		out.changes = "its text does not show which files it runs"
	case refusal != nil || changeable(base, folder):
		out.changes = "it can run files of its folder, which commands can change"
		reads = append(named, folder)
	case len(named) > 0:
		out.changes = "it names files that commands can change"
		reads = named
	}
	if err := g.bind(&out, base, a, reads, named); err != "" {
		out.changes = err
	}
	out.warnings = append(g.at.namedFiles(named), g.madeGit(folder, named, plain)...)
	out.warnings = append(out.warnings, g.changedHere(base, folder, named, plain)...)
	return out
}

// bind sets the content that a yes for the session depends on. If that includes reads and all of it
// is known, it clears out.changes. It returns why a program cannot be bound, or "".
func (g leaving) bind(out *outside, base sandbox.Policy, a Action, reads, named []string) string {
	source := g.opts.Content
	if source == nil {
		return ""
	}
	var bound content.Binding
	for _, name := range programNames(a.Command) {
		file := g.program(a.Folder, name)
		it, err := content.Of(source, name, file, !changeable(base, file))
		if err != nil {
			return show(name) + " cannot be read, so that a change of it would not be noticed"
		}
		bound.Items = append(bound.Items, it)
	}
	// An action without a wish of its own does not run alone.
	known := a.Wish.Unsandboxed && !a.Background && len(reads) > 0
	_, recorded := source.Mark()
	for _, p := range named {
		have := slices.ContainsFunc(bound.Items, func(it content.Item) bool { return it.Path == p })
		if !known || p == "" || have || g.at.entry(p) == isFolder {
			continue
		}
		it, err := content.Of(source, p, p, false)
		known = known && err == nil
		bound.Items = append(bound.Items, it)
	}
	for _, p := range reads {
		root := rootOf(base, p)
		known = known && recorded && p != "" && base.Observes(root)
		if !slices.Contains(bound.Roots, root) {
			bound.Roots = append(bound.Roots, root)
		}
	}
	if known {
		out.changes = ""
	} else {
		bound.Roots = nil
	}
	out.bound = bound.At(source)
	return ""
}

// rootOf returns the widest write root of p that covers path. If there is no such root, it returns
// path.
func rootOf(p sandbox.Policy, path string) string {
	root := path
	for _, r := range p.Roots() {
		if sandbox.Covers(r.Path, root) {
			root = r.Path
		}
	}
	return root
}

// program returns the file that name resolves to in folder, through PATH and links, or "".
func (g leaving) program(folder, name string) string {
	dirs := g.opts.Path
	if strings.Contains(name, "/") {
		dirs = []string{folder}
	}
	for _, dir := range dirs {
		if strings.HasPrefix(name, "/") {
			dir = "/"
		}
		p, refusal := g.at.canonical(folder, strings.TrimSuffix(dir, "/")+"/"+name)
		if refusal != nil {
			continue
		}
		if m, err := g.at.files.Lstat(p); err == nil && m.IsRegular() && m&0o111 != 0 {
			return p
		}
	}
	return ""
}

// remembered reports whether an answer for the session covers a outside the sandbox. If a change
// ended the answer, news describes the change.
func (g *Gate) remembered(a Action) (yes bool, news []string) {
	e, ok := g.ledger.outside(a)
	if !ok {
		return false, nil
	}
	out := leaving{g}.outsideOf(g.Base(), a)
	source := g.opts.Content
	if source != nil {
		out.bound = out.bound.Again(source, e.Bound)
	}
	switch {
	case out.changes != "":
		return false, nil
	case source == nil:
		return true, nil
	case len(out.bound.Roots) > 0 && len(source.Writers()) > 0:
		return false, []string{"a background command is running, and can change what this runs or reads"}
	}
	bound := e.Bound
	if bound == nil {
		bound = &content.Binding{}
	}
	for _, what := range bound.Changed(source, out.bound, show) {
		news = append(news, what+" since your yes at "+e.Made.Format("15:04"))
	}
	return len(news) == 0, news
}

// moved lists the programs and named files that have changed since the question was asked.
func (g *Gate) moved(asked Request) string {
	if g.opts.Content == nil || asked.bound == nil {
		return ""
	}
	now := leaving{g}.outsideOf(g.Base(), asked.Action)
	return strings.Join(asked.bound.Moved(now.bound.Again(g.opts.Content, asked.bound), show), ", ")
}

// changedHere warns about what this session changed in the folder and among the named files,
// because the command can run or read it.
func (g leaving) changedHere(base sandbox.Policy, folder string, named []string, plain bool) []string {
	if g.opts.Content == nil {
		return nil
	}
	if _, recorded := g.opts.Content.Mark(); !recorded {
		return nil
	}
	changes, all := g.opts.Content.Changed(0)
	var changed []string
	for _, c := range changes {
		changed = append(changed, c.Path)
	}
	changed = slices.DeleteFunc(changed, func(p string) bool {
		if !changeable(base, p) || g.at.entry(p) == isAbsent || strings.HasSuffix(p, "/.git") || strings.Contains(p, "/.git/") {
			return true
		}
		return plain && !slices.ContainsFunc(append([]string{folder}, named...), func(near string) bool {
			return near != "" && sandbox.Covers(near, p)
		})
	})
	var out []string
	if len(changed) > 0 {
		out = append(out, "this session changed what it can run or read: "+content.Few(changed, show))
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

// holdsRoot reports whether path is a folder that contains a write root.
func holdsRoot(p sandbox.Policy, path string) bool {
	return slices.ContainsFunc(p.Roots(), func(root sandbox.Root) bool { return sandbox.Covers(path, root.Path) })
}

// mostNamed bounds the files, and the git directories, that a question names in warnings.
const mostNamed = 3

// madeGit warns about git directories that commands of the session made: git runs programs
// that they configure, and no person has seen them. Git searches for one from the working
// folder upwards, and tools run git in folders below it.
func (g leaving) madeGit(folder string, named []string, plain bool) []string {
	if g.opts.MadeGit == nil {
		return nil
	}
	near := func(dir string) bool {
		work := strings.TrimSuffix(dir, "/.git")
		return !plain || slices.ContainsFunc(append([]string{folder}, named...), func(p string) bool {
			return sandbox.Covers(work, p) || sandbox.Covers(p, work)
		})
	}
	dirs := slices.DeleteFunc(g.opts.MadeGit(), func(dir string) bool { return !near(dir) })
	return fewWarnings(dirs, func(dir string) string {
		return fmt.Sprintf("this session made the git directory %s: outside, git runs what its hooks and configuration name", show(dir))
	})
}

// fewWarnings returns warnings about the first paths; the rest is counted.
func fewWarnings(paths []string, words func(string) string) []string {
	slices.Sort(paths)
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

// plainWords returns the words of a list or pipeline of programs, and the files of its
// redirections. plain is false for a command that means more than its words say: it expands
// something, sets variables, changes its folder, or contains a script for another program.
func plainWords(command string) (words []string, plain bool) {
	if len(command) > rules.MaxLine || !rules.PlainASCII(command) {
		return nil, false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, false
	}
	plain = true
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.File, *syntax.BinaryCmd, *syntax.Stmt, *syntax.Redirect, *syntax.CallExpr, *syntax.Comment:
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Assigns) > 0 {
				plain = false
			}
		case *syntax.Word:
			word, ok := literal(n)
			plain = plain && ok && !textOrFolder(word)
			if ok {
				words = append(words, word)
			}
			return false
		case *syntax.Lit: // the number of a redirection's descriptor
		default:
			plain = false
		}
		return true
	})
	return words, plain
}

// textOrFolder reports a word that is more than a name: a script, a pattern, or a builtin
// that changes what the words after it mean.
func textOrFolder(word string) bool {
	return strings.ContainsAny(word, " \t\n;&|<>()$`\\\"'*?[]{}!#~") || slices.Contains([]string{"cd", "pushd", "popd", "eval"}, word)
}

// programNames returns the words that name the programs of a command, each once.
func programNames(command string) (names []string) {
	if len(command) > rules.MaxLine {
		return nil
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			if name, ok := literal(call.Args[0]); ok && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}
