package foreign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// This parses the part of Starlark that rule files use: calls with literal values. Other statements
// are reported as not understood.

// statement is the text of one logical line; line ends inside brackets do not end it.
type statement struct {
	line   int
	text   string
	tokens []token
}

// token is a word, a string or a punctuation character.
type token struct {
	kind byte // 'w' for a word, '"' for a string, else the character itself
	text string
}

// statements splits a file. The error names a line and column.
func statements(file string) (out []statement, err error) {
	s := scanner{file: file, line: 1}
	now := statement{line: 1}
	start, depth := 0, 0
	end := func() {
		if len(now.tokens) > 0 {
			now.text = strings.Join(strings.Fields(file[start:s.at]), " ")
			out = append(out, now)
		}
		now = statement{}
	}
	for {
		indented := s.space()
		if s.at >= len(file) {
			break
		}
		if c := file[s.at]; c == '\n' || c == ';' {
			if c == ';' || depth == 0 {
				end()
			}
			s.advance(1)
			continue
		}
		if len(now.tokens) == 0 {
			start, now.line = s.at, s.line
			if indented {
				now.tokens = append(now.tokens, token{' ', ""}) // inside a block
			}
		}
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		switch t.kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth < 0 || depth > maxDepth {
			return nil, s.fail("the brackets do not match, or are nested too deeply")
		}
		now.tokens = append(now.tokens, t)
	}
	if depth > 0 {
		return nil, s.fail("a bracket is not closed")
	}
	end()
	return out, nil
}

// scanner reads tokens.
type scanner struct {
	file            string
	at, line, begin int // begin is the start of the line
}

func (s *scanner) fail(format string, args ...any) error {
	return fmt.Errorf("%d:%d: %s", s.line, s.at-s.begin+1, fmt.Sprintf(format, args...))
}

// advance moves n bytes forward.
func (s *scanner) advance(n int) {
	for range n {
		if s.file[s.at] == '\n' {
			s.line++
			s.begin = s.at + 1
		}
		s.at++
	}
}

// space skips spaces, comments and joined lines. It reports whether the line is indented.
func (s *scanner) space() (indented bool) {
	for s.at < len(s.file) {
		switch c := s.file[s.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			indented = indented || s.at == s.begin
			s.advance(1)
		case c == '#':
			for s.at < len(s.file) && s.file[s.at] != '\n' {
				s.advance(1)
			}
		case strings.HasPrefix(s.file[s.at:], "\\\n"):
			s.advance(2)
		default:
			return indented
		}
	}
	return indented
}

func (s *scanner) next() (token, error) {
	rest := s.file[s.at:]
	n := 0
	for n < len(rest) && (rest[n] == '_' || rest[n] >= 0x80 || rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z' || rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	switch {
	case n < len(rest) && (rest[n] == '"' || rest[n] == '\''):
		if prefix := rest[:n]; prefix != "" && prefix != "r" {
			s.advance(n)
			_, err := s.quoted(false)
			return token{'?', prefix}, err // bytes and formatted strings
		}
		s.advance(n)
		text, err := s.quoted(n == 1)
		return token{'"', text}, err
	case n > 0:
		s.advance(n)
		return token{'w', rest[:n]}, nil
	}
	s.advance(1)
	return token{rest[0], rest[:1]}, nil
}

// quoted reads a string from its opening quote.
func (s *scanner) quoted(raw bool) (string, error) {
	quote := s.file[s.at : s.at+1]
	if strings.HasPrefix(s.file[s.at:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	s.advance(len(quote))
	var b strings.Builder
	for s.at < len(s.file) {
		rest := s.file[s.at:]
		switch {
		case strings.HasPrefix(rest, quote):
			s.advance(len(quote))
			return b.String(), nil
		case rest[0] == '\n' && len(quote) == 1:
			return "", s.fail("a string is not closed")
		case rest[0] != '\\':
			b.WriteByte(rest[0])
			s.advance(1)
		case raw:
			b.WriteString(rest[:min(2, len(rest))])
			s.advance(min(2, len(rest)))
		case strings.HasPrefix(rest, "\\\n"):
			s.advance(2)
		default:
			r, wide, tail, err := strconv.UnquoteChar(rest, quote[0])
			if err != nil && len(rest) > 1 && (rest[1] == '"' || rest[1] == '\'') {
				r, wide, tail, err = rune(rest[1]), false, rest[2:], nil
			}
			if err != nil {
				return "", s.fail("an unknown escape")
			}
			if wide || r < 0x80 {
				b.WriteRune(r)
			} else {
				b.WriteByte(byte(r))
			}
			s.advance(len(rest) - len(tail))
		}
	}
	return "", s.fail("a string is not closed")
}

// call reads NAME(KEY = VALUE, ...). A string alone has an empty name.
func (s statement) call() (name string, args map[string]any, err error) {
	p := &parser{s.tokens}
	if len(s.tokens) == 1 && s.tokens[0].kind == '"' {
		return "", nil, nil
	}
	name, ok := p.take('w')
	if _, open := p.take('('); !ok || !open {
		return "", nil, errors.New("only calls with literal values are understood")
	}
	args = map[string]any{}
	for {
		if _, closed := p.take(')'); closed {
			break
		}
		key, ok := p.take('w')
		if _, is := p.take('='); !ok || !is {
			return "", nil, errors.New("each argument needs its name")
		}
		if _, twice := args[key]; twice {
			return "", nil, fmt.Errorf("%s is given twice", key)
		}
		if args[key], err = p.value(); err != nil {
			return "", nil, err
		}
		if _, more := p.take(','); !more && !p.at(')') {
			return "", nil, errors.New("only calls with literal values are understood")
		}
	}
	if len(p.tokens) > 0 {
		return "", nil, errors.New("unexpected text after the call")
	}
	return name, args, nil
}

type parser struct{ tokens []token }

func (p *parser) at(kind byte) bool { return len(p.tokens) > 0 && p.tokens[0].kind == kind }

func (p *parser) take(kind byte) (text string, ok bool) {
	if !p.at(kind) {
		return "", false
	}
	text = p.tokens[0].text
	p.tokens = p.tokens[1:]
	return text, true
}

// value reads a string, None, or a list of values.
func (p *parser) value() (any, error) {
	if text, ok := p.take('"'); ok {
		return text, nil
	}
	if word, ok := p.take('w'); ok && word == "None" {
		return nil, nil
	} else if ok {
		return nil, fmt.Errorf("%s is not a literal value", word)
	}
	if _, ok := p.take('['); !ok {
		return nil, errors.New("only strings and lists of strings are supported")
	}
	out := []any{}
	for {
		if _, closed := p.take(']'); closed {
			return out, nil
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if _, more := p.take(','); !more && !p.at(']') {
			return nil, errors.New("only strings and lists of strings are supported")
		}
	}
}
