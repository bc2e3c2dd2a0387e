package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/syntax"
)

var errCalls = errors.New("only calls with literal values are understood")

// statement is one statement at the top of a file. text is the lines that it stands in.
type statement struct {
	syntax.Stmt
	line int
	text string
}

// statements parses a file of Starlark, and evaluates nothing. The parser bounds how deep it nests.
func statements(name string, data []byte) (out []statement, err error) {
	data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")) // as the parser counts lines
	file, err := (&syntax.FileOptions{}).Parse(name, data, 0)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(data), "\n")
	for _, s := range file.Stmts {
		start, end := s.Span()
		text := strings.Join(lines[start.Line-1:end.Line], " ")
		out = append(out, statement{s, int(start.Line), strings.Join(strings.Fields(text), " ")})
	}
	return out, nil
}

// call reads NAME(KEY = VALUE, ...). A string alone has an empty name.
func (s statement) call() (name string, args map[string]any, err error) {
	e, ok := s.Stmt.(*syntax.ExprStmt)
	if !ok {
		return "", nil, errCalls
	}
	if text, ok := e.X.(*syntax.Literal); ok && text.Token == syntax.STRING {
		return "", nil, nil
	}
	call, ok := e.X.(*syntax.CallExpr)
	if !ok {
		return "", nil, errCalls
	}
	called, ok := call.Fn.(*syntax.Ident)
	if !ok {
		return "", nil, errCalls
	}
	args = map[string]any{}
	for _, a := range call.Args {
		pair, ok := a.(*syntax.BinaryExpr)
		if !ok || pair.Op != syntax.EQ {
			return "", nil, errors.New("each argument needs its name")
		}
		key := pair.X.(*syntax.Ident).Name // the parser takes nothing else
		if _, twice := args[key]; twice {
			return "", nil, fmt.Errorf("%s is given twice", key)
		}
		if args[key], err = literal(pair.Y); err != nil {
			return "", nil, err
		}
	}
	return called.Name, args, nil
}

// literal is a string, None, or a list of them.
func literal(e syntax.Expr) (any, error) {
	switch e := e.(type) {
	case *syntax.Literal:
		if e.Token == syntax.STRING {
			return e.Value, nil
		}
	case *syntax.Ident:
		if e.Name == "None" {
			return nil, nil
		}
		return nil, fmt.Errorf("%s is not a literal value", e.Name)
	case *syntax.ListExpr:
		out := []any{}
		for _, one := range e.List {
			v, err := literal(one)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	return nil, errors.New("only strings and lists of strings are supported")
}
