// Package highlight names the parts of source code by which it is coloured: keywords,
// strings, comments. It reads line by line and keeps what a line leaves open, so code
// that still arrives is read once, in time linear in its length, whatever it is: a
// library such as chroma reads a block as a whole, by expressions that backtrack. It
// performs no IO. Start with For; languages.go is the table of languages.
package highlight

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/tui/paint"
)

// Class is what a stretch of code is.
type Class uint8

// The classes.
const (
	Plain Class = iota
	Keyword
	String
	Number
	Comment
	Name    // of a function, a type, a key, an attribute
	Added   // a line of a diff
	Removed // a line of a diff
)

// Token is a stretch of code of one class.
type Token struct {
	Text  string
	Class Class
}

// maxLine is the longest line that is read; a longer one is plain. No person reads it
// by its colours.
const maxLine = 4 << 10

// Reader reads code of one language. The zero Reader takes everything as plain. A copy
// of a Reader goes on from where the Reader is.
type Reader struct {
	of *language
	// open is the string or comment that the last line left open; nil: nothing.
	open *quote
}

// For is the reader for a language by the name that stands behind a fence, else the
// zero Reader.
func For(name string) Reader { return Reader{of: named(name)} }

// File is the reader for a file by its name: its ending, else all of it ("Makefile").
func File(name string) Reader {
	base := strings.ToLower(path.Base(name))
	if r := For(strings.TrimPrefix(path.Ext(base), ".")); r.of != nil {
		return r
	}
	return For(base)
}

// styles are the colours of the classes.
var styles = [...]paint.Style{Plain: paint.Text, Keyword: paint.Code, String: paint.Good, Number: paint.Warn,
	Comment: paint.Dim.With(paint.Italic), Name: paint.Accent, Added: paint.Added, Removed: paint.Gone}

// Spans reads the next line, which has no newline, and colours it.
func (r *Reader) Spans(line string) (out []paint.Span) {
	for _, t := range r.Line(line) {
		out = append(out, styles[t.Class].Span(t.Text))
	}
	return out
}

// Line reads the next line, which has no newline.
func (r *Reader) Line(line string) []Token {
	if r.of == nil || line == "" {
		return plain(line)
	}
	if len(line) > maxLine {
		return plain(line)
	}
	if r.of.lines != nil {
		return []Token{{line, r.of.lines(line)}}
	}
	s := scan{r: r, line: line}
	s.run()
	return s.out
}

func plain(line string) []Token {
	if line == "" {
		return nil
	}
	return []Token{{line, Plain}}
}

// scan is the reading of one line.
type scan struct {
	r    *Reader
	line string
	at   int
	out  []Token
}

func (s *scan) emit(to int, c Class) {
	if to <= s.at {
		return
	}
	text := s.line[s.at:to]
	s.at = to
	if n := len(s.out); n > 0 && s.out[n-1].Class == c {
		s.out[n-1].Text = s.line[to-len(text)-len(s.out[n-1].Text) : to]
		return
	}
	s.out = append(s.out, Token{text, c})
}

func (s *scan) run() {
	l := s.r.of
	if s.r.open != nil {
		s.finish(s.r.open)
	} else if l.key != 0 {
		s.key()
	}
	for s.at < len(s.line) {
		rest := s.line[s.at:]
		switch {
		case s.comment(rest), s.quoted(rest):
		case digit(rest[0]):
			s.number(rest)
		case s.letter(rest):
			s.word(rest)
		default:
			s.one(Plain)
		}
	}
}

// one takes one character.
func (s *scan) one(c Class) {
	_, n := utf8.DecodeRuneInString(s.line[s.at:])
	s.emit(s.at+n, c)
}

// comment takes a comment up to the end of the line.
func (s *scan) comment(rest string) bool {
	for _, mark := range s.r.of.comments {
		if !strings.HasPrefix(rest, mark) {
			continue
		}
		// In a shell and its kin a # within a word is no comment.
		if mark == "#" && s.at > 0 && !strings.ContainsRune(" \t;(){}", rune(s.line[s.at-1])) {
			continue
		}
		s.emit(len(s.line), Comment)
		return true
	}
	return false
}

// quoted takes a string or a comment with two ends.
func (s *scan) quoted(rest string) bool {
	for i := range s.r.of.quotes {
		q := &s.r.of.quotes[i]
		if !strings.HasPrefix(rest, q.from) {
			continue
		}
		if q.char && !charLiteral(rest) {
			continue
		}
		at := s.at
		end := q.end(s.line, s.at+len(q.from))
		class := q.class()
		if end < 0 {
			end = len(s.line)
			if q.long {
				s.r.open = q
			}
		} else if s.r.of.key == ':' && s.r.of.stringKeys && strings.HasPrefix(strings.TrimLeft(s.line[end:], " \t"), ":") {
			class = Name
		}
		s.at = at
		s.emit(end, class)
		return true
	}
	return false
}

// charLiteral tells 'a' from a lifetime or a digit separator.
func charLiteral(rest string) bool {
	if len(rest) > 2 && rest[1] == '\\' {
		return true
	}
	_, n := utf8.DecodeRuneInString(rest[1:])
	return n > 0 && strings.HasPrefix(rest[1+n:], "'")
}

// finish takes the rest of what an earlier line left open.
func (s *scan) finish(q *quote) {
	end := q.end(s.line, 0)
	if end < 0 {
		end = len(s.line)
	} else {
		s.r.open = nil
	}
	s.emit(end, q.class())
}

// key takes the name before a : or = that begins the line.
func (s *scan) key() {
	text := strings.TrimLeft(s.line, " \t")
	at := len(s.line) - len(text)
	if s.r.of.key == ':' && strings.HasPrefix(text, "- ") {
		at += 2
		text = text[2:]
	}
	if s.r.of.sections && strings.HasPrefix(text, "[") {
		s.emit(len(s.line), Keyword)
		return
	}
	n := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./$*%", r)
	})
	if n <= 0 {
		return
	}
	after := strings.TrimLeft(text[n:], " \t")
	if after == "" || after[0] != s.r.of.key || s.r.of.key == ':' && len(after) > 1 && !strings.ContainsRune(" \t", rune(after[1])) && !s.r.of.tightKeys {
		return
	}
	s.emit(at, Plain)
	s.emit(at+n, Name)
}

func (s *scan) number(rest string) {
	n := strings.IndexFunc(rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
	})
	if n < 0 {
		n = len(rest)
	}
	s.emit(s.at+n, Number)
}

func (s *scan) letter(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) || r == '_' || strings.ContainsRune(s.r.of.letters, r)
}

func (s *scan) word(rest string) {
	l := s.r.of
	n := strings.IndexFunc(rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && !strings.ContainsRune(l.letters, r)
	})
	if n < 0 {
		n = len(rest)
	}
	word := rest[:n]
	class := Plain
	switch {
	case l.keyword(word):
		class = Keyword
	case strings.HasPrefix(rest[n:], "(") && l.calls:
		class = Name
	case l.types && word[0] >= 'A' && word[0] <= 'Z':
		class = Name
	}
	s.emit(s.at+n, class)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
