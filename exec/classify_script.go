package exec

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a shell was told to run says which of its commands decides how it ends:
// of "a; b" it is b, of "a && b" either. Only text that is known is read, as
// `bash -c TEXT` has it; nothing is expanded, and the words only help to tell
// which of the processes that failed mattered.

// maxScript bounds what is parsed: the parser's time grows faster than the text.
const maxScript = 8 << 10

// step is one command of a script whose failure is, or led to, that of all.
type step struct {
	// words are the patterns of its arguments, the first one its name.
	words []string
	// writes are those that its redirections, and those around it, open.
	writes []string
	// feeds: its output goes to the step that decides. What it cannot fetch is
	// missing there; what it cannot write is not.
	feeds bool
	// loops: it is run again and again, with other names.
	loops bool
}

// shells run text: their own name tells nothing of what they do.
var shells = []string{"bash", "sh", "dash", "zsh", "ksh"}

// scriptOf is the text that argv has a shell run, begun with what its options set.
func scriptOf(argv []string) (string, bool) {
	if len(argv) == 0 || !slices.Contains(shells, path.Base(argv[0])) {
		return "", false
	}
	set, text := "", false
	for i := 1; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case strings.HasPrefix(arg, "--"):
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			if strings.Contains(arg, "e") {
				set += "set -e\n"
			}
			text = text || strings.Contains(arg, "c")
			if strings.HasSuffix(arg, "o") && i+1 < len(argv) {
				i++
				set += "set -o " + argv[i] + "\n"
			}
		case text:
			return set + arg, true
		default:
			return "", false
		}
	}
	return "", false
}

// script is what is known of the text while it is walked.
type script struct {
	exit int
	// strict: set -e, piped: set -o pipefail.
	strict, piped bool
	functions     map[string]*syntax.Stmt
	depth         int
	// left is how many more statements are looked at: functions that call others
	// could make any number of them.
	left *int
}

// deciding returns the steps that can have made the text end with status exit,
// and false where the text cannot be read.
func deciding(text string, exit int) ([]step, bool) {
	left := maxStatements
	steps, ok := (&script{exit: exit, left: &left}).read(text)
	return steps, ok && left > 0
}

const maxStatements = 4000

func (s *script) read(text string) ([]step, bool) {
	if len(text) > maxScript || s.depth > maxNested {
		return nil, false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, false
	}
	inner := &script{exit: s.exit, functions: map[string]*syntax.Stmt{}, depth: s.depth + 1, left: s.left}
	syntax.Walk(f, inner.settings)
	return inner.list(f.Stmts), true
}

// maxNested bounds shells that run the text of shells, and functions.
const maxNested = 8

// settings takes up what holds for the whole script.
func (s *script) settings(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.FuncDecl:
		s.functions[n.Name.Value] = n.Body
	case *syntax.CallExpr:
		words := patterns(n.Args)
		if len(words) < 2 || words[0] != "set" {
			break
		}
		for _, w := range words[1:] {
			s.strict = s.strict || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "e")
			s.piped = s.piped || w == "pipefail"
		}
	}
	return true
}

// list is a list of statements: the last decides, and every one that may leave
// early. "$?" and "${PIPESTATUS[1]}" hand on what came before.
func (s *script) list(stmts []*syntax.Stmt) []step {
	var out []step
	last := len(stmts) - 1
	for i, stmt := range stmts {
		switch {
		case i == last && handsOn(stmt):
			out = append(out, s.before(stmts[:i], stmt)...)
		case i == last && stmt.Negated:
			// It fails because what it runs did not.
		case i == last || s.strict:
			out = append(out, s.stmt(stmt)...)
		default:
			out = append(out, s.leaving(stmt)...)
		}
	}
	return out
}

// before are the steps whose status the last statement hands on: of the
// statement before it, or before the assignment that kept it.
func (s *script) before(stmts []*syntax.Stmt, last *syntax.Stmt) []step {
	source := code(last)
	n := len(stmts) - 1
	if !strings.Contains(source, "?") && !strings.Contains(source, "PIPESTATUS") {
		for ; n >= 0 && !strings.Contains(code(stmts[n]), "=$?"); n-- {
		}
		n--
	}
	if n < 0 {
		return nil
	}
	if pipe, ok := stmts[n].Cmd.(*syntax.BinaryCmd); ok && strings.Contains(source, "PIPESTATUS") {
		all := *s
		all.piped = true
		return all.stmt(&syntax.Stmt{Cmd: pipe})
	}
	return s.stmt(stmts[n])
}

// handsOn reports an exit whose status is a variable.
func handsOn(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	words := patterns(call.Args)
	return len(words) == 2 && (words[0] == "exit" || words[0] == "return") && words[1] == "*"
}

func code(n syntax.Node) string {
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, n)
	return b.String()
}

// leaving are the steps of a statement that is not the last: they matter where it
// can end the script. Both sides of what decides whether it does are meant.
func (s *script) leaving(stmt *syntax.Stmt) []step {
	leaves := false
	syntax.Walk(stmt, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		leaves = leaves || ok && s.exits(patterns(call.Args))
		_, inside := n.(*syntax.Subshell)
		_, declared := n.(*syntax.FuncDecl)
		return !inside && !declared
	})
	if !leaves {
		return nil
	}
	return s.stmt(stmt)
}

// exits reports a command that ends the script with the status it had.
func (s *script) exits(words []string) bool {
	if len(words) == 0 || words[0] != "exit" && words[0] != "return" {
		return false
	}
	if len(words) == 1 {
		return true
	}
	status, err := strconv.Atoi(words[1])
	return err != nil || status&0xff == s.exit
}

// stmt is one statement.
func (s *script) stmt(stmt *syntax.Stmt) []step {
	if *s.left--; stmt.Background || stmt.Coprocess || *s.left <= 0 {
		return nil
	}
	out := s.command(stmt.Cmd)
	var writes []string
	for _, r := range stmt.Redirs {
		if r.Word != nil && r.Op != syntax.DplIn && r.Op != syntax.DplOut {
			writes = append(writes, pattern(r.Word))
		}
	}
	if len(writes) == 0 {
		return out
	}
	if len(out) == 0 {
		return []step{{writes: writes}}
	}
	for i := range out {
		out[i].writes = append(slices.Clip(out[i].writes), writes...)
	}
	return out
}

func (s *script) command(c syntax.Command) []step {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return s.call(c)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return s.pipe(c)
		}
		// "a || b" fails where both do: had a passed, b would not have mattered.
		return append(s.stmt(c.X), s.list([]*syntax.Stmt{c.Y})...)
	case *syntax.Subshell:
		return s.list(c.Stmts)
	case *syntax.Block:
		return s.list(c.Stmts)
	case *syntax.IfClause:
		var out []step
		for at := c; at != nil; at = at.Else {
			for _, cond := range at.Cond[max(0, len(at.Cond)-1):] {
				out = append(out, s.stmt(cond)...)
			}
			out = append(out, s.list(at.Then)...)
		}
		return out
	case *syntax.WhileClause:
		return s.loop(c.Do)
	case *syntax.ForClause:
		return s.loop(c.Do)
	case *syntax.CaseClause:
		var out []step
		for _, item := range c.Items {
			out = append(out, s.list(item.Stmts)...)
		}
		return out
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return s.stmt(c.Stmt)
		}
	case *syntax.TestClause:
		return []step{{words: append([]string{"["}, strings.Fields(code(c))...)}}
	}
	return nil
}

func (s *script) loop(body []*syntax.Stmt) []step {
	out := s.list(body)
	for i := range out {
		out[i].loops = true
	}
	return out
}

// pipe: the last decides, with pipefail all of them.
func (s *script) pipe(c *syntax.BinaryCmd) []step {
	first := s.stmt(c.X)
	for i := range first {
		first[i].feeds = first[i].feeds || !s.piped
	}
	return append(first, s.stmt(c.Y)...)
}

func (s *script) call(c *syntax.CallExpr) []step {
	if len(c.Args) == 0 {
		return s.assigned(c.Assigns)
	}
	words := patterns(c.Args)
	switch {
	case words[0] == "false" || words[0] == "exit" || words[0] == "return":
		return nil // fails whatever was refused
	case slices.Contains(shells, path.Base(words[0])):
		if text, ok := scriptOf(literals(c.Args)); ok {
			if inner, ok := s.read(text); ok {
				return inner
			}
		}
	case s.functions[words[0]] != nil && s.depth < maxNested:
		s.depth++
		defer func() { s.depth-- }()
		return s.stmt(s.functions[words[0]])
	}
	// What is put in the place of "$(...)" is missing where it was refused.
	out := []step{{words: words}}
	for _, arg := range c.Args {
		for _, st := range s.substituted(arg) {
			st.feeds = true
			out = append(out, st)
		}
	}
	return out
}

// assigned: "x=$(a)" fails as a does.
func (s *script) assigned(list []*syntax.Assign) []step {
	var out []step
	for _, a := range list {
		if a.Value != nil {
			out = append(out, s.substituted(a.Value)...)
		}
	}
	return out
}

func (s *script) substituted(w *syntax.Word) []step {
	var out []step
	syntax.Walk(w, func(n syntax.Node) bool {
		if sub, ok := n.(*syntax.CmdSubst); ok {
			out = append(out, s.list(sub.Stmts)...)
			return false
		}
		return true
	})
	return out
}

func patterns(words []*syntax.Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = pattern(w)
	}
	return out
}

// pattern is a word with "*" for what the shell puts in its place.
func pattern(w *syntax.Word) string {
	var b strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit:
				b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			default:
				b.WriteByte('*')
			}
		}
	}
	add(w.Parts)
	return b.String()
}

// literals are the words as the program sees them; a word that the shell changes
// ends them.
func literals(words []*syntax.Word) []string {
	var out []string
	for _, w := range words {
		text := pattern(w)
		if strings.Contains(text, "*") && !quotedAll(w) {
			break
		}
		out = append(out, text)
	}
	return out
}

func quotedAll(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if _, ok := part.(*syntax.SglQuoted); !ok {
			return false
		}
	}
	return true
}
