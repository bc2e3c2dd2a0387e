package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// Codes of errors.
const (
	codeParse     = -32700
	codeRequest   = -32600
	codeMethod    = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeCancelled = -32800
	codeSignIn    = -32000
	codeNotFound  = -32002
)

// Error is an error of the protocol.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// errorBytes bounds the text of an error.
const errorBytes = 4 << 10

func errorf(code int, format string, args ...any) *Error {
	return &Error{code, short.Bound(visible.Text(fmt.Sprintf(format, args...)), errorBytes)}
}

// SignIn returns the error of a session that no model can answer without a key.
func SignIn(err error) error { return errorf(codeSignIn, "%v", err) }

// NotFound returns the error of a session that does not exist.
func NotFound(err error) error { return errorf(codeNotFound, "%v", err) }

// Invalid returns the error of parameters that cannot be used.
func Invalid(err error) error { return errorf(codeParams, "%v", err) }

// message is one line: a request, a notification or a response.
type message struct {
	// id is nil for a notification.
	id     json.RawMessage
	method string
	params json.RawMessage
	// response: it answers a request of ours, with result or failure.
	response bool
	result   json.RawMessage
	failure  *Error
}

var null = json.RawMessage("null")

// parse reads a line. Its error is answered with the message's id, which is null if it is not
// known; a batch is not part of the protocol.
func parse(line []byte) (message, *Error) {
	m := message{id: null}
	if !json.Valid(line) {
		return m, errorf(codeParse, "the line is not JSON")
	}
	if line[0] != '{' {
		return m, errorf(codeRequest, "a message is one object; batches are not supported")
	}
	var fields map[string]json.RawMessage // a struct would take names in any case
	if err := json.Unmarshal(line, &fields); err != nil {
		return m, errorf(codeParse, "%v", err)
	}
	id, hasID := fields["id"]
	if hasID && !isID(id) {
		return m, errorf(codeRequest, "the id is neither a string nor an integer")
	}
	if hasID && utf8.Valid(id) {
		m.id = bytes.Clone(id)
	}
	if !utf8.Valid(line) {
		return m, errorf(codeParse, "the line is not UTF-8")
	}
	var version string
	if json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		return m, errorf(codeRequest, `jsonrpc must be "2.0"`)
	}
	method, hasMethod := fields["method"]
	if !hasMethod {
		return m.answer(fields)
	}
	if json.Unmarshal(method, &m.method) != nil || m.method == "" {
		return m, errorf(codeRequest, "the method is not a name")
	}
	m.params = fields["params"]
	if !hasID {
		m.id = nil
	}
	return m, nil
}

// answer reads a response. One that cannot be read counts as an error, so that it grants nothing. Some
// encoders write beside a result an error that is null.
func (m message) answer(fields map[string]json.RawMessage) (message, *Error) {
	result, ok := fields["result"]
	failure, failed := fields["error"]
	if !ok && !failed {
		return m, errorf(codeRequest, "a message needs a method, a result or an error")
	}
	failed = failed && !(ok && string(failure) == "null")
	m.response, m.result = true, result
	if failed || !ok {
		m.failure = &Error{Code: codeInternal, Message: "the client answered with an error"}
		if err := json.Unmarshal(failure, m.failure); err != nil {
			m.failure.Message = "the client answered with an error that cannot be read"
		}
	}
	return m, nil
}

// isID reports whether an id is a string, an integer or null. Some encoders write the integer 1 as
// 1.0 or 1e0.
func isID(raw json.RawMessage) bool {
	switch raw[0] {
	case '"', 'n':
		return true
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n == math.Trunc(n)
}

// decode reads parameters into to. Some editors write none as null, as an empty list, or not at all.
func decode(params json.RawMessage, to any) *Error {
	var list []json.RawMessage
	if len(params) == 0 || json.Unmarshal(params, &list) == nil && len(list) == 0 {
		params = json.RawMessage("{}")
	}
	if params[0] != '{' {
		return errorf(codeParams, "the parameters are not an object")
	}
	return misread(json.Unmarshal(params, to))
}

// misread says in words of the protocol why parameters cannot be read; nil if they can.
func misread(err error) *Error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return errorf(codeParams, "%s must not be of the type %s", cmp.Or(wrong.Field, "this"), wrong.Value)
	}
	return errorf(codeParams, "%v", err)
}

// The shapes of what is written.
type (
	requestLine struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	notificationLine struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}
	resultLine struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
	errorLine struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *Error          `json:"error"`
	}
)

// encode returns v as one line. Hidden characters are escaped.
func encode(v any) []byte {
	data, err := visible.JSON(v, "")
	if err != nil { // lines hold plain data only
		data = []byte(`{"jsonrpc":"2.0","method":"$/bug","params":{}}`)
	}
	return append(data, '\n')
}
