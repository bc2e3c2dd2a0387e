package modeltest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// completed ends the answers of these cases.
const completed = `{"type":"response.completed","response":{"status":"completed"}}`

// ev returns an event of the given type with more members.
func ev(kind, members string) string {
	return `{"type":"response.` + kind + `",` + members + `}`
}

// events returns a case whose answer consists of these events.
func events(name string, want Answer, all ...string) testcase {
	return testcase{name: name, replies: []scripted.Reply{{Chunks: all}}, want: want}
}

// otherWire returns answers in the shape of another API, streamed and whole: they must end in
// one error at once.
func otherWire(api, whole string, streamed ...string) []testcase {
	says := "the server answers as the " + api + " API does"
	return []testcase{
		{name: "another API streams", replies: []scripted.Reply{{Chunks: streamed}}, kind: model.BadRequest, says: says},
		{name: "another API answers whole", replies: []scripted.Reply{{Body: whole}}, kind: model.BadRequest, says: says},
	}
}

// responsesShapes returns undocumented events that real servers send, and cases that only
// this wire has.
func responsesShapes() []testcase {
	all := append(responsesTexts(), otherWire("Chat Completions", `{"object":"chat.completion","choices":[{"index":0,"message":{"content":"ab"},"finish_reason":"stop"}]}`,
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"ab"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)...)
	all = append(all, responsesEnds()...)
	all = append(all, responsesThinking()...)
	return append(all, responsesCalls()...)
}

func responsesTexts() []testcase {
	text := func(s string) string {
		return ev("output_text.delta", `"item_id":"m","output_index":0,"delta":`+strconv.Quote(s))
	}
	whole := `{"id":"m","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ab","annotations":[]}]}`
	phased := end("ab")
	phased.Items = []model.Item{{Kind: model.Assistant, Text: "ab", Opaque: &model.Opaque{Data: json.RawMessage(`{"phase":"commentary"}`)}}}
	two := end("ab")
	two.Items = []model.Item{{Kind: model.Assistant, Text: "a"}, {Kind: model.Assistant, Text: "b"}}
	return []testcase{
		events("nothing announced", end("ab"), text("a"), text("b"), completed),
		events("text whole at the end of its part", end("ab"), ev("output_text.done", `"item_id":"m","output_index":0,"text":"ab"`), completed),
		events("text whole at the end of its item", end("ab"), ev("output_item.done", `"output_index":0,"item":`+whole), completed),
		events("text whole at the very end", end("ab"), ev("completed", `"response":{"status":"completed","output":[`+whole+`]}`)),
		events("text again at each end", end("ab"), text("a"), text("b"), ev("output_text.done", `"item_id":"m","output_index":0,"text":"ab"`),
			ev("output_item.done", `"output_index":0,"item":`+whole), ev("completed", `"response":{"status":"completed","output":[`+whole+`]}`)),
		events("an item announced and told twice", end("ab"), ev("output_item.added", `"output_index":0,"item":`+whole), ev("output_item.added", `"output_index":0,"item":`+whole),
			text("ab"), ev("output_item.done", `"output_index":0,"item":`+whole), ev("output_item.done", `"output_index":0,"item":`+whole), completed),
		events("ids that change with each event", end("ab"), ev("output_item.added", `"output_index":0,"item":{"id":"x1","type":"message","content":[]}`),
			ev("output_text.delta", `"item_id":"x2","output_index":0,"delta":"a"`), ev("output_text.delta", `"item_id":"x3","output_index":0,"delta":"b"`),
			ev("output_item.done", `"output_index":0,"item":{"id":"x4","type":"message","content":[{"type":"output_text","text":"ab"}]}`), completed),
		events("neither ids nor indexes", end("ab"), ev("output_text.delta", `"delta":"a"`), ev("output_text.delta", `"delta":"b"`), completed),
		events("two messages", two, text("a"), ev("output_item.done", `"output_index":0,"item":{"id":"m","type":"message","content":[{"type":"output_text","text":"a"}]}`),
			ev("output_text.delta", `"item_id":"n","output_index":1,"delta":"b"`), completed),
		events("a message with a phase", phased, text("ab"), ev("output_item.done", `"output_index":0,"item":{"id":"m","type":"message","phase":"commentary","content":[{"type":"output_text","text":"ab"}]}`), completed),
		events("null everywhere", end("ab"), ev("output_text.delta", `"item_id":null,"output_index":null,"content_index":null,"delta":"ab","logprobs":null`), ev("output_text.delta", `"delta":null`), completed),
		events("numbers as fractions, members of odd types", end("ab"), ev("output_text.delta", `"item_id":7,"output_index":0.0,"sequence_number":"x","delta":"ab","logprobs":{}`), completed),
		events("unknown events and items", end("ab"), ev("created", `"response":{"error":null}`), ev("shape.unknown.delta", `"delta":{"a":[1]}`),
			ev("output_item.added", `"output_index":0,"item":{"id":"w","type":"web_search_call"}`), ev("output_item.done", `"output_index":0,"item":{"id":"w","type":"web_search_call"}`),
			`{"type":"keepalive","sequence_number":3}`, text("ab"), completed),
		events("the word error", end(`{"error":"x"}`), text(`{"error":"x"}`), completed),
		{
			name: "one JSON answer instead of a stream",
			replies: []scripted.Reply{{Header: map[string][]string{"Content-Type": {"application/json"}},
				Body: "{\n \"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"output\":[" + whole + "]\n}"}},
			want: end("ab"),
		},
	}
}

func responsesEnds() []testcase {
	text := ev("output_text.delta", `"item_id":"m","output_index":0,"delta":"ab"`)
	cut, filtered := end("ab"), end("ab")
	cut.Reason, filtered.Reason = model.StopLength, model.StopFilter
	again := Answer{Text: "ok", Reason: model.StopEnd, Retries: 1}
	retried := func(name string, all ...string) testcase {
		return testcase{name: name, replies: []scripted.Reply{{Chunks: all}, {Text: "ok"}}, want: again}
	}
	fails := func(name string, kind model.ErrorKind, says string, all ...string) testcase {
		return testcase{name: name, replies: []scripted.Reply{{Chunks: all}, {Text: "ok"}}, kind: kind, says: says}
	}
	incomplete := func(reason string) string {
		return ev("incomplete", `"response":{"status":"incomplete","incomplete_details":{"reason":"`+reason+`"}}`)
	}
	failed := func(code, message string) string {
		return ev("failed", `"response":{"id":"r","status":"failed","error":{"code":"`+code+`","message":"`+message+`"}}`)
	}
	return []testcase{
		events("cut off by the output limit", cut, text, incomplete("max_output_tokens")),
		events("cut off and no reason", cut, text, ev("incomplete", `"response":{"status":"incomplete","incomplete_details":null}`)),
		events("cut off by a filter", filtered, text, incomplete("content_filter")),
		retried("cut off for an unknown reason", text, incomplete("steered_elsewhere")),
		events("another name for the end", end("ab"), text, ev("done", `"response":{"status":"completed"}`)),
		events("an end without a response", end("ab"), text, `{"type":"response.completed"}`),
		events("events after the end", end("ab"), text, completed, text, completed),
		{name: "[DONE] after the end", replies: []scripted.Reply{{Body: "data: " + text + "\n\ndata: " + completed + "\n\ndata: [DONE]\n\n"}}, want: end("ab")},
		{name: "[DONE] in place of the end", want: end("ab"),
			replies: []scripted.Reply{{Body: "data: " + ev("output_item.done", `"output_index":0,"item":{"id":"m","type":"message","content":[{"type":"output_text","text":"ab"}]}`) + "\n\ndata: [DONE]\n\n"}}},
		{name: "[DONE] while an item is open", replies: []scripted.Reply{{Body: "data: " + text + "\n\ndata: [DONE]\n\n"}, {Text: "ok"}}, want: again},
		retried("no end", text),
		retried("failed for a fault of the server", text, failed("server_error", "oops")),
		retried("failed for a rate limit", text, failed("rate_limit_exceeded", "slow down")),
		retried("failed and no reason", text, ev("failed", `"response":{"status":"failed","error":null}`)),
		retried("cancelled", text, ev("cancelled", `"response":{"status":"cancelled"}`)),
		retried("an error event", text, `{"type":"error","code":"server_error","message":"oops","param":null,"sequence_number":4}`),
		retried("an error event with an object", `{"type":"error","error":{"type":"server_error","code":"server_error","message":"oops","param":null}}`),
		fails("failed for the context", model.ContextFull, "context window", failed("context_length_exceeded", "Your input exceeds the context window of this model")),
		fails("failed for the request", model.BadRequest, "flagged", failed("invalid_prompt", "Your prompt was flagged")),
		fails("failed for the quota", model.NoQuota, "quota", failed("insufficient_quota", "You exceeded your current quota")),
	}
}

func responsesThinking() []testcase {
	thought := func(text string, data string) Answer {
		a := end("ab")
		a.Reasoning = text
		it := model.Item{Kind: model.Reasoning, Text: text}
		if data != "" {
			it.Opaque = &model.Opaque{Data: json.RawMessage(data)}
		}
		a.Items = []model.Item{it, {Kind: model.Assistant, Text: "ab"}}
		return a
	}
	text := ev("output_text.delta", `"item_id":"m","output_index":1,"delta":"ab"`)
	piece := func(part int, s string) string {
		return ev("reasoning_summary_text.delta", fmt.Sprintf(`"item_id":"rs","output_index":0,"summary_index":%d,"delta":%q`, part, s))
	}
	done := func(item string) string { return ev("output_item.done", `"output_index":0,"item":`+item) }
	return []testcase{
		events("thinking: a summary in two parts", thought("one\n\ntwo", ""), piece(0, "o"), piece(0, "ne"), piece(1, "two"),
			done(`{"id":"rs","type":"reasoning","summary":[]}`), text, completed),
		events("thinking: encrypted, with a summary", thought("one", `{"encrypted_content":"gAAA","id":"rs","summary":[{"text":"one","type":"summary_text"}],"type":"reasoning"}`),
			piece(0, "one"), done(`{"id":"rs","type":"reasoning","encrypted_content":"gAAA","status":null,"summary":[{"text":"one","type":"summary_text"}]}`), text, completed),
		events("thinking: encrypted, and nothing else", thought("", `{"encrypted_content":"gAAA","id":"rs","summary":[],"type":"reasoning"}`),
			done(`{"id":"rs","type":"reasoning","encrypted_content":"gAAA"}`), text, completed),
		events("thinking: in the open", thought("hm", `{"content":[{"text":"hm","type":"reasoning_text"}],"id":"rs","summary":[],"type":"reasoning"}`),
			ev("reasoning_text.delta", `"item_id":"rs","output_index":0,"content_index":0,"delta":"hm"`),
			done(`{"id":"rs","type":"reasoning","summary":[],"content":[{"text":"hm","type":"reasoning_text"}]}`), text, completed),
		events("thinking: whole at the end of its item", thought("a\n\nb", ""), done(`{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]}`), text, completed),
	}
}

func responsesCalls() []testcase {
	added := func(index int, id, callID, name string) string {
		return ev("output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"id":"%s","type":"function_call","call_id":"%s","name":"%s","arguments":""}`, index, id, callID, name))
	}
	args := func(index int, id, s string) string {
		return ev("function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"item_id":"%s","delta":%q`, index, id, s))
	}
	done := func(index int, id string, c model.ToolCall) string {
		return ev("output_item.done", fmt.Sprintf(`"output_index":%d,"item":{"id":"%s","type":"function_call","call_id":"%s","name":"%s","arguments":%q}`, index, id, c.ID, c.Name, c.Arguments))
	}
	other := withID(one, "z")
	nameless := func(index int, id, s string) string {
		return ev("function_call_arguments.done", fmt.Sprintf(`"output_index":%d,"item_id":"%s","arguments":%q`, index, id, s))
	}
	call := func(name string, want Answer, all ...string) testcase {
		return events("call: "+name, want, append(all, completed)...)
	}
	again := made(one)
	again.Retries = 1
	endless := make([]string, 10_002)
	for i := range endless {
		endless[i] = ev("output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"id":"m%d","type":"message"}`, i, i))
	}
	return []testcase{
		{name: "items without end", replies: []scripted.Reply{{Chunks: endless}, {Text: "ok"}}, kind: model.ServerFault, says: "more than 10000 parts", huge: true},
		call("whole at its end", made(one, two), done(0, "f", one), done(1, "g", two)),
		call("whole in the arguments' end", made(one), added(0, "f", "a", "shell"), nameless(0, "f", one.Arguments), done(0, "f", one)),
		call("without an end", made(one), added(0, "f", "a", "shell"), args(0, "f", one.Arguments)),
		call("the end of the arguments is only at its end", made(one), added(0, "f", "a", "shell"), args(0, "f", `{"x"`), done(0, "f", one)),
		call("index 0 for all", made(one, two), added(0, "f", "a", "shell"), args(0, "f", one.Arguments), added(0, "g", "b", "read_file"), args(0, "g", two.Arguments), done(0, "f", one), done(0, "g", two)),
		call("index 0 for all, no ids", made(one, two), added(0, "", "a", "shell"), args(0, "", one.Arguments), done(0, "", one), added(0, "", "b", "read_file"), args(0, "", two.Arguments), done(0, "", two)),
		call("ids that change with each event", made(one, two), added(0, "1", "a", "shell"), added(1, "2", "b", "read_file"), args(0, "3", `{"x"`), args(1, "4", two.Arguments), args(0, "5", `:1}`), done(0, "6", one), done(1, "7", two)),
		call("arguments before the name", made(one), args(0, "f", `{"x"`), args(0, "f", `:1}`), done(0, "f", one)),
		call("the second index first", made(two, one), added(1, "g", "b", "read_file"), args(1, "g", two.Arguments), done(1, "g", two), added(0, "f", "a", "shell"), args(0, "f", one.Arguments), done(0, "f", one)),
		call("the same id twice", made(one, withID(two, "call00002")), done(0, "f", one), done(1, "g", withID(two, "a"))),
		call("no ids", made(withID(one, "call00001"), withID(two, "call00002")), done(0, "", withID(one, "")), done(1, "", withID(two, ""))),
		call("told twice", made(one), added(0, "f", "a", "shell"), args(0, "f", one.Arguments), done(0, "f", one), done(0, "f", one)),
		call("another call id at its end", made(one), added(0, "f", "a", "shell"), args(0, "f", one.Arguments), done(0, "f", other)),
		call("another call id at its end, before the arguments", made(one), added(0, "f", "a", "shell"), done(0, "f", other)),
		call("told twice, with another call id", made(one), done(0, "f", one), done(0, "f", other)),
		call("told twice, with another id", made(one), done(0, "f", one), done(0, "g", one)),
		call("told twice, with another id and index", made(one), done(0, "f", one), done(1, "g", one)),
		call("told twice, without ids", made(withID(one, "call00001")), done(0, "", withID(one, "")), done(0, "", withID(one, ""))),
		call("told twice, spelled otherwise", made(one), done(0, "f", one), done(0, "g", model.ToolCall{ID: "a", Name: "shell", Arguments: `{ "x": 1 }`})),
		call("announced twice, with another id", made(one), added(0, "1", "a", "shell"), added(0, "2", "a", "shell"), args(0, "3", one.Arguments), done(0, "4", one)),
		call("all ids change with each event", made(one), added(0, "1", "a", "shell"), args(0, "2", one.Arguments), done(0, "3", other)),
		call("index 0 for all, no ids, all at once", made(two, one), added(0, "", "a", "shell"), args(0, "", one.Arguments), added(0, "", "b", "read_file"), args(0, "", two.Arguments), done(0, "", two), done(0, "", one)),
		call("index 0 for all, no ids, all at once, in their order", made(one, two), added(0, "", "a", "shell"), args(0, "", one.Arguments), added(0, "", "b", "read_file"), args(0, "", two.Arguments), done(0, "", one), done(0, "", two)),
		call("one id for all", made(one, two), done(0, "f", one), done(1, "f", two)),
		call("the same twice", made(one, other), done(0, "f", one), done(1, "g", other)),
		call("fragments after its end", made(one), added(0, "f", "a", "shell"), done(0, "f", one), args(0, "f", "junk")),
		call("the end spells the arguments otherwise", made(one), added(0, "f", "a", "shell"), args(0, "f", one.Arguments), done(0, "f", model.ToolCall{ID: "a", Name: "shell", Arguments: `{ "x": 1 }`})),
		call("arguments as an object", made(one), ev("output_item.done", `"output_index":0,"item":{"id":"f","type":"function_call","call_id":"a","name":"shell","arguments":{"x":1}}`)),
		call("only in the last event", made(one), ev("completed", `"response":{"status":"completed","output":[{"id":"f","type":"function_call","call_id":"a","name":"shell","arguments":"{\"x\":1}"}]}`)),
		{
			name: "call: the end contradicts the fragments", want: again,
			replies: []scripted.Reply{{Chunks: []string{added(0, "f", "a", "shell"), args(0, "f", `{"y":`), done(0, "f", one), completed}}, {Chunks: []string{done(0, "f", one), completed}}},
		},
	}
}
