package modeltest

import (
	"strings"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// chatShapes returns undocumented chunks that real servers send.
func chatShapes() []testcase {
	chunks := func(name string, want Answer, deltas ...string) testcase {
		var all []string
		for _, d := range deltas {
			if !strings.HasPrefix(d, `{"choices"`) && !strings.HasPrefix(d, "!") {
				d = delta(d)
			}
			all = append(all, strings.TrimPrefix(d, "!"))
		}
		return testcase{name: name, replies: []scripted.Reply{{Chunks: all}}, want: want}
	}
	stop := finish("stop")
	var thought = end("ab")
	thought.Reasoning = "hm"
	cut, filtered := end("ab"), end("ab")
	cut.Reason, filtered.Reason = model.StopLength, model.StopFilter
	whole := func(members string) string {
		return `{"choices":[{"index":0,"delta":{},"message":{"role":"assistant",` + members + `},"finish_reason":"stop"}]}`
	}
	all := []testcase{
		chunks("text again in a message", end("ab"), `{"content":"a"}`, `{"content":"b"}`, whole(`"content":"ab"`)),
		chunks("text in a message beside each delta", end("ab"), `{"choices":[{"index":0,"delta":{"content":"a"},"message":{"content":"a"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"b"},"message":{"content":"ab"}}]}`, whole(`"content":"ab"`)),
		chunks("thinking again in a message", thought, `{"reasoning":"hm"}`, `{"content":"ab"}`, whole(`"content":"ab","reasoning":"hm"`)),
		chunks("text in pieces of messages", end("ab"), `{"choices":[{"index":0,"message":{"content":"a"}}]}`, whole(`"content":"b"`)),
		chunks("null everywhere", end("ab"), `{"content":"a","tool_calls":null,"refusal":null,"function_call":null}`, `{"role":null,"content":null}`, `{"content":"b"}`, stop),
		chunks("reasoning under its other name", thought, `{"reasoning":"hm","content":null}`, `{"content":"ab"}`, stop),
		chunks("reasoning under both names", thought, `{"reasoning":"hm","reasoning_content":"hm"}`, `{"content":"ab"}`, stop),
		chunks("content as a list of parts", end("ab"), `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, stop),
		chunks("thinking among the parts", thought, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, `{"content":[{"type":"text","text":"a"}]}`, `{"content":"b"}`, stop),
		chunks("numbers as fractions", end("ab"), `!{"created":1.5,"choices":[{"index":0.0,"delta":{"content":"ab"},"finish_reason":null}],"usage":{"prompt_tokens":1.0}}`, stop),
		chunks("members of odd types", end("ab"), `!{"id":7,"choices":[{"index":0,"delta":{"role":3,"content":"ab","tool_calls":{}},"finish_reason":null,"logprobs":"no"}]}`, stop),
		chunks("another choice", end("ab"), `{"content":"ab"}`, `!{"choices":[{"index":1,"delta":{"content":"no"}}]}`, stop),
		chunks("no choices", end("ab"), `!{"choices":[],"prompt_filter_results":[]}`, `{"content":"ab"}`, `!{"type":"ping"}`, stop),
		chunks("error null first", end("ab"), `!{"error":null,"choices":[{"index":0,"delta":{"content":"ab"}}]}`, stop),
		chunks("the word error", end(`{"error":"x"}`), `{"content":"{\"error\":\"x\"}"}`, stop),
		chunks("the word content", end(`"content":"x"`), `{"content":"\"content\":\"x\""}`, stop),
		chunks("text and end in one chunk", end("ab"), `{"content":"a"}`, `{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`),
		chunks("[DONE] without a reason", end("ab"), `{"content":"ab"}`),
		chunks("cut off by the output limit", cut, `{"content":"ab"}`, finish("length")),
		chunks("cut off by a filter", filtered, `{"content":"ab"}`, finish("content_filter")),
		chunks("unknown reason", end("ab"), `{"content":"ab"}`, finish("eos")),
		{
			name: "one JSON answer instead of a stream",
			replies: []scripted.Reply{{Header: map[string][]string{"Content-Type": {"application/json"}},
				Body: "{\n \"choices\": [{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"ab\"},\"finish_reason\":\"stop\"}]\n}"}},
			want: end("ab"),
		},
	}
	all = append(all, otherWire("Responses", `{"object":"response","status":"completed","error":null,"output":[]}`,
		`{"type":"response.created","response":{"object":"response","status":"in_progress","error":null,"output":[]}}`, completed)...)
	return append(all, chatCalls()...)
}

// chatCalls returns tool calls in the shapes of different servers.
func chatCalls() []testcase {
	chunks := func(name string, want Answer, deltas ...string) testcase {
		var all []string
		for _, d := range deltas {
			all = append(all, delta(`{"tool_calls":[`+d+`]}`))
		}
		return testcase{name: "call: " + name, replies: []scripted.Reply{{Chunks: append(all, finish("tool_calls"))}}, want: want}
	}
	return append(chatCallsAgain(), []testcase{
		chunks("arguments as an object", made(one, two), `{"index":0,"id":"a","function":{"name":"shell","arguments":{"x":1}}}`, `{"index":1,"id":"b","function":{"name":"read_file","arguments":{"y":2}}}`),
		chunks("arguments null at first", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":null}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`),
		chunks("no index, whole", made(one, two), `{"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("no index, fragments", made(one, two), `{"id":"a","function":{"name":"shell","arguments":""}}`, `{"function":{"arguments":"{\"x\""}}`, `{"function":{"arguments":":1}"}}`,
			`{"id":"b","function":{"name":"read_file","arguments":"{\"y\""}}`, `{"function":{"arguments":":2}"}}`),
		chunks("no index, both in one chunk", made(one, two), `{"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("index 0 for all", made(one, two), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("index 0 for all, no ids", made(withID(one, "call00001"), withID(two, "call00002")), `{"index":0,"function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"index":0,"function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("neither index nor ids", made(withID(one, "call00001"), withID(two, "call00002")), `{"function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("the same id twice", made(one, withID(two, "call00002")), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"index":1,"id":"a","function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("id and name with each fragment", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\""}}`, `{"index":0,"id":"a","function":{"name":"shell","arguments":":1}"}}`),
		chunks("a name in pieces", made(one), `{"index":0,"id":"a","function":{"name":"sh"}}`, `{"index":0,"function":{"name":"ell","arguments":"{\"x\":1}"}}`),
		chunks("arguments repeated behind their end", made(one, two), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`,
			`{"index":0,"id":"a","function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`),
		chunks("babble behind the arguments", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\":1"}}`, `{"index":0,"function":{"arguments":"}\n</tool"}}`, `{"index":0,"function":{"arguments":"_call>"}}`),
		chunks("{} before another call", made(model.ToolCall{ID: "a", Name: "shell", Arguments: "{}"}, two), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{}"}}`, `{"index":1,"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("the shorter call first", made(model.ToolCall{ID: "a", Name: "shell", Arguments: `{"command":"ls"}`}, two), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"command\":"}}`,
			`{"index":1,"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`, `{"index":0,"function":{"arguments":"\"ls\"}"}}`),
		chunks("arguments before the name", made(one), `{"index":0,"id":"a","function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"name":"shell","arguments":":1}"}}`),
		chunks("the second index first", made(two, one), `{"index":1,"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`, `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`),
		chunks("told twice, without ids", made(withID(one, "call00001")), `{"index":0,"function":{"name":"shell","arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`,
			`{"index":0,"function":{"name":"shell","arguments":"{\"x\":1}"}}`),
		chunks("told twice, the second time without an id", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"index":0,"function":{"name":"shell","arguments":"{\"x\": 1}"}}`),
		chunks("told twice, with another index", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"index":1,"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`),
		chunks("index 0 for all, no ids, told twice", made(withID(one, "call00001"), withID(two, "call00002")), `{"index":0,"function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"index":0,"function":{"name":"read_file","arguments":"{\"y\":2}"}}`,
			`{"index":0,"function":{"name":"shell","arguments":"{\"x\":1}"}},{"index":0,"function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("{} before the arguments", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{}"}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`),
		chunks("{} before the arguments, in pieces", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":{}}}`, `{"index":0,"function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`),
		chunks("{} before the arguments, without an index", made(one, two), `{"id":"a","function":{"name":"shell","arguments":"{}"}}`, `{"function":{"arguments":"{\"x\":1}"}}`, `{"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`),
		chunks("{} alone", made(model.ToolCall{ID: "a", Name: "shell", Arguments: "{}"}), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{}"}}`, `{"index":0,"function":{"arguments":""}}`),
		chunks("an index that was never opened", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\""}}`, `{"index":1,"function":{"arguments":":1}"}}`),
		chunks("indices that count fragments", made(one, two), `{"index":0,"id":"a","function":{"name":"shell","arguments":""}}`, `{"index":1,"function":{"arguments":"{\"x\""}}`, `{"index":2,"function":{"arguments":":1}"}}`,
			`{"index":3,"id":"b","function":{"name":"read_file","arguments":"{\"y\""}}`, `{"index":4,"function":{"arguments":":2}"}}`),
		chunks("{} and an index that was never opened", made(one), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{}"}}`, `{"index":1,"function":{"arguments":"{\"x\":1}"}}`),
		chunks("the same twice", made(one, withID(one, "b")), `{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`, `{"index":1,"id":"b","function":{"name":"shell","arguments":"{\"x\":1}"}}`),
		{
			name:    "call: the older function_call",
			replies: []scripted.Reply{{Chunks: []string{delta(`{"function_call":{"name":"shell","arguments":"{\"x\""}}`), delta(`{"function_call":{"arguments":":1}"}}`), finish("function_call")}}},
			want:    made(withID(one, "call00001")),
		},
		{
			name: "call: in one JSON answer",
			replies: []scripted.Reply{{Header: map[string][]string{"Content-Type": {"application/json"}},
				Body: `{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"shell","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"read_file","arguments":"{\"y\":2}"}}]},"finish_reason":"tool_calls"}]}`}},
			want: made(one, two),
		},
	}...)
}

// chatCallsAgain returns calls that servers send in two forms.
func chatCallsAgain() []testcase {
	const (
		oneWhole = `{"function":{"name":"shell","arguments":"{\"x\":1}"}}`
		twoWhole = `{"function":{"name":"read_file","arguments":"{\"y\":2}"}}`
	)
	chunks := func(name string, want Answer, all ...string) testcase {
		return testcase{name: "call: " + name, replies: []scripted.Reply{{Chunks: append(all, finish("tool_calls"))}}, want: want}
	}
	piece := func(rest string) string { return delta(`{"tool_calls":[{"index":0,` + rest + `}]}`) }
	older := func(arguments string) string {
		return `"function_call":{"name":"shell","arguments":"` + arguments + `"}`
	}
	both := func(arguments string) string {
		return delta(`{` + older(arguments) + `,"tool_calls":[{"index":0,"id":"a","function":{"name":"shell","arguments":"` + arguments + `"}}]}`)
	}
	message := func(calls string) string {
		return `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + calls + `]},"finish_reason":"tool_calls"}]}`
	}
	whole := piece(`"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}`)
	nameless := withID(one, "call00001")
	return []testcase{
		chunks("both forms at once", made(one), both(`{\"x\":1}`)),
		chunks("both forms at once, in fragments", made(one), both(``), both(`{\"x\"`), both(`:1}`)),
		chunks("the older form before the newer", made(one), delta(`{`+older(`{\"x\":1}`)+`}`), whole),
		chunks("the older form behind the newer", made(one), whole, delta(`{`+older(`{\"x\":1}`)+`}`)),
		chunks("the older form again in a message", made(nameless), delta(`{`+older(`{\"x\":1}`)+`}`), `{"choices":[{"index":0,"message":{`+older(`{\"x\":1}`)+`},"finish_reason":"function_call"}]}`),
		{
			name: "call: the older form and [DONE] without a reason", want: made(nameless),
			replies: []scripted.Reply{{Chunks: []string{delta(`{` + older(`{\"x\":1}`) + `}`)}}},
		},
		chunks("again in a message", made(one), whole, message(`{"id":"a","function":{"name":"shell","arguments":"{\"x\":1}"}}`)),
		chunks("again in a message, without ids", made(nameless), piece(`"function":{"name":"shell","arguments":"{\"x\":1}"}`), message(oneWhole)),
		chunks("again in a message, without an id", made(one), whole, message(oneWhole)),
		chunks("again in a message, with another id", made(one), whole, message(`{"id":"z","function":{"name":"shell","arguments":{"x": 1}}}`)),
		chunks("again in a message, both", made(withID(one, "call00001"), withID(two, "call00002")), piece(oneWhole[1:len(oneWhole)-1]), piece(twoWhole[1:len(twoWhole)-1]), message(oneWhole+","+twoWhole)),
		chunks("again in each message", made(one), whole, message(oneWhole), message(oneWhole)),
		chunks("again in a message, which has the end of it", made(one), piece(`"id":"a","function":{"name":"shell","arguments":"{\"x\""}`), message(oneWhole)),
		chunks("another in a message", made(one, two), whole, message(oneWhole+`,{"id":"b","function":{"name":"read_file","arguments":"{\"y\":2}"}}`)),
		chunks("in a message behind text", Answer{Text: "ab", Calls: []model.ToolCall{nameless}, Reason: model.StopCalls}, delta(`{"content":"ab"}`), message(oneWhole)),
	}
}

func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}
