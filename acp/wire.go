package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"codeagent/internal/jsonrpc"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// Codes of errors.
const (
	codeRequest   = -32600
	codeMethod    = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeCancelled = -32800
	codeSignIn    = -32000
	codeNotFound  = -32002
)

// Error is an error of the protocol.
type Error = jsonrpc.Error

// errorBytes bounds the text of an error.
const errorBytes = 4 << 10

func errorf(code int64, format string, args ...any) *Error {
	return &Error{Code: code, Message: short.Bound(visible.Text(fmt.Sprintf(format, args...)), errorBytes)}
}

// SignIn returns the error of a session that no model can answer without a key.
func SignIn(err error) error { return errorf(codeSignIn, "%v", err) }

// NotFound returns the error of a session that does not exist.
func NotFound(err error) error { return errorf(codeNotFound, "%v", err) }

// Invalid returns the error of parameters that cannot be used.
func Invalid(err error) error { return errorf(codeParams, "%v", err) }

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
