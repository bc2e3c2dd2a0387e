package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

const (
	// firstBuffer is enough for what one read of the connection returns.
	firstBuffer = 32 << 10
	// maxEmptyReads is bufio's bound on reads that return nothing.
	maxEmptyReads = 100
	// maxSplitTries bounds, per event, how often its data is parsed to find a missing blank
	// line; otherwise hostile input would cost the square of its size.
	maxSplitTries = 8
)

var (
	errEventSize = errors.New("an event is larger than the limit")
	done         = []byte("[DONE]")
	bom          = []byte("\xEF\xBB\xBF")
)

// event is one server-sent event; data is valid until the next call of next.
type event struct {
	name string
	data []byte
}

// events parses server-sent events as in the HTML standard (section 9.2.6), with two
// leniences that real servers need: the last event counts without its blank line, and a data
// line after a complete JSON value begins a new event.
type events struct {
	src   io.Reader
	limit int // bound of one line and of one event's data, in bytes

	buf              []byte
	start, scan, end int  // buf[start:end] is unread, buf[start:scan] has no line end
	skipLF           bool // the last line ended in CR; a following LF belongs to it
	begun            bool // past the position of a byte order mark
	err              error

	name string
	data []byte
	held []byte // the line that showed that the previous event was complete
}

func newEvents(src io.Reader, limit int) *events {
	return &events{src: src, limit: limit, buf: make([]byte, firstBuffer)}
}

// next returns the next event that has data, or io.EOF, or the error of the source or the
// limit.
func (e *events) next() (event, error) {
	e.name, e.data = "", append(e.data[:0], e.held...)
	has, tries := len(e.held) > 0, 0
	e.held = e.held[:0]
	for {
		line, err := e.line()
		if err != nil {
			if err == io.EOF && has {
				return event{e.name, e.data}, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if has {
				return event{e.name, e.data}, nil
			}
			e.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value[:min(len(value), 64)])
		case "data":
			if has && tries < maxSplitTries && startsValue(value) && endsValue(e.data) {
				tries++
				if bytes.Equal(e.data, done) || json.Valid(e.data) {
					e.held = append(e.held, value...)
					return event{e.name, e.data}, nil
				}
			}
			if has {
				e.data = append(e.data, '\n')
			}
			if len(e.data)+len(value) > e.limit {
				return event{}, errEventSize
			}
			e.data = append(e.data, value...)
			has = true
		}
	}
}

// ready reports that the next call of next will not read from the source. It may return
// false although that is so, except for the simplest framing.
func (e *events) ready() bool {
	rest := e.buf[e.start:e.end]
	return len(e.held) == 0 && e.begun && !e.skipLF && bytes.HasPrefix(rest, []byte("data:")) && bytes.Contains(rest, []byte("\n\n"))
}

func startsValue(b []byte) bool { return len(b) > 0 && (b[0] == '{' || b[0] == '[') }

func endsValue(b []byte) bool {
	return len(b) > 0 && (b[len(b)-1] == '}' || b[len(b)-1] == ']')
}

// line returns the next line without its end; a last line without an end
// counts. It is valid until the next call.
func (e *events) line() ([]byte, error) {
	for {
		if e.skipLF && e.start < e.end {
			e.skipLF = false
			if e.buf[e.start] == '\n' {
				e.start++
			}
			e.scan = max(e.scan, e.start)
		}
		if !e.begun && (e.end-e.start >= len(bom) || e.err != nil) {
			e.begun = true
			if bytes.HasPrefix(e.buf[e.start:e.end], bom) {
				e.start += len(bom)
				e.scan = e.start
			}
		}
		if e.begun {
			if line, ok := e.cut(); ok {
				return line, nil
			}
		}
		if e.err != nil {
			if e.err == io.EOF && e.start < e.end {
				line := e.buf[e.start:e.end]
				e.start, e.scan = e.end, e.end
				return line, nil
			}
			return nil, e.err
		}
		e.fill()
	}
}

// cut takes one line from the buffer, if it holds a whole one.
func (e *events) cut() ([]byte, bool) {
	rest := e.buf[e.scan:e.end]
	lf := bytes.IndexByte(rest, '\n')
	if lf >= 0 {
		rest = rest[:lf]
	}
	at := bytes.IndexByte(rest, '\r')
	if at < 0 {
		at = lf
	} else {
		e.skipLF = true
	}
	if at < 0 {
		e.scan = e.end
		return nil, false
	}
	line := e.buf[e.start : e.scan+at]
	e.start = e.scan + at + 1
	e.scan = e.start
	return line, true
}

// fill reads more, after moving the unread bytes to the front or growing the buffer.
func (e *events) fill() {
	if e.end == len(e.buf) {
		if e.start > 0 {
			copy(e.buf, e.buf[e.start:e.end])
			e.scan -= e.start
			e.end -= e.start
			e.start = 0
		} else {
			// "data: " and the line end are not part of the limit.
			if len(e.buf) >= e.limit+16 {
				e.err = errEventSize
				return
			}
			bigger := make([]byte, min(2*len(e.buf), e.limit+16))
			copy(bigger, e.buf[:e.end])
			e.buf = bigger
		}
	}
	for range maxEmptyReads {
		n, err := e.src.Read(e.buf[e.end:])
		e.end += n
		if err != nil {
			e.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	e.err = io.ErrNoProgress
}
