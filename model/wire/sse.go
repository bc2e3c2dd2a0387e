package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

const (
	// firstBuffer is enough for what one read of the connection returns.
	firstBuffer = 32 << 10
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
	src   *bufio.Reader
	limit int // bound of one line and of one event's data, in bytes

	text   []byte // of the present line
	skipLF bool   // the last line ended in CR; a following LF belongs to it
	begun  bool   // past the position of a byte order mark

	name string
	data []byte
	held []byte // the line that showed that the previous event was complete
}

func newEvents(src io.Reader, limit int) *events {
	return &events{src: bufio.NewReaderSize(src, firstBuffer), limit: limit}
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

func startsValue(b []byte) bool { return len(b) > 0 && (b[0] == '{' || b[0] == '[') }

func endsValue(b []byte) bool {
	return len(b) > 0 && (b[len(b)-1] == '}' || b[len(b)-1] == ']')
}

// line returns the next line without its end, which is LF, CR or both; a last line without an end
// counts. It is valid until the next call.
func (e *events) line() ([]byte, error) {
	e.text = e.text[:0]
	for {
		b, err := e.src.ReadByte()
		switch {
		case err != nil && (err != io.EOF || len(e.text) == 0):
			return nil, err
		case b == '\n' && e.skipLF:
			e.skipLF = false
			continue
		case err != nil, b == '\n', b == '\r':
			e.skipLF = b == '\r'
			line := e.text
			if !e.begun {
				e.begun, line = true, bytes.TrimPrefix(line, bom)
			}
			return line, nil
		case len(e.text) >= e.limit+16: // "data: " and the line end are not part of the limit
			return nil, errEventSize
		}
		e.skipLF = false
		e.text = append(e.text, b)
	}
}
