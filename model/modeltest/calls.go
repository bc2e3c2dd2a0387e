package modeltest

import (
	"codeagent/internal/scripted"
	"codeagent/model"
)

// one and two are the calls that most cases make.
var (
	one = model.ToolCall{ID: "a", Name: "shell", Arguments: `{"x":1}`}
	two = model.ToolCall{ID: "b", Name: "read_file", Arguments: `{"y":2}`}
)

// made is an answer that is nothing but calls.
func made(calls ...model.ToolCall) Answer { return Answer{Calls: calls, Reason: model.StopCalls} }

// unnamed is c under the id that it gets where the provider's cannot be used.
func unnamed(c model.ToolCall, id string) model.ToolCall { c.ID = id; return c }

// calls are tool calls that every wire can make.
func calls() []testcase {
	return []testcase{
		{name: "call: parallel, in turns", replies: []scripted.Reply{{Piece: 2, Interleave: true, Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"x":1}`}, {ID: "b", Name: "read_file", Arguments: `{"y":2}`}}}}, want: made(one, two)},
		{name: "call: an unknown tool", replies: []scripted.Reply{{Calls: []scripted.Call{{ID: "a", Name: "no_such", Arguments: "{}"}}}}, want: made(model.ToolCall{ID: "a", Name: "no_such", Arguments: "{}"})},
		{name: "call: malformed arguments", replies: []scripted.Reply{{Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"command": "ls`}}}}, want: made(model.ToolCall{ID: "a", Name: "shell", Arguments: `{"command": "ls`})},
		{name: "call: empty arguments", replies: []scripted.Reply{{Calls: []scripted.Call{{ID: "a", Name: "shell"}}}}, want: made(model.ToolCall{ID: "a", Name: "shell", Arguments: "{}"})},
		{name: "call: ended with stop", replies: []scripted.Reply{{Stop: "stop", Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"x":1}`}}}}, want: made(one)},
	}
}
