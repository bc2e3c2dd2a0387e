package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxID bounds the ID of a request, in bytes, because each response repeats it.
	maxID = 256
	// maxWhole is the largest whole number that JSON carries everywhere (RFC 8259, section 6).
	maxWhole = 1<<53 - 1
)

// envelope is one JSON object of the client as JSON-RPC sees it.
type envelope struct {
	id     any // a string or an int64, or nil, or none that can be repeated
	method string
	// asks: the client waits for a response. Nothing else is answered: an answer to a response could go
	// back and forth for ever.
	asks bool
}

// opened reads the envelope of a JSON object. The error is what the client gets, if it waits for
// anything. The SDK would take a null for no ID and cut the fraction off a number, and so answer
// under another ID.
func opened(data []byte) (envelope, *jsonrpc.Error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil { // valid JSON, but nested deeper than the decoder goes
		return envelope{asks: true}, invalid("this message is nested too deeply")
	}
	var e envelope
	var err error
	id, hasID := fields["id"]
	if hasID {
		e.id, err = idOf(id)
	}
	_, hasMethod := fields["method"]
	_, isResult := fields["result"]
	_, isError := fields["error"]
	e.asks = !isResult && !isError && (hasID || !hasMethod)
	if err != nil {
		return e, invalid(err.Error())
	}
	var version string
	if json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		return e, invalid(`a message has "jsonrpc": "2.0"`)
	}
	if hasMethod && json.Unmarshal(fields["method"], &e.method) != nil {
		return e, invalid("method must be a string")
	}
	if !hasMethod && e.asks {
		return e, invalid("a message has a method, a result or an error")
	}
	params := fields["params"]
	absent := len(params) == 0 || string(params) == "null"
	switch {
	case !absent && params[0] != '{':
		return e, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params must be an object"}
	case absent && e.method == "tools/call": // the SDK answers with another code
		return e, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "tools/call needs params: the name of a tool, and its arguments"}
	}
	return e, nil
}

func invalid(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
}

// idOf returns the ID that a message or a cancellation names: a string or an int64.
func idOf(raw json.RawMessage) (any, error) {
	var text string
	var whole int64
	switch {
	case len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil && len(text) <= maxID:
		return text, nil
	case len(raw) > 0 && raw[0] != 'n' && json.Unmarshal(raw, &whole) == nil && -maxWhole <= whole && whole <= maxWhole:
		return whole, nil
	}
	return nil, fmt.Errorf("an id is a string of at most %d bytes, or a whole number of at most 53 bits", maxID)
}

// coded gives an error of the SDK that has no code the one of JSON-RPC: all of them are about
// requests that are not possible in this place, or about their params. The names of Go's types in it
// are left out, and what it quotes is bounded.
func coded(err error) error {
	if err == nil {
		return nil
	}
	out := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	if known := (*jsonrpc.Error)(nil); errors.As(err, &known) && known.Code != 0 {
		out = *known
	}
	if before, _, params := strings.Cut(out.Message, ": unmarshaling "); params {
		out.Code, out.Message = jsonrpc.CodeInvalidParams, strings.TrimSuffix(before, ": invalid params")+": invalid params"
	}
	out.Message = visible.Line(short.Cut(out.Message, 500))
	return &out
}
