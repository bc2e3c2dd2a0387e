package approvals

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// A yes to run outside the sandbox is bound to the text of a command, and the text names
// files. Sandboxed commands may change these files after the person has read the question.
// Therefore such a yes applies to one call only, unless nothing that the command can run is
// where commands may write. That cannot be known for a program that reads its working folder
// (make, npm, git), and any program may do that.

// outside is what a question about leaving the sandbox shows beside the text.
type outside struct {
	// changes says why a yes cannot apply to the session, "" if it can.
	changes  string
	warnings []string
}

// outsideOf finds what a, run outside the sandbox, would run or read that commands under base
// may change.
func (g *Gate) outsideOf(base sandbox.Policy, a Action) outside {
	if a.Kind != word.KindCommand || base.Unconfined {
		return outside{}
	}
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
	switch {
	case way >= 0:
		out.changes = "programs are looked for in " + show(g.opts.Path[way]) + ", which commands can change"
	case knownReadOnly(a.Command):
	case !plain:
		out.changes = "its text does not show which files it runs"
	case refusal != nil || changeable(base, folder):
		out.changes = "it can run files of its folder, which commands can change"
	case len(named) > 0:
		out.changes = "it names files that commands can change"
	}
	out.warnings = append(g.at.namedFiles(named), g.madeGit(folder, named, plain)...)
	return out
}

// changeable reports whether commands under p may change what the name path leads to.
func changeable(p sandbox.Policy, path string) bool {
	return sandbox.CoveredBy(writeRoots(p), path) && p.JudgeWrite(path).Allowed
}

// holdsRoot reports whether path is a folder that contains a write root.
func holdsRoot(p sandbox.Policy, path string) bool {
	return slices.ContainsFunc(writeRoots(p), func(root string) bool { return sandbox.Covers(path, root) })
}

func writeRoots(p sandbox.Policy) []string {
	out := sandbox.PathsOf(p.Write)
	if p.Temp != "" {
		out = append(out, p.Temp)
	}
	return out
}

// mostNamed bounds the files, and the git directories, that a question names in warnings.
const mostNamed = 3

// madeGit warns about git directories that commands of the session made: git runs programs
// that they configure, and no person has seen them. Git searches for one from the working
// folder upwards, and tools run git in folders below it.
func (g *Gate) madeGit(folder string, named []string, plain bool) []string {
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
