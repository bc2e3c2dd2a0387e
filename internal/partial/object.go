// Package partial reads a JSON object while it is still being written, and finds where it ends. It
// is pure. Start reading at Object.
package partial

import "encoding/json"

// Object is a JSON object that arrives in pieces, cut anywhere, even inside a character or an
// escape. It tracks only strings and brackets; what they close is then checked as JSON. The
// zero Object is ready.
type Object struct {
	text    []byte
	state   state
	depth   int  // number of open brackets
	quoted  bool // inside a string
	escaped bool // after a backslash in a string
}

type state int

const (
	open   state = iota
	closed       // complete
	broken       // invalid, whatever follows
)

// Write takes the next piece and returns how many bytes of it belong to the object: all except
// those after its end.
func (o *Object) Write(piece string) int {
	have := len(o.text)
	if o.state == closed {
		return 0
	}
	o.text = append(o.text, piece...)
	for i := have; i < len(o.text) && o.state != broken; i++ {
		o.next(o.text[i], i+1)
		if o.state == closed {
			o.text = o.text[:i+1]
			return len(o.text) - have
		}
	}
	return len(piece)
}

// next processes one byte; to is its end.
func (o *Object) next(b byte, to int) {
	switch {
	case o.escaped:
		o.escaped = false
	case o.quoted:
		o.quoted, o.escaped = b != '"', b == '\\'
	case b == ' ' || b == '\t' || b == '\r' || b == '\n':
	case o.depth == 0 && b != '{':
		o.state = broken
	case b == '"':
		o.quoted = true
	case b == '{' || b == '[':
		o.depth++
	case b == '}' || b == ']':
		o.unnest(to)
	}
}

// unnest processes a closing bracket. The JSON check finds one of the wrong type.
func (o *Object) unnest(to int) {
	switch o.depth--; {
	case o.depth > 0:
	case !json.Valid(o.text[:to]):
		o.state = broken
	default:
		o.state = closed
	}
}

// Text returns everything written, without what followed the object.
func (o *Object) Text() string { return string(o.text) }

// Len is the length of Text.
func (o *Object) Len() int { return len(o.text) }

// Closed reports whether the object is complete.
func (o *Object) Closed() bool { return o.state == closed }
