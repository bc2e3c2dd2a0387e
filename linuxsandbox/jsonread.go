//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads the JSON of a Spec. encoding/json sets itself up for each
// type by reflection, which takes a third of a millisecond in a process that
// reads one object in its life. This one is stricter: names are compared
// exactly, none may come twice, and text must be valid UTF-8.
// FuzzSpec holds the two against each other.
type jsonReader struct {
	data []byte
	at   int
	err  error // the first thing that was wrong; everything after it is zero
}

func (r *jsonReader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("offset %d: %s", r.at, what)
	}
}

// peek skips white space and returns the next byte, 0 at the end or after an error.
func (r *jsonReader) peek() byte {
	for r.err == nil && r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) expect(c byte) bool {
	if r.peek() != c {
		r.fail("want " + strconv.QuoteRune(rune(c)))
		return false
	}
	r.at++
	return true
}

// word reads a literal such as true.
func (r *jsonReader) word(w string) bool {
	r.peek()
	if r.err == nil && len(r.data)-r.at >= len(w) && string(r.data[r.at:r.at+len(w)]) == w {
		r.at += len(w)
		return true
	}
	return false
}

// object reads {"name": value, …} and calls field after each name, to read the
// value. field returns false for a name it does not know.
func (r *jsonReader) object(field func(name string) bool) {
	if !r.expect('{') {
		return
	}
	seen := make([]string, 0, 12)
	for first := true; r.err == nil; first = false {
		if r.peek() == '}' && first {
			break
		}
		name := r.text()
		for _, s := range seen {
			if s == name {
				r.fail("field " + strconv.Quote(name) + " comes twice")
			}
		}
		seen = append(seen, name)
		if r.expect(':') && !field(name) {
			r.fail("unknown field " + strconv.Quote(name))
		}
		if r.peek() != ',' {
			break
		}
		r.at++
	}
	r.expect('}')
}

// array reads [value, …] and calls item for each; null is an empty one.
func (r *jsonReader) array(item func()) {
	if r.peek() == 'n' && r.word("null") {
		return
	}
	if !r.expect('[') {
		return
	}
	if r.peek() == ']' {
		r.at++
		return
	}
	for r.err == nil {
		item()
		if r.peek() != ',' {
			break
		}
		r.at++
	}
	r.expect(']')
}

func (r *jsonReader) bool() bool {
	if r.word("true") {
		return true
	}
	if !r.word("false") {
		r.fail("want true or false")
	}
	return false
}

// digits returns the text of an integer.
func (r *jsonReader) digits() string {
	r.peek()
	start := r.at
	if r.at < len(r.data) && r.data[r.at] == '-' {
		r.at++
	}
	first := r.at
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
		r.at++
	}
	if r.at == first || r.data[first] == '0' && r.at > first+1 {
		r.fail("want an integer")
	}
	return string(r.data[start:r.at])
}

func (r *jsonReader) int(bits int) int64 {
	n, err := strconv.ParseInt(r.digits(), 10, bits)
	if err != nil {
		r.fail(err.Error())
	}
	return n
}

func (r *jsonReader) uint(bits int) uint64 {
	n, err := strconv.ParseUint(r.digits(), 10, bits)
	if err != nil {
		r.fail(err.Error())
	}
	return n
}

// text reads a string.
func (r *jsonReader) text() string {
	if !r.expect('"') {
		return ""
	}
	start := r.at
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			s := r.data[start:r.at]
			r.at++
			if !utf8.Valid(s) {
				r.fail("text that is not UTF-8")
			}
			return string(s)
		case c == '\\':
			return r.escapedText(start)
		case c < ' ':
			r.fail("a control character in text")
			return ""
		}
		r.at++
	}
	r.fail("text without an end")
	return ""
}

// escapedText is text from the first escape on; what stands before it begins at start.
func (r *jsonReader) escapedText(start int) string {
	out := append([]byte(nil), r.data[start:r.at]...)
	for r.err == nil && r.at < len(r.data) {
		c := r.data[r.at]
		r.at++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				r.fail("text that is not UTF-8")
			}
			return string(out)
		case c < ' ':
			r.fail("a control character in text")
		case c == '\\':
			out = r.escape(out)
		default:
			out = append(out, c)
		}
	}
	r.fail("text without an end")
	return ""
}

func (r *jsonReader) escape(out []byte) []byte {
	if r.at >= len(r.data) {
		return out
	}
	c := r.data[r.at]
	r.at++
	switch c {
	case '"', '\\', '/':
		return append(out, c)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		u := r.hex()
		if utf16.IsSurrogate(u) {
			low := rune(0)
			if r.word(`\u`) {
				low = r.hex()
			}
			if u = utf16.DecodeRune(u, low); u == utf8.RuneError {
				r.fail("half a surrogate pair")
			}
		}
		return utf8.AppendRune(out, u)
	}
	r.fail("an unknown escape")
	return out
}

func (r *jsonReader) hex() rune {
	if len(r.data)-r.at < 4 {
		r.fail("a short escape")
		return 0
	}
	n, err := strconv.ParseUint(string(r.data[r.at:r.at+4]), 16, 16)
	if err != nil {
		r.fail("an escape that is no number")
	}
	r.at += 4
	return rune(n)
}

// end reports what is wrong, something after the object included.
func (r *jsonReader) end() error {
	if r.err == nil && (r.peek() != 0 || r.at < len(r.data)) {
		return errors.New("something follows the object")
	}
	return r.err
}
