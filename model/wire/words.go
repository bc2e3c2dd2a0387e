package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"codeagent/model"
)

// Bounds of one answer: a server may send without end, and all of it is kept. The agent makes
// far fewer calls, and refuses the rest.
const (
	maxCalls     = 2048
	maxArguments = 32 << 20 // bytes of the arguments of all calls
	maxAnswer    = 64 << 20 // bytes of text, thinking, calls and Opaque
	maxItems     = 10_000
)

var errAnswerSize = errors.New("an answer is larger than the limit")

// BoundAnswer returns the error that ends an answer of too many bytes or parts. A retry would
// not be smaller.
func BoundAnswer(size, parts int) error {
	if size <= maxAnswer && parts <= maxItems {
		return nil
	}
	return &model.Error{Kind: model.ServerFault, Message: fmt.Sprintf("the provider sent an answer larger than %d MiB, or of more than %d parts", maxAnswer>>20, maxItems), Err: final{errAnswerSize}}
}

// BoundCalls returns the error that ends an answer of too many calls, or with too many bytes
// of arguments.
func BoundCalls(calls, size int) error {
	switch {
	case calls > maxCalls:
		return &model.Error{Kind: model.BadRequest, Message: fmt.Sprintf("the model made more than %d tool calls at once", maxCalls)}
	case size > maxArguments:
		return &model.Error{Kind: model.BadRequest, Message: fmt.Sprintf("the model's tool calls are larger than %d MiB", maxArguments>>20)}
	}
	return nil
}

// ErrOtherWire is wrapped by the error of an answer in the shape of another API.
var ErrOtherWire = errors.New("another API")

// OtherWire is the error of a server that answers in the shape of another API. A retry would
// get the same.
func OtherWire(asked, speaks string) error {
	return &model.Error{Kind: model.BadRequest, Message: fmt.Sprintf("the server answers as the %s API does, and was asked over %s", speaks, asked), Err: ErrOtherWire}
}

// CutOff is the error of a stream that ended too early.
func CutOff(err error) error {
	return &model.Error{Kind: model.Transport, Message: "the stream ended before the answer was complete", Err: err}
}

// BrokenOff is the error of an answer that the provider ended as a failure.
func BrokenOff(why string) error {
	return &model.Error{Kind: model.ServerFault, Message: clean("the provider broke the answer off: " + why)}
}

// NotJSON is the error of an event that cannot be decoded.
func NotJSON(err error) error {
	return &model.Error{Kind: model.ServerFault, Message: "the provider sent a chunk that is not JSON", Err: err}
}

// ReasonsByName reports whether go-openai, and OpenAI, treat the name as a reasoning model.
func ReasonsByName(name string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// CallName returns a non-empty name of only the characters that providers allow, so that a
// name the model made up does not make every later request invalid.
func CallName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}

// Schema returns the schema of a tool's arguments; providers require one also for a tool
// without arguments.
func Schema(t model.ToolSpec) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// Arguments always returns a JSON object: servers that render a chat template parse it, and
// fail on malformed JSON.
func Arguments(raw string) string {
	if strings.TrimSpace(raw) == "" {
		return "{}"
	}
	if b := []byte(raw); json.Valid(b) && strings.HasPrefix(strings.TrimSpace(raw), "{") {
		return raw
	}
	wrapped, err := json.Marshal(map[string]string{"malformed_arguments": raw})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

// SameJSON reports whether two texts are the same JSON apart from white space between
// tokens. It does not read a text much longer than the other, so that many small events
// cannot force repeated reads of a large one.
func SameJSON(one, two string) bool {
	one, two = strings.TrimSpace(one), strings.TrimSpace(two)
	if one == two {
		return true
	}
	if len(one) > 2*len(two)+64 || len(two) > 2*len(one)+64 {
		return false
	}
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(one)) == nil && json.Compact(&b, []byte(two)) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

// Text is a string, null, or a list of parts whose text is a string. Anything else becomes
// empty: each level of nested lists would need another pass over the rest.
type Text string

// UnmarshalJSON decodes any of these.
func (t *Text) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '[':
		var parts []struct {
			Text string `json:"text"`
		}
		if err := Parse(data, &parts); err != nil {
			return err
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		*t = Text(b.String())
	}
	return nil
}

// JSONText is JSON in a string, or the JSON itself in place of the string.
type JSONText string

// UnmarshalJSON decodes either.
func (r *JSONText) UnmarshalJSON(data []byte) error {
	switch {
	case data[0] == '"':
		return json.Unmarshal(data, (*string)(r))
	case string(data) != "null":
		*r = JSONText(data)
	}
	return nil
}

// Parse decodes what fits: members of unexpected types stay unset.
func Parse(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if odd := new(json.UnmarshalTypeError); errors.As(err, &odd) {
		return nil
	}
	return err
}
