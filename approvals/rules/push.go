package rules

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// OverwritesRemote reports whether a command line may delete or overwrite refs of a remote git
// repository: by a git push with --force, --delete or the like, directly or through another
// program, or where the shell may add such an option. It judges only the text. It cannot see the
// contents of scripts that the line names, nor git's configuration. So it only decides whether to
// ask; it is not a security boundary.
func OverwritesRemote(line string) bool {
	if !mentionsPush(bare.Replace(strings.ReplaceAll(line, "\\\n", ""))) && !strings.Contains(line, "$'") {
		return false
	}
	return (&pushReader{values: map[string][]string{}, texts: maxTexts}).text(line, 0)
}

// OverwritesByWords is OverwritesRemote for the words of one program.
func OverwritesByWords(words []string) bool {
	return slices.ContainsFunc(words, mentionsPush) && (&pushReader{texts: maxTexts}).program(words, 0)
}

// maxTexts limits the texts that are read in a line, and maxPushWords the words of a push. Anything
// longer counts as overwriting.
const maxTexts, maxPushWords = 100, 256

var (
	// pushes are the subcommands of git that send refs.
	pushes = []string{"push", "send-pack", "http-push"}
	// overwriting are push options that delete or overwrite refs. valued are push options that take
	// the next word as their value.
	overwriting = []string{"--force", "--force-with-lease", "--mirror", "--delete", "--prune"}
	valued      = []string{"-o", "--push-option", "--repo", "--receive-pack", "--exec"}
	// gitValued are options of git itself that take the next word as their value.
	gitValued = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"}
	// printers only print their arguments.
	printers = []string{"echo", "printf"}
	// branchNames are subcommands of git that print branch names.
	branchNames = []string{"branch", "rev-parse", "symbolic-ref"}
)

// pushReader reads a command line and the texts in it.
type pushReader struct {
	// values are the texts that the line assigns to each variable. unknown among them means any text.
	values map[string][]string
	// functions are the functions that the line defines.
	functions []string
	// mentions: a value or a substitution contains "push", so an unknown word may be "push".
	mentions bool
	// rough: the words were not parsed as bash.
	rough bool
	texts int
}

// text reports whether a text, run by bash, overwrites.
func (r *pushReader) text(line string, depth int) (found bool) {
	if r.texts--; r.texts < 0 || depth > maxNested {
		return true
	}
	if len(line) > MaxLine {
		return r.raw(line, false)
	}
	f, err := parse(line)
	if err != nil {
		return r.raw(line, false)
	}
	r.learn(f)
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			found = found || r.statement(n, depth)
		case *syntax.BinaryCmd:
			if to, ok := n.Y.Cmd.(*syntax.CallExpr); ok && (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) {
				words := r.call(to)
				if at := starter(words); at >= 0 {
					found = found || r.printed(n.X, words[at], depth)
				}
			}
		}
		return !found
	})
	return found
}

// raw judges a text that does not parse as bash. anywhere: each word may start a program, as in a
// text of another language.
func (r *pushReader) raw(text string, anywhere bool) bool {
	rough := pushReader{rough: true}
	separators := "\n;&|()`{}"
	if anywhere {
		text, separators = strings.NewReplacer(",", " ", "[", " ", "]", " ", "(", " ", ")", " ").Replace(text), "\n;"
	}
	for _, l := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
		words := strings.Fields(bare.Replace(l))
		for i, word := range words {
			if rough.git(words[i:]) {
				return true
			}
			if !anywhere && runner(word) == "" && i == 0 {
				break
			}
		}
	}
	return false
}

// learn collects the values that the line assigns to variables, and the functions that it defines.
func (r *pushReader) learn(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if n.Name != nil {
				r.functions = append(r.functions, n.Name.Value)
			}
		case *syntax.Assign:
			switch {
			case n.Name == nil:
			case n.Array != nil:
				for _, e := range n.Array.Elems {
					r.give(n.Name.Value, e.Value)
				}
			case n.Append:
				r.give(n.Name.Value, nil)
				r.mentions = r.mentions || mentionsPush(texts(n))
			default:
				r.give(n.Name.Value, n.Value)
			}
		case *syntax.WordIter:
			for _, w := range n.Items {
				r.give(n.Name.Value, w)
			}
			if len(n.Items) == 0 {
				r.give(n.Name.Value, nil)
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			// These assign values that the line does not show.
			if name, _ := wordText(n.Args[0]); slices.Contains(shellBuiltins, name) {
				for _, w := range n.Args[1:] {
					text, _ := wordText(w)
					r.values[text] = append(r.values[text], unknown)
				}
				r.mentions = r.mentions || name == "set" && mentionsPush(texts(n))
			}
		}
		return true
	})
}

// give adds a possible value of a variable. Nil means any value.
func (r *pushReader) give(name string, w *syntax.Word) {
	if w == nil {
		r.values[name] = append(r.values[name], unknown)
		return
	}
	words := r.words(w)
	r.values[name] = append(r.values[name], words...)
	r.mentions = r.mentions || slices.ContainsFunc(words, mentionsPush)
}

func mentionsPush(text string) bool {
	return slices.ContainsFunc(pushes, func(name string) bool { return strings.Contains(text, name) })
}

// texts joins the literal texts below a node.
func texts(n syntax.Node) string {
	var b strings.Builder
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(n.Value, ""))
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		}
		return true
	})
	return b.String()
}

// call returns the words of a program.
func (r *pushReader) call(c *syntax.CallExpr) (words []string) {
	for _, w := range c.Args {
		words = append(words, r.words(w)...)
	}
	return words
}

// words returns the arguments that a word may expand to. unknown stands for arbitrary ones.
func (r *pushReader) words(w *syntax.Word) []string {
	text, literal := wordText(w)
	if literal {
		return []string{text}
	}
	first := w.Parts[0]
	if q, ok := first.(*syntax.DblQuoted); ok && len(q.Parts) > 0 {
		first = q.Parts[0]
	}
	switch p := first.(type) {
	case *syntax.ParamExp:
		if values := r.values[p.Param.Value]; len(values) > 0 && !changed(p) && !slices.Contains(values, unknown) {
			return strings.Fields(strings.Join(values, " "))
		}
		r.mentions = r.mentions || mentionsPush(texts(p))
		return []string{unknown}
	case *syntax.CmdSubst:
		if words := substituted(p); len(words) > 1 && base(words[0]) == "git" && slices.Contains(branchNames, words[1]) && !slices.ContainsFunc(words, overwrites) {
			return []string{"branch"} // a branch name does not begin with a dash
		}
		r.mentions = r.mentions || mentionsPush(texts(p))
		return []string{unknown}
	}
	if text == "" || strings.ContainsRune("$*?[{", rune(text[0])) {
		r.mentions = r.mentions || mentionsPush(texts(w))
		return []string{unknown}
	}
	return []string{text} // only its beginning matters
}

// changed reports an expansion that modifies the value.
func changed(p *syntax.ParamExp) bool {
	return p.Exp != nil || p.Slice != nil || p.Repl != nil || p.Excl || p.Length || p.Width || p.Names != 0
}

// substituted returns the words of a substitution that runs one program with literal words.
func substituted(s *syntax.CmdSubst) []string {
	var parts [][]string
	if len(s.Stmts) != 1 || plainStmt(s.Stmts[0], &parts) != "" || len(parts) != 1 {
		return nil
	}
	return parts[0]
}

// statement judges one program of a script, and the texts passed to it.
func (r *pushReader) statement(s *syntax.Stmt, depth int) (found bool) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	words := r.call(c)
	if len(words) == 0 {
		return false
	}
	if text, literal := wordText(c.Args[0]); slices.Contains(r.functions, words[0]) || !literal && text == words[0] && strings.ContainsAny(text, "$*?[{") {
		words[0] = unknown
	}
	if r.program(words, depth) {
		return true
	}
	// The output of a substitution may be the program itself, or a script for it.
	program := words[0]
	if at := starter(words); at >= 0 {
		program = words[at]
	} else if program != unknown {
		return false
	}
	for _, w := range c.Args {
		if _, literal := wordText(w); !literal {
			found = found || r.printed(w, program, depth)
		}
	}
	for _, d := range s.Redirs {
		if d.Word != nil && d.Op != syntax.Hdoc && d.Op != syntax.DashHdoc {
			found = found || r.printed(d.Word, program, depth)
		}
		text := ""
		switch {
		case d.Hdoc != nil:
			text, _ = wordText(d.Hdoc)
		case d.Op == syntax.WordHdoc:
			text, _ = wordText(d.Word)
		}
		found = found || r.script(program, text, depth)
	}
	return found
}

// starter returns the index of the last word that is a program which runs the texts after it, or
// -1.
func starter(words []string) int {
	at := -1
	for i, word := range words {
		switch {
		case i == 0 && (runner(word) != "" || runsText(words)):
			at = 0
		case i > 0 && runner(word) != "" && !slices.Contains(shellBuiltins, word):
			at = i
		}
	}
	return at
}

// runsText reports whether a program runs some of its words as a script. For git it checks the
// words after the subcommand; configured checks git's own options.
func runsText(words []string) bool {
	words = subcommand(words)
	return hidden(words, 1) != "" || len(words) > 2 && base(words[0]) == "git" && words[1] == "submodule" && words[2] == "foreach"
}

// subcommand returns the words of a git command without git's own options.
func subcommand(words []string) []string {
	if base(words[0]) != "git" {
		return words
	}
	for i := 1; i < len(words); i++ {
		switch {
		case slices.Contains(gitValued, words[i]):
			i++
		case !strings.HasPrefix(words[i], "-"):
			return append([]string{"git"}, words[i:]...)
		}
	}
	return words[:1]
}

// script judges a text that a program may run.
func (r *pushReader) script(program, text string, depth int) bool {
	if !strings.ContainsAny(text, " \t\n;$") {
		return false
	}
	name := base(program)
	if strings.HasSuffix(name, "sh") || !slices.Contains(interpreters, strings.TrimRight(name, "0123456789.-")) {
		return r.text(text, depth+1)
	}
	return r.raw(text, true)
}

// printed judges the output of the programs below a node, as scripts for another program.
func (r *pushReader) printed(n syntax.Node, program string, depth int) (found bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := r.call(n)
			for _, word := range words[min(len(words), 1):] {
				found = found || r.script(program, word, depth)
			}
			found = found || len(words) > 2 && r.script(program, strings.Join(words[1:], " "), depth)
		case *syntax.Redirect:
			if n.Hdoc != nil {
				text, _ := wordText(n.Hdoc)
				found = found || r.script(program, text, depth)
			}
		}
		return !found
	})
	return found
}

// program judges the words of a program, and of each program that these words may start.
func (r *pushReader) program(words []string, depth int) bool {
	if len(words) == 0 || slices.Contains(printers, words[0]) {
		return false
	}
	if slices.ContainsFunc(words, func(word string) bool { return base(word) == "xargs" }) {
		words = append(slices.Clone(words), unknown) // arguments that xargs reads
	}
	runs := starter(words)
	for i, word := range words {
		if (i == 0 || runs == 0 || word != unknown) && r.git(words[i:]) {
			return true
		}
		if i > 0 && runs >= 0 && r.script(words[min(runs, i-1)], option(word), depth) {
			return true
		}
	}
	return false
}

// option returns the value of --name=value. Other words are returned unchanged.
func option(word string) string {
	if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
		return value
	}
	return word
}

// git judges words that may begin a git command.
func (r *pushReader) git(words []string) bool {
	program := base(words[0])
	if name, ok := strings.CutPrefix(program, "git-"); ok && slices.Contains(pushes, name) {
		return r.forced(words[1:])
	}
	if program != "git" && program != unknown {
		return false
	}
	opaque, mirror := program == unknown, false
	for i := 1; i < len(words); i++ {
		word := words[i]
		switch {
		case i > maxPushWords:
			return true
		case slices.Contains(pushes, word):
			return mirror || r.forced(words[i+1:])
		case word == unknown:
			opaque = true
		case slices.Contains(gitValued, word):
			i++
			if word == "-c" && i < len(words) {
				if configured(words[i]) {
					return true
				}
				mirror = mirror || mirrors(words[i])
			}
		case opaque && r.mentions && overwrites(word):
			return true
		case strings.HasPrefix(word, "-"):
		case word == "config" && i+2 < len(words):
			return configured(words[len(words)-2] + "=" + words[len(words)-1])
		case !opaque:
			return false // another subcommand
		}
	}
	// An unknown word may expand to the subcommand and its arguments.
	return program == "git" && opaque && r.mentions
}

// configured reports a git setting that forces a push: an alias, or the refs of a remote.
func configured(setting string) bool {
	key, value, _ := strings.Cut(setting, "=")
	words := strings.Fields(bare.Replace(value))
	return mentionsPush(key+" "+value) && slices.ContainsFunc(words, overwrites)
}

// mirrors reports the setting remote.NAME.mirror.
func mirrors(setting string) bool {
	key, value, _ := strings.Cut(strings.ToLower(setting), "=")
	return strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".mirror") && !slices.Contains([]string{"false", "no", "off", "0"}, value)
}

// forced reports whether the arguments of a push allow it to overwrite or delete refs.
func (r *pushReader) forced(words []string) bool {
	if len(words) > maxPushWords {
		return true
	}
	forced, tries, options := false, false, true
	for i, word := range words {
		switch {
		case i > 0 && options && slices.Contains(valued, words[i-1]):
		case word == unknown:
			return true
		case word == "--":
			options = false
		case options && (word == "--dry-run" || strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(letters(word), "n")):
			tries = !r.rough
			forced = forced || overwrites(word)
		case word == "--no-dry-run":
			tries = false
		default:
			forced = forced || overwrites(word)
		}
	}
	return forced && !tries
}

// overwrites reports an argument of a push that forces or deletes, or may do so.
func overwrites(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case word == "":
		return false
	case strings.HasPrefix(word, "--"):
		return strings.Contains(name, "$") || len(name) > 2 && slices.ContainsFunc(overwriting, func(option string) bool { return strings.HasPrefix(option, name) })
	case word[0] == '-':
		return strings.ContainsAny(letters(word), "fd$")
	}
	return word[0] == '+' || word[0] == ':' && len(word) > 1
}

// letters returns the short options of a word, without the value of -o.
func letters(word string) string {
	before, _, _ := strings.Cut(word[1:], "o")
	return before
}
