package rules

import (
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxLine bounds what is parsed, in bytes: the parser recurses, and three megabytes of "$("
	// end the process, which no recover catches. 4 KiB take at most 20 ms.
	MaxLine = 4 << 10
	// maxNested is how deep texts in texts are read as commands (bash -c "bash -c …").
	maxNested = 4
	// unknown stands for a word whose text only the shell knows. No argument contains NUL.
	unknown = "\x00"
)

// Programs returns the words of each program that bash would start for the line, if the text
// shows them completely: literal words, joined by &&, ||, ;, | and newlines. Otherwise opaque
// says what else is in the line.
func Programs(line string) (parts [][]string, opaque string) {
	return plainOf(ParseLine(line))
}

// Words returns the words of a line that is one program with literal words. Otherwise opaque says
// what else the line contains.
func Words(line string) (words []string, opaque string) {
	parts, opaque := Programs(line)
	if opaque == "" && len(parts) != 1 {
		opaque = "it is more than one program"
	}
	if opaque != "" {
		return nil, opaque
	}
	return parts[0], ""
}

// plainOf is Programs for a result of ParseLine.
func plainOf(f *syntax.File, opaque string) (parts [][]string, _ string) {
	if opaque != "" {
		return nil, opaque
	}
	if len(f.Stmts) == 0 {
		return nil, "it contains no command"
	}
	if hasComment(f) {
		return nil, "it contains a comment"
	}
	for _, s := range f.Stmts {
		if opaque = plainStmt(s, &parts); opaque != "" {
			return nil, opaque
		}
	}
	return parts, ""
}

// unclear says why bash may read a line in another way than the parser, or a person than both.
func unclear(line string) string {
	switch {
	case len(line) > MaxLine:
		return "it is longer than 4 KiB"
	case strings.Contains(line, "\\\n") || strings.HasSuffix(line, "\\"):
		// The parser joins a comment that ends in a backslash with the next line; bash does not. The
		// parser keeps a final backslash; bash drops it after some lines.
		return "a line ends with a backslash"
	}
	if !PlainASCII(line) {
		return "it contains characters other than printable ASCII"
	}
	return ""
}

// PlainASCII rejects what the parser and bash read differently (a carriage return, NUL) and
// letters that look like others.
func PlainASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' })
}

// ParseLine reads a line as bash does, or returns why that is not certain.
func ParseLine(line string) (*syntax.File, string) {
	if opaque := unclear(line); opaque != "" {
		return nil, opaque
	}
	f, err := parse(line)
	if err != nil {
		return nil, "it cannot be parsed"
	}
	return f, ""
}

func parse(line string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
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
	return "the line does more than start programs one after the other"
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
	var b, unquoted strings.Builder
	literal = true
	add := func(text string, ok bool) {
		b.WriteString(text)
		literal = literal && ok
	}
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			tilde := i == 0 && strings.HasPrefix(p.Value, "~") || strings.Contains(p.Value, "=~") || strings.Contains(p.Value, ":~")
			add(unescape(p.Value, ""), !tilde)
			unquoted.WriteString(p.Value)
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
	return b.String(), literal && !expands(unquoted.String()) // quotes in braces or brackets do not end them
}

// Literal returns the word as the program will see it, and "" for a word that bash would change.
func Literal(w *syntax.Word) string {
	if text, literal := wordText(w); literal {
		return text
	}
	return ""
}

// expands reports a pattern or braces.
func expands(s string) bool {
	return strings.ContainsAny(s, "*?") || strings.Contains(s, "[") && strings.Contains(s, "]") || strings.Contains(s, "{") && strings.Contains(s, "}")
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

// eachProgram calls visit with the words of every program that the line may start, at any depth,
// and with each literal text that could be a script. inside: the program is in such a text. whole
// is false if the text may start more: a part is too long, does not parse, or computes the name of
// a program. parsed is the result of ParseLine. If it is nil, the line is parsed here.
func eachProgram(line string, parsed *syntax.File, visit func(words []string, inside bool)) (whole bool) {
	r := reader{visit: visit, whole: true, parsed: parsed}
	r.text(line, 0)
	r.parsed = nil
	if joined := strings.ReplaceAll(line, "\\\n", ""); joined != line {
		r.text(joined, 0)
	}
	return r.whole
}

// reader is the reading of one line.
type reader struct {
	visit func(words []string, inside bool)
	whole bool
	// parsed is the outermost text if it was already parsed.
	parsed *syntax.File
}

// bare removes quotes and backslashes.
var bare = strings.NewReplacer("'", "", `"`, "", `\`, "", "$", " ")

func (r *reader) text(line string, depth int) {
	if depth > maxNested || len(line) > MaxLine {
		r.whole = false
		return
	}
	// Each line's words as they stand, should bash read the line in another way than the parser.
	for _, l := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune("\n;&|()`{}", c) }) {
		if words := strings.Fields(bare.Replace(l)); len(words) > 0 {
			r.visit(words, true)
		}
	}
	f, err := r.parsed, error(nil)
	if f == nil || depth > 0 {
		f, err = parse(line)
	}
	if err != nil {
		r.whole = r.whole && depth > 0 // a text within the line may be no script at all
		return
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			r.call(n, depth)
		case *syntax.Word:
			r.nested(n, depth)
		case *syntax.Redirect:
			if n.Hdoc != nil {
				for _, part := range n.Hdoc.Parts {
					if lit, ok := part.(*syntax.Lit); ok {
						r.text(lit.Value, depth+1)
					}
				}
			}
		}
		return true
	})
}

func (r *reader) call(n *syntax.CallExpr, depth int) {
	words := wordsOf(n)
	if len(words) == 0 {
		return
	}
	// In a text within the line, "$X" may come from the reading of the text itself.
	r.whole = r.whole && (words[0] != unknown || depth > 0)
	r.visit(words, depth > 0)
}

// wordsOf returns the words of a command; those that are not literal are unknown.
func wordsOf(n *syntax.CallExpr) []string {
	words := make([]string, 0, len(n.Args))
	for _, w := range n.Args {
		text, literal := wordText(w)
		if !literal {
			text = unknown
		}
		words = append(words, text)
	}
	return words
}

// nested reads a word that may be a script for another program.
func (r *reader) nested(w *syntax.Word, depth int) {
	switch text, literal := wordText(w); {
	case strings.ContainsAny(text, " \t\n;&|`(<>"):
		r.text(text, depth+1)
	case literal && text != "":
		r.visit([]string{text}, true)
	}
}
