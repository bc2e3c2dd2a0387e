// Package jsonrpc reads and writes the messages of JSON-RPC 2.0. It is pure. Start reading at Parse.
//
// Threat: the other side is hostile. A message is checked before anything decodes it: it is one
// object that does not nest deep, its names are taken as they are written, and its ID is one that an
// answer can repeat.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"codeagent/internal/visible"
)

const (
	// MaxDepth is how deep a message may nest. Threat: decoders recurse, and a stack that overflows
	// ends the process.
	MaxDepth = 100
	// MaxID bounds an ID, in bytes, because each answer repeats it.
	MaxID = 256
)

// Error is an error of the protocol.
type Error = sdk.Error

// Message is a request, a notification or a response.
type Message struct {
	// ID is as it was written: a string, a whole number or null. It is nil for a notification, and null
	// for a message whose ID is not known.
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	// Response: it answers a request of ours, with Result or Failure.
	Response bool
	Result   json.RawMessage
	Failure  *Error
}

var null = json.RawMessage("null")

// Parse reads a line. An error is what the other side gets as the answer to the message: one that waits
// for none (another answer, a notification) could send answers back and forth for ever, and asks is false.
func Parse(line []byte) (m Message, asks bool, fault *Error) {
	m.ID = null
	switch {
	case !utf8.Valid(line):
		return m, true, faulty(sdk.CodeParseError, "it is not UTF-8")
	case !json.Valid(line):
		return m, true, faulty(sdk.CodeParseError, "it is not JSON")
	}
	var fields map[string]json.RawMessage // a struct would take names in any case
	if line = bytes.TrimSpace(line); line[0] != '{' || json.Unmarshal(line, &fields) != nil {
		return m, true, faulty(sdk.CodeInvalidRequest, "it is not one JSON object: batches are not supported")
	}
	id, hasID := fields["id"]
	method, hasMethod := fields["method"]
	result, isResult := fields["result"]
	failure, isFailure := fields["error"]
	asks = !isResult && !isFailure && (hasID || !hasMethod)
	if hasID && !isID(id) {
		return m, asks, faulty(sdk.CodeInvalidRequest, fmt.Sprintf("an id is a string of at most %d bytes, or a whole number", MaxID))
	}
	if m.ID = id; !hasID && !hasMethod {
		m.ID = null
	}
	var version string
	switch {
	case new(Nesting).Over(line):
		return m, asks, faulty(sdk.CodeInvalidRequest, fmt.Sprintf("it nests deeper than %d", MaxDepth))
	case json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0":
		return m, asks, faulty(sdk.CodeInvalidRequest, `a message has "jsonrpc": "2.0"`)
	case hasMethod && json.Unmarshal(method, &m.Method) != nil:
		return m, asks, faulty(sdk.CodeInvalidRequest, "method must be a string")
	case hasMethod:
		m.Params = fields["params"]
	case asks:
		return m, asks, faulty(sdk.CodeInvalidRequest, "a message has a method, a result or an error")
	default:
		m.Response, m.Result = true, result
		if isFailure && !(isResult && string(failure) == "null") { // some encoders write both
			m.Failure = failed(failure)
		}
	}
	return m, asks, nil
}

// failed reads the error of a response. One that cannot be read is an error too.
func failed(data json.RawMessage) *Error {
	e := &Error{Code: sdk.CodeInternalError, Message: "the other side answered with an error"}
	if json.Unmarshal(data, e) != nil {
		e.Message = "the other side answered with an error that cannot be read"
	}
	return e
}

func faulty(code int64, message string) *Error { return &Error{Code: code, Message: message} }

// isID reports whether an answer can repeat an ID. Some encoders write the integer 1 as 1.0 or 1e0.
func isID(raw json.RawMessage) bool {
	if len(raw) > MaxID {
		return false
	}
	if raw[0] == '"' || string(raw) == "null" {
		return true
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n == math.Trunc(n)
}

// SDK is the message as the SDK of MCP has it.
func (m Message) SDK() (sdk.Message, error) {
	var written any
	if m.ID != nil {
		if err := json.Unmarshal(m.ID, &written); err != nil {
			return nil, err
		}
	}
	id, err := sdk.MakeID(written)
	switch {
	case err != nil:
		return nil, err
	case !m.Response:
		return &sdk.Request{ID: id, Method: m.Method, Params: m.Params}, nil
	case !id.IsValid():
		return nil, errors.New("a response needs the id of its request")
	}
	r := &sdk.Response{ID: id, Result: m.Result}
	if m.Failure != nil {
		r.Error = m.Failure
	}
	return r, nil
}

// Request is the line of a request; one without an ID is a notification. Like Answer it escapes hidden
// characters.
func Request(id any, method string, params any) []byte {
	return line(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params})
}

// Answer is the line of a response: with fault, or else with result. An ID of nil is null.
func Answer(id, result any, fault *Error) []byte {
	if fault != nil {
		return line(struct {
			Version string `json:"jsonrpc"`
			ID      any    `json:"id"`
			Error   *Error `json:"error"`
		}{"2.0", id, fault})
	}
	return line(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Result  any    `json:"result"`
	}{"2.0", id, result})
}

func line(v any) []byte {
	data, err := visible.JSON(v, "")
	if err != nil { // lines hold plain data only
		data = []byte(`{"jsonrpc":"2.0","method":"$/bug","params":{}}`)
	}
	return append(data, '\n')
}

// Nesting counts the open brackets of JSON that arrives in pieces.
type Nesting struct {
	Depth           int
	quoted, escaped bool
}

// Next takes the next byte.
func (n *Nesting) Next(b byte) {
	switch {
	case n.escaped:
		n.escaped = false
	case n.quoted && b == '\\':
		n.escaped = true
	case b == '"':
		n.quoted = !n.quoted
	case n.quoted:
	case b == '{', b == '[':
		n.Depth++
	case b == '}', b == ']':
		n.Depth--
	}
}

// Over takes another piece, and reports whether it nests deeper than MaxDepth.
func (n *Nesting) Over(data []byte) bool {
	for _, b := range data {
		if n.Next(b); n.Depth > MaxDepth {
			return true
		}
	}
	return false
}
