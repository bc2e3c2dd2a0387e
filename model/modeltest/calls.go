package modeltest

import (
	"fmt"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// one and two are the calls that most cases use.
var (
	one = model.ToolCall{ID: "a", Name: "shell", Arguments: `{"x":1}`}
	two = model.ToolCall{ID: "b", Name: "read_file", Arguments: `{"y":2}`}
)

// made returns the answer that a case wants: these calls and no text.
func made(calls ...model.ToolCall) Answer { return Answer{Calls: calls, Reason: model.StopCalls} }

// withID returns c with another id: the one that an adapter makes up if it cannot use the provider's.
func withID(c model.ToolCall, id string) model.ToolCall { c.ID = id; return c }

// many returns n calls with different arguments: as the scripted server sends them, and as the
// adapter should return them.
func many(n int) (played []scripted.Call, want []model.ToolCall) {
	for i := range n {
		c := scripted.Call{ID: fmt.Sprintf("id-%d", i), Name: "shell", Arguments: fmt.Sprintf(`{"command":"echo %d"}`, i)}
		played = append(played, c)
		want = append(want, model.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return played, want
}

// calls returns the cases of tool calls for every API.
func calls() []testcase {
	hundred, wantedHundred := many(100)
	threeHundred, wantedThreeHundred := many(300)
	tooMany, _ := many(2049)
	return []testcase{
		{name: "call: 100 in parallel, in turns", replies: []scripted.Reply{{Calls: hundred, Interleave: true, Piece: 3}}, want: made(wantedHundred...)},
		{name: "call: 100 in parallel, one after the other", replies: []scripted.Reply{{Calls: hundred, Piece: 5}}, want: made(wantedHundred...)},
		{name: "call: more than run at once", replies: []scripted.Reply{{Calls: threeHundred}}, want: made(wantedThreeHundred...)},
		{name: "call: more than the limit", replies: []scripted.Reply{{Calls: tooMany}, {Text: "ok"}}, kind: model.BadRequest, says: "more than 2048"},
		{name: "call: parallel, in turns", replies: []scripted.Reply{{Piece: 2, Interleave: true, Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"x":1}`}, {ID: "b", Name: "read_file", Arguments: `{"y":2}`}}}}, want: made(one, two)},
		{name: "call: an unknown tool", replies: []scripted.Reply{{Calls: []scripted.Call{{ID: "a", Name: "no_such", Arguments: "{}"}}}}, want: made(model.ToolCall{ID: "a", Name: "no_such", Arguments: "{}"})},
		{name: "call: malformed arguments", replies: []scripted.Reply{{Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"command": "ls`}}}}, want: made(model.ToolCall{ID: "a", Name: "shell", Arguments: `{"command": "ls`})},
		{name: "call: empty arguments", replies: []scripted.Reply{{Calls: []scripted.Call{{ID: "a", Name: "shell"}}}}, want: made(model.ToolCall{ID: "a", Name: "shell", Arguments: "{}"})},
		{name: "call: ended with stop", replies: []scripted.Reply{{Stop: "stop", Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"x":1}`}}}}, want: made(one)},
	}
}
