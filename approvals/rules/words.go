package rules

import (
	"path"
	"strconv"
	"strings"

	"codeagent/internal/short"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxLine bounds what is parsed: the parser recurses, and three megabytes of "$(" end the
	// process. 4 KiB take at most 20 ms.
	maxLine = 4 << 10
	// maxNested is how deep texts in texts are read as commands (bash -c "bash -c …").
	maxNested = 4
	// unknown stands for a word whose text only the shell knows. No argument contains NUL.
	unknown = "\x00"
)

// plainParts returns the words of each program that bash would start for the line, if the text
// shows them completely: literal words, joined by &&, ||, ;, | and newlines. Otherwise opaque
// says what else is in the line.
func plainParts(line string) (parts [][]string, opaque string) {
	f, why := parse(line)
	if why != "" {
		return nil, why
	}
	if len(f.Stmts) == 0 {
		return nil, "it contains no command"
	}
	if strings.Contains(line, "#") && hasComment(f) {
		return nil, "it contains a comment"
	}
	for _, s := range f.Stmts {
		if opaque = plainStmt(s, &parts); opaque != "" {
			return nil, opaque
		}
	}
	return parts, ""
}

// parse reads a line as bash does, or says why that is not certain.
func parse(line string) (*syntax.File, string) {
	switch {
	case len(line) > maxLine:
		return nil, "it is longer than 4 KiB"
	case strings.Contains(line, "\\\n"):
		// The parser joins a comment that ends in a backslash with the next line; bash does not.
		return nil, "a line ends with a backslash"
	}
	for i := range len(line) {
		// The parser drops a carriage return and NUL, bash keeps them. Letters beyond ASCII can
		// look like others.
		if c := line[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return nil, "it contains characters other than printable ASCII"
		}
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, "it cannot be parsed"
	}
	return f, ""
}

func hasComment(f *syntax.File) (found bool) {
	syntax.Walk(f, func(n syntax.Node) bool {
		_, comment := n.(*syntax.Comment)
		found = found || comment
		return !found
	})
	return found
}

// plainStmt adds the programs of a statement to parts, or says why its text does not show them.
func plainStmt(s *syntax.Stmt, parts *[][]string) (opaque string) {
	if s.Background || s.Coprocess || s.Disown || s.Negated {
		return "it contains &, |& or !"
	}
	for _, r := range s.Redirs {
		if !harmless(r) {
			return "it contains a redirection"
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.PipeAll {
			return "it contains &, |& or !"
		}
		if opaque = plainStmt(c.X, parts); opaque != "" {
			return opaque
		}
		return plainStmt(c.Y, parts)
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return "it sets a variable"
		}
		words := make([]string, len(c.Args))
		for i, w := range c.Args {
			text, literal := wordText(w)
			if !literal {
				return "a word of it is expanded by the shell"
			}
			words[i] = text
		}
		if words[0] == "" {
			return "a program without a name"
		}
		*parts = append(*parts, words)
		return ""
	}
	return "it is more than a list of programs"
}

// harmless reports a redirection that opens no file but /dev/null.
func harmless(r *syntax.Redirect) bool {
	if r.N != nil && r.N.Value != "1" && r.N.Value != "2" {
		return false
	}
	text, literal := wordText(r.Word)
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrIn:
		return literal && text == "/dev/null"
	case syntax.DplOut:
		return literal && (text == "1" || text == "2")
	}
	return false
}

// wordText returns the text of a word after quotes are removed. literal is false if the shell
// may make something else of it; then expansions stand in the text as "$X".
func wordText(w *syntax.Word) (text string, literal bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	literal = true
	add := func(text string, ok bool) {
		b.WriteString(text)
		literal = literal && ok
	}
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			tilde := i == 0 && strings.HasPrefix(p.Value, "~") || strings.Contains(p.Value, "=~") || strings.Contains(p.Value, ":~")
			add(unescape(p.Value, ""), !tilde && !strings.ContainsAny(p.Value, "*?[{"))
		case *syntax.SglQuoted:
			add(ansiC(p))
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					add(unescape(lit.Value, "$`\"\\"), !p.Dollar)
				} else {
					add("$X", false)
				}
			}
		default:
			add("$X", false)
		}
	}
	return b.String(), literal
}

// ansiC returns the text of single quotes. That of $'…' counts as not literal: bash knows more
// escapes than are decoded here.
func ansiC(p *syntax.SglQuoted) (string, bool) {
	if !p.Dollar {
		return p.Value, true
	}
	if text, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(p.Value, `\'`, `'`), `"`, `\"`) + `"`); err == nil {
		return text, false
	}
	return p.Value, false
}

// unescape removes backslashes as bash does. In double quotes only those before one of
// escaped count; without quotes escaped is empty, and all count.
func unescape(s, escaped string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (escaped == "" || strings.IndexByte(escaped, s[i+1]) >= 0) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// base returns the program's name without its folder.
func base(word string) string {
	if word == unknown || !strings.Contains(word, "/") {
		return word
	}
	return path.Base(word)
}

// eachProgram calls visit with the words of everything that the line may start: each program at
// any depth, and each literal text that could be a script. inside: the program stands in such
// a text.
func eachProgram(line string, visit func(words []string, inside bool)) { readText(line, 0, visit) }

// bare removes quotes and backslashes.
var bare = strings.NewReplacer("'", "", `"`, "", `\`, "", "$", " ")

func readText(line string, depth int, visit func(words []string, inside bool)) {
	if depth > maxNested {
		return
	}
	// Each line's words as they stand, should bash read the line in another way than the parser.
	for _, l := range strings.FieldsFunc(short.Head(line, maxLine), func(c rune) bool { return strings.ContainsRune("\n;&|()`{}", c) }) {
		if words := strings.Fields(bare.Replace(l)); len(words) > 0 {
			visit(words, true)
		}
	}
	f, why := parse(line)
	if why != "" {
		return
	}
	nested := func(w *syntax.Word) {
		switch text, literal := wordText(w); {
		case strings.ContainsAny(text, " \t\n;&|`(<>"):
			readText(text, depth+1, visit)
		case literal && text != "":
			visit([]string{text}, true)
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := make([]string, 0, len(n.Args))
			for _, w := range n.Args {
				text, literal := wordText(w)
				if !literal {
					text = unknown
				}
				words = append(words, text)
			}
			if len(words) > 0 {
				visit(words, depth > 0)
			}
		case *syntax.Word:
			nested(n)
		case *syntax.Redirect:
			if n.Hdoc != nil {
				for _, part := range n.Hdoc.Parts {
					if lit, ok := part.(*syntax.Lit); ok {
						readText(lit.Value, depth+1, visit)
					}
				}
			}
		}
		return true
	})
}
