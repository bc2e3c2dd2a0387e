// Package partial reads a JSON object while it is still being written: which fields
// are closed, and where the object ends. It is pure. Start reading at Object.
package partial

import "encoding/json"

// Object is a JSON object that arrives in pieces, cut anywhere, even inside a character or an
// escape. It tracks only strings and brackets; what they close is then checked as JSON. The
// zero Object is ready.
type Object struct {
	text    []byte
	state   state
	depth   int  // number of open brackets; 1 is between the fields
	quoted  bool // inside a string
	escaped bool // after a backslash in a string
	value   bool // at depth 1: after a colon, before the value's end
	fields  int  // number of closed fields
	end     int  // text[:end] ends with the last closed field
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
	case o.quoted:
		o.inString(b, to)
	case b == ' ' || b == '\t' || b == '\r' || b == '\n':
	case o.depth == 0 && b != '{':
		o.state = broken
	case b == '"':
		o.quoted = true
	case b == '{' || b == '[':
		o.depth++
	case b == '}' || b == ']':
		o.unnest(to)
	case o.depth != 1:
	case b == ':':
		o.value = true
	case b == ',' && o.value: // a number or a literal ends only here
		o.close(to - 1)
	}
}

func (o *Object) inString(b byte, to int) {
	switch {
	case o.escaped:
		o.escaped = false
	case b == '\\':
		o.escaped = true
	case b == '"':
		o.quoted = false
		if o.depth == 1 && o.value {
			o.close(to)
		}
	}
}

// unnest processes a closing bracket. The JSON check finds one of the wrong type.
func (o *Object) unnest(to int) {
	if o.depth == 1 && o.value {
		o.close(to - 1)
	}
	switch o.depth--; {
	case o.depth == 1 && o.value:
		o.close(to)
	case o.depth > 0:
	case !json.Valid(o.text[:to]):
		o.state = broken
	default:
		o.state = closed
	}
}

// close ends the value of a field.
func (o *Object) close(end int) {
	o.value = false
	o.fields++
	o.end = end
}

// Text returns everything written, without what followed the object.
func (o *Object) Text() string { return string(o.text) }

// Len is the length of Text.
func (o *Object) Len() int { return len(o.text) }

// Closed reports whether the object is complete.
func (o *Object) Closed() bool { return o.state == closed }

// Fields returns how many fields are closed, and Soon the object that they make: the complete
// one if no field follows. A repeated field counts again. The result of Soon is JSON only if
// the text is.
func (o *Object) Fields() int { return o.fields }

// Soon: see Fields.
func (o *Object) Soon() string {
	if o.fields == 0 {
		return "{}"
	}
	return string(o.text[:o.end]) + "}"
}
