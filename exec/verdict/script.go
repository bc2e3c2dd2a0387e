package verdict

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
)

// maxScript bounds the bytes that are parsed: the parser's time grows faster than the text.
const maxScript = 8 << 10

// isShell reports whether program runs the text after its -c.
func isShell(program string) bool {
	return slices.Contains([]string{"bash", "sh", "dash", "zsh", "ksh"}, path.Base(program))
}

// parse returns the statements of the text that a shell in argv runs. It returns nil if there
// is no such text, or if it cannot be parsed reliably. The shell need not come first in argv:
// another program may start it (env sh -c TEXT).
func (t *tree) parse(argv []string) (text []*syntax.Stmt, errexit bool) {
	at := slices.IndexFunc(argv, isShell)
	for i := at + 1; at >= 0 && i+1 < len(argv) && strings.HasPrefix(argv[i], "-"); i++ {
		errexit = errexit || strings.Contains(argv[i], "e")
		if strings.Contains(argv[i], "c") {
			return t.statements(argv[i+1]), errexit
		}
	}
	return nil, false
}

// statements parses text, and returns the same nodes for the same text. The parser treats
// the line after a comment that ends in a backslash as part of the comment, and drops
// carriage returns and NUL. A shell does neither, so such text is not parsed.
func (t *tree) statements(text string) []*syntax.Stmt {
	known, ok := t.texts[text]
	odd := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if ok || len(text) > maxScript || strings.Contains(text, "\\\n") || strings.ContainsFunc(text, odd) {
		return known
	}
	if f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), ""); err == nil {
		t.texts[text] = f.Stmts
	}
	return t.texts[text]
}

// pattern returns a node's text. Known variables are replaced by their values in vars, and
// other expansions by "*".
func pattern(n syntax.Node, vars map[string]string) string {
	var b strings.Builder
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign: // its value counts
			if n.Value != nil {
				b.WriteString(pattern(n.Value, vars))
			}
			return false
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(n.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		case *syntax.ParamExp:
			if b.WriteString(vars[n.Param.Value]); vars == nil {
				b.WriteByte('*')
			}
			return false
		case *syntax.ArithmExp:
			return vars != nil || b.WriteByte('*') != nil
		case *syntax.CmdSubst:
			return b.WriteByte('*') != nil
		}
		return true
	})
	return b.String()
}

// means reports whether a word can name the target of d or something below it, judged by
// the last part of the path. The word may also name the folder of the target: a later
// command on that folder misses the file that could not be created.
func means(word string, d *sandbox.Denial) bool {
	if h, err := sandbox.ParseHostPort(d.Target); d.Kind == sandbox.KindNetwork {
		return err == nil && strings.Contains(word, h.Host)
	}
	if !path.IsAbs(d.Target) { // a process, a kind of socket
		return len(word) > 1 && strings.Contains(d.Target, word)
	}
	end := path.Clean("/" + strings.TrimPrefix(word[strings.LastIndexAny(word, "*=")+1:], "~"))
	for _, target := range []string{d.Target, path.Clean("/" + d.Requested)} {
		for at := end; at != "/"; at = path.Dir(at) {
			if strings.HasSuffix(target, at) {
				return true
			}
		}
		if end != "/" && strings.HasSuffix(path.Dir(target), end) {
			return true
		}
	}
	return false
}
