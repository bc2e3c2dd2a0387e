package named

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
)

// A command may be refused something and then achieve the same in another way: the same program is
// started with the same words, except for options and for words that name what was refused. This
// file detects that in texts. It expands nothing.

// maxStarts and maxRefused limit the comparison. A text beyond these limits is not examined.
const maxStarts, maxRefused = 64, 16

// RefusedCommand is a command with its refusals.
type RefusedCommand struct {
	Text, Folder, Home string
	Denials            []sandbox.Denial

	touched map[string]bool // results of touches
}

// start is one program that a text starts: its words without options, and its output files.
type start struct {
	program      string
	words, files []string
}

// Handled reports whether the text itself handles every refusal: each program that names a refusal
// is left of ||, or in the condition of an if, and the other branch starts it again.
func (r *RefusedCommand) Handled() bool {
	f := compared(r.Text)
	if f == nil || len(r.Denials) == 0 || len(r.Denials) > maxRefused {
		return false
	}
	var handled []*syntax.Stmt
	branch := func(tried []*syntax.Stmt, otherwise ...syntax.Node) {
		for _, one := range tried {
			if s := r.start(one); s != nil && slices.ContainsFunc(r.starts(otherwise...), func(o start) bool { return r.again(*s, o, false) }) {
				handled = append(handled, one)
			}
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.OrStmt {
				branch(deciders(n.X, false), n.Y)
			}
		case *syntax.IfClause:
			for _, then := range n.Then {
				branch(deciders(last(n.Cond), true), then)
			}
			if n.Else != nil {
				branch(deciders(last(n.Cond), false), n.Else)
			}
		}
		return true
	})
	for _, d := range r.Denials {
		found := false
		for _, one := range statements(f) {
			if s := r.start(one); s != nil && r.names(*s, d) {
				if found = true; !slices.Contains(handled, one) {
					return false
				}
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// DoneBy reports whether a later command, which passed, achieved the same in another way. It must
// start each program that names a refusal again, for a file or an address of the same name. If no
// program names a refusal, all programs count.
func (r *RefusedCommand) DoneBy(later string) bool {
	f, g := compared(r.Text), compared(later)
	if f == nil || g == nil || len(r.Denials) > maxRefused {
		return false
	}
	all := r.starts(f)
	tried := slices.DeleteFunc(slices.Clone(all), func(s start) bool {
		return !slices.ContainsFunc(r.Denials, func(d sandbox.Denial) bool { return r.names(s, d) })
	})
	if len(tried) == 0 {
		tried = slices.DeleteFunc(all, func(s start) bool { return s.program == "cd" })
	}
	now := r.starts(g)
	return len(tried) > 0 && !slices.ContainsFunc(tried, func(s start) bool {
		return !slices.ContainsFunc(now, func(o start) bool { return r.again(s, o, true) })
	})
}

// again reports whether o does the same as s. alike: the words that name the refusal have the same
// base name in o.
func (r *RefusedCommand) again(s, o start, alike bool) bool {
	if s.program != o.program || len(o.words) < len(s.words) || len(o.files) < len(s.files) {
		return false
	}
	there := append(slices.Clone(o.words), o.files...)
	for i, w := range append(slices.Clone(s.words), s.files...) {
		refused := slices.ContainsFunc(r.Denials, func(d sandbox.Denial) bool { return r.touches(w, d) })
		switch {
		case !refused && i < len(s.words) && !slices.Contains(o.words, w),
			refused && alike && !slices.ContainsFunc(there, func(t string) bool { return path.Base(t) == path.Base(w) }):
			return false
		}
	}
	return true
}

func (r *RefusedCommand) names(s start, d sandbox.Denial) bool {
	return slices.ContainsFunc(append(slices.Clone(s.words), s.files...), func(w string) bool { return r.touches(w, d) })
}

// touches reports whether a word names d or a folder that contains it.
func (r *RefusedCommand) touches(word string, d sandbox.Denial) (yes bool) {
	key := strings.Join([]string{word, string(d.Kind), d.Target, d.Requested}, "\x00")
	if yes, known := r.touched[key]; known {
		return yes
	}
	t := Read(word, r.Folder, r.Home, nil)
	yes = t.Exactly(d) || d.Kind != sandbox.KindNetwork && slices.ContainsFunc(t.Paths(), func(p string) bool {
		return slices.ContainsFunc([]string{d.Target, d.Requested}, func(target string) bool { return path.IsAbs(target) && sandbox.Covers(p, path.Clean(target)) })
	})
	if r.touched == nil {
		r.touched = map[string]bool{}
	}
	r.touched[key] = yes
	return yes
}

// compared is parsed for the comparison. It also returns nil if the text starts too many programs.
func compared(text string) *syntax.File {
	f := parsed(text)
	if f == nil || len(statements(f)) > maxStarts {
		return nil
	}
	return f
}

// deciders returns the simple commands whose failure makes stmt fail. With negated it returns those
// whose failure makes stmt pass.
func deciders(stmt *syntax.Stmt, negated bool) []*syntax.Stmt {
	if stmt == nil || stmt.Negated != negated || stmt.Background {
		return nil
	}
	switch c := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		return []*syntax.Stmt{stmt}
	case *syntax.Subshell:
		return deciders(last(c.Stmts), false)
	case *syntax.Block:
		return deciders(last(c.Stmts), false)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			return append(deciders(c.X, false), deciders(c.Y, false)...)
		case syntax.OrStmt:
			return deciders(c.Y, false)
		}
	}
	return nil
}

func last(stmts []*syntax.Stmt) *syntax.Stmt {
	if len(stmts) == 0 {
		return nil
	}
	return stmts[len(stmts)-1]
}

// statements returns the simple commands below the nodes, except filters of another command's
// output.
func statements(nodes ...syntax.Node) (out []*syntax.Stmt) {
	filters := map[*syntax.Stmt]bool{}
	for _, n := range nodes {
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.BinaryCmd:
				filters[n.Y] = n.Op == syntax.Pipe || n.Op == syntax.PipeAll
			case *syntax.Stmt:
				if _, simple := n.Cmd.(*syntax.CallExpr); simple && !filters[n] {
					out = append(out, n)
				}
			}
			return true
		})
	}
	return out
}

func (r *RefusedCommand) starts(nodes ...syntax.Node) (out []start) {
	for _, one := range statements(nodes...) {
		if s := r.start(one); s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// start parses a simple command. It returns nil if the command starts no program.
func (r *RefusedCommand) start(stmt *syntax.Stmt) *start {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	known := map[string][]string{"HOME": {r.Home}, "PWD": {r.Folder}}
	text := func(w *syntax.Word) string { return strings.Join(expand(w.Parts, known), " ") }
	s := &start{program: path.Base(text(call.Args[0]))}
	for _, w := range call.Args[1:] {
		if word := text(w); !strings.HasPrefix(word, "-") {
			s.words = append(s.words, word)
		}
	}
	for _, redirect := range stmt.Redirs {
		switch redirect.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			if name := text(redirect.Word); name != "/dev/null" && (redirect.N == nil || redirect.N.Value == "1") {
				s.files = append(s.files, name)
			}
		}
	}
	return s
}
