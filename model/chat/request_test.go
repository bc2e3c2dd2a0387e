package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/chat"

	"github.com/google/go-cmp/cmp"
)

// sent streams req against a script whose answers have reasoning_content, and returns what
// arrived, one line a message.
func sent(t *testing.T, req model.Request) []string {
	t.Helper()
	srv := serve(t, scripted.Always(scripted.Reply{Reasoning: "hm"}))
	c := client(t, chat.Options{BaseURL: srv.URL})
	for _, r := range []model.Request{hello(), req} {
		if _, err := collect(c.Stream(t.Context(), r)); err != nil {
			t.Fatal(err)
		}
	}
	var body struct {
		Messages []struct {
			Role, Content    string
			ReasoningContent string `json:"reasoning_content"`
			ToolCallID       string `json:"tool_call_id"`
			ToolCalls        []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(srv.Requests()[1].Body, &body); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range body.Messages {
		line := m.Role
		if m.ToolCallID != "" {
			line += "(" + m.ToolCallID + ")"
		}
		line += ": " + m.Content
		if m.ReasoningContent != "" {
			line += " <" + m.ReasoningContent + ">"
		}
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf(" [%s %s %s]", c.ID, c.Function.Name, c.Function.Arguments)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestMessages(t *testing.T) {
	t.Parallel()
	user := func(s string) model.Item { return model.Item{Kind: model.User, Text: s} }
	said := func(s string) model.Item { return model.Item{Kind: model.Assistant, Text: s} }
	call := func(id, args string) model.Item {
		return model.Item{Kind: model.Call, Call: &model.ToolCall{ID: id, Name: "shell", Arguments: args}}
	}
	result := func(id, s string) model.Item { return model.Item{Kind: model.Result, CallID: id, Text: s} }
	thought := func(s string) model.Item { return model.Item{Kind: model.Reasoning, Text: s} }
	for name, c := range map[string]struct {
		items []model.Item
		want  []string
	}{
		"a turn":                           {[]model.Item{user("u"), said("I look"), call("a", `{"x":1}`), call("b", ""), result("a", "1"), result("b", "2"), said("done")}, []string{"user: u", `assistant: I look [a shell {"x":1}] [b shell {}]`, "tool(a): 1", "tool(b): 2", "assistant: done"}},
		"text after the calls":             {[]model.Item{user("u"), call("a", "{}"), said("t"), result("a", "1")}, []string{"user: u", "assistant: t [a shell {}]", "tool(a): 1"}},
		"results in another order":         {[]model.Item{user("u"), call("a", "{}"), call("b", "{}"), result("b", "2"), {Kind: model.Note, Text: "n"}, result("a", "1")}, []string{"user: u", "assistant:  [a shell {}] [b shell {}]", "tool(a): 1", "tool(b): 2", "user: n"}},
		"an empty result":                  {[]model.Item{user("u"), call("a", "{}"), result("a", " \n")}, []string{"user: u", "assistant:  [a shell {}]", "tool(a): (no output)"}},
		"no result":                        {[]model.Item{user("u"), call("a", "{}"), user("v")}, []string{"user: u", "assistant:  [a shell {}]", "tool(a): (the call was interrupted, there is no result)", "user: v"}},
		"a result without its call":        {[]model.Item{user("u"), result("z", "9")}, []string{"user: u\n\nThe result of a tool call that is no longer part of this conversation:\n9"}},
		"an id that comes again":           {[]model.Item{user("u"), call("a", "{}"), result("a", "1"), call("a", "{}"), result("a", "2")}, []string{"user: u", "assistant:  [a shell {}]", "tool(a): 1", "assistant:  [a shell {}]", "tool(a): 2"}},
		"malformed arguments":              {[]model.Item{user("u"), call("a", `{"x`), result("a", "bad")}, []string{"user: u", `assistant:  [a shell {"malformed_arguments":"{\"x"}]`, "tool(a): bad"}},
		"arguments that are not an object": {[]model.Item{user("u"), call("a", `[1]`), result("a", "bad")}, []string{"user: u", `assistant:  [a shell {"malformed_arguments":"[1]"}]`, "tool(a): bad"}},
		"an invalid name":                  {[]model.Item{user("u"), {Kind: model.Call, Call: &model.ToolCall{ID: "a", Name: "rm -rf"}}, {Kind: model.Call, Call: &model.ToolCall{ID: "b"}}, result("a", "1"), result("b", "2")}, []string{"user: u", "assistant:  [a rm_-rf {}] [b unknown {}]", "tool(a): 1", "tool(b): 2"}},
		"words that follow words":          {[]model.Item{user("u"), {Kind: model.Note, Text: "n"}, user(" "), user("v")}, []string{"user: u\n\nn\n\nv"}},
		"thinking in the turn":             {[]model.Item{user("u"), thought("old"), said("t"), user("v"), thought("new"), call("a", "{}"), result("a", "1")}, []string{"user: u", "assistant: t", "user: v", "assistant:  <new> [a shell {}]", "tool(a): 1"}},
		"thinking alone":                   {[]model.Item{user("u"), thought("hm"), user("v")}, []string{"user: u\n\nv"}},
		"an empty answer":                  {[]model.Item{user("u"), said(""), user("v")}, []string{"user: u\n\nv"}},
	} {
		if d := cmp.Diff(c.want, sent(t, model.Request{Model: "m", Items: c.items})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if d := cmp.Diff([]string{"system: be brief", "user: u"}, sent(t, model.Request{Model: "gpt-5", Instructions: "be brief", Items: []model.Item{user("u")}})); d != "" {
		t.Error(d)
	}
}

// field is a member of the last request's JSON; empty when it is not there.
func field(t *testing.T, srv *scripted.Server, name string) string {
	t.Helper()
	all := srv.Requests()
	var body map[string]json.RawMessage
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body[name])
}

// Providers refuse unknown fields. A refused field is left out, then and later, and this does
// not count as a retry.
func TestRefusedFieldsAreLeftOut(t *testing.T) {
	t.Parallel()
	refuse := func(message string) scripted.Reply {
		return scripted.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"` + message + `"}}`}
	}
	srv := serve(t, scripted.Steps(
		refuse("Unknown parameter: stream_options"),
		refuse("reasoning_effort is not supported with this model"),
		refuse("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
		scripted.Reply{Text: "ok"}, scripted.Reply{Text: "again"}))
	c := client(t, chat.Options{BaseURL: srv.URL})
	req := hello()
	req.Effort, req.MaxOutputTokens = "low", 100
	got, err := collect(c.Stream(t.Context(), req))
	if err != nil || got.Text != "ok" || got.Retries != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = collect(c.Stream(t.Context(), req)); err != nil || got.Text != "again" {
		t.Fatalf("%+v, %v", got, err)
	}
	if n := len(srv.Requests()); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
	for name, want := range map[string]string{"stream_options": "", "reasoning_effort": "", "max_tokens": "", "max_completion_tokens": "100", "temperature": "", "stream": "true"} {
		if got := field(t, srv, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestThinkingGoesBack: only to a provider whose answers have the field, or that misses it.
func TestThinkingGoesBack(t *testing.T) {
	t.Parallel()
	refuse := func(body string) scripted.Reply { return scripted.Reply{Status: 422, Body: body} }
	missed := `{"error":{"message":"reasoning_content is missing in assistant tool call message at index 2"}}`
	forbidden := `{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]}`
	ok := scripted.Reply{Text: "ok"}
	for name, c := range map[string]struct {
		replies []scripted.Reply
		asks    int
		want    bool
	}{
		"no thinking came":       {[]scripted.Reply{ok, ok}, 2, false},
		"it came in the field":   {[]scripted.Reply{{Reasoning: "hm", Text: "ok"}, ok}, 2, true},
		"it came in another":     {[]scripted.Reply{{Chunks: []string{`{"choices":[{"index":0,"delta":{"reasoning":"hm","content":"ok"},"finish_reason":"stop"}]}`}}, ok}, 2, false},
		"it came among parts":    {[]scripted.Reply{{Chunks: []string{`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}]},"finish_reason":"stop"}]}`}}, ok}, 2, false},
		"the provider misses it": {[]scripted.Reply{refuse(missed), ok}, 1, true},
		"it came and is refused": {[]scripted.Reply{{Reasoning: "hm", Text: "ok"}, refuse(forbidden), ok}, 2, false},
		"missed, then refused":   {[]scripted.Reply{refuse(missed), refuse(forbidden), ok}, 1, false},
	} {
		srv := serve(t, scripted.Steps(c.replies...))
		client := client(t, chat.Options{BaseURL: srv.URL})
		req := hello()
		req.Items = append(req.Items, model.Item{Kind: model.Reasoning, Text: "thought"},
			model.Item{Kind: model.Call, Call: &model.ToolCall{ID: "a", Name: "shell", Arguments: "{}"}}, model.Item{Kind: model.Result, CallID: "a", Text: "1"})
		for range c.asks {
			if got, err := collect(client.Stream(t.Context(), req)); err != nil || got.Retries != 0 {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		all := srv.Requests()
		if last := string(all[len(all)-1].Body); len(all) != len(c.replies) || strings.Contains(last, `"reasoning_content":"thought"`) != c.want {
			t.Errorf("%s: %d requests, the last one %s", name, len(all), last)
		}
	}
}

// TestRefusalsInOtherForms: a refusal is learned from whatever its form.
func TestRefusalsInOtherForms(t *testing.T) {
	t.Parallel()
	fastAPI := func(field string) string {
		return `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body",` + field + `],"msg":"Extra inputs are not permitted","input":{}}]}}`
	}
	for refusal, gone := range map[string]string{
		fastAPI(`"stream_options"`):                 `"stream_options"`,
		fastAPI(`"stream_options","include_usage"`): `"stream_options"`,
		fastAPI(`"reasoning_effort"`):               `"reasoning_effort"`,
		fastAPI(`"messages",1,"tool_calls",0,"id"`): `"call_1"`,
		`{"detail":[{"loc":["body","max_completion_tokens"],"msg":"extra fields not permitted"}]}`:                          `"max_completion_tokens"`,
		`{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","code":3280}`: `"call_1"`,
		`{"message":"Invalid parameter: tool_call_id of messages[2]"}`:                                                      `"call_1"`,
	} {
		srv := serve(t, scripted.Steps(scripted.Reply{Status: 422, Body: refusal}, scripted.Reply{Text: "ok"}))
		req := hello()
		req.Model, req.Effort, req.MaxOutputTokens = "gpt-5", "low", 100
		req.Items = append(req.Items, model.Item{Kind: model.Call, Call: &model.ToolCall{ID: "call_1", Name: "shell", Arguments: "{}"}}, model.Item{Kind: model.Result, CallID: "call_1", Text: "1"})
		if got, err := collect(client(t, chat.Options{BaseURL: srv.URL}).Stream(t.Context(), req)); err != nil || got.Text != "ok" {
			t.Errorf("%s: %+v, %v", refusal, got, err)
			continue
		}
		all := srv.Requests()
		if !strings.Contains(string(all[0].Body), gone) || strings.Contains(string(all[1].Body), gone) {
			t.Errorf("%s: %s, then %s", refusal, all[0].Body, all[1].Body)
		}
	}
}

func TestARefusalThatComesAgainIsAnError(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"stream_options and reasoning_effort and max_completion_tokens"}}`}))
	_, err := collect(client(t, chat.Options{BaseURL: srv.URL}).Stream(t.Context(), hello()))
	if n := len(srv.Requests()); err == nil || n > 4 {
		t.Errorf("%d requests, error %v", n, err)
	}
}

func TestOutputLimitByModelName(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{}))
	c := client(t, chat.Options{BaseURL: srv.URL})
	for name, want := range map[string][2]string{"llama": {"100", ""}, "gpt-5-mini": {"", "100"}, "o3": {"", "100"}} {
		req := hello()
		req.Model, req.MaxOutputTokens = name, 100
		if _, err := collect(c.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{field(t, srv, "max_tokens"), field(t, srv, "max_completion_tokens")}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestToolsAndHeaders(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{}))
	c := client(t, chat.Options{BaseURL: srv.URL + "/?api-version=7", Header: http.Header{"x-title": {"codeagent"}}})
	req := hello()
	req.Tools = []model.ToolSpec{{Name: "shell", Description: "d", Schema: json.RawMessage(`{"type":"object","x-own":[1]}`)}, {Name: "bare"}}
	if _, err := collect(c.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	want := `[{"function":{"name":"shell","description":"d","parameters":{"type":"object","x-own":[1]}},"type":"function"},{"function":{"name":"bare","parameters":{"type":"object","properties":{}}},"type":"function"}]`
	if d := cmp.Diff(want, field(t, srv, "tools")); d != "" {
		t.Error(d)
	}
	r := srv.Requests()[0]
	if r.Header.Get("X-Title") != "codeagent" || r.Header.Get("Authorization") != "" {
		t.Errorf("headers %v", r.Header)
	}
}

func TestBaseURLThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "api.openai.com/v1", "ftp://x/v1", "http://", "http://[::1"} {
		_, err := collect(client(t, chat.Options{BaseURL: base}).Stream(t.Context(), hello()))
		if err == nil || !strings.Contains(err.Error(), "base URL") {
			t.Errorf("%q: %v", base, err)
		}
	}
}

// Ids are unique in the conversation even if the provider numbers the calls of each answer
// from the start.
func TestCallIDsOfEarlierAnswersAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{Calls: []scripted.Call{{ID: "call_1", Name: "shell"}, {ID: "fresh", Name: "shell"}}}))
	req := hello()
	req.Items = append(req.Items,
		model.Item{Kind: model.Call, Call: &model.ToolCall{ID: "call_1", Name: "shell"}},
		model.Item{Kind: model.Result, CallID: "call_1", Text: "x"})
	got, err := collect(client(t, chat.Options{BaseURL: srv.URL}).Stream(t.Context(), req))
	if err != nil || len(got.Calls) != 2 || got.Calls[0].ID == "call_1" || got.Calls[0].ID == "" || got.Calls[1].ID != "fresh" {
		t.Errorf("%+v, %v", got.Calls, err)
	}
}

// One connection serves a conversation: a new one costs a TLS handshake.
func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{Text: "x"}))
	counted := &counting{}
	c := client(t, chat.Options{BaseURL: srv.URL, HTTP: &http.Client{Transport: counted.transport()}})
	for range 5 {
		if _, err := collect(c.Stream(t.Context(), hello())); err != nil {
			t.Fatal(err)
		}
	}
	if n := counted.dials.Load(); n != 1 {
		t.Errorf("%d connections for 5 requests", n)
	}
}

// TestSchemaOfTheAnswer: the schema is sent in the form of the wire; a provider that refuses it gets
// it without strict, then not at all.
func TestSchemaOfTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refusals []string
		want     string
	}{
		{nil, `{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}}`},
		{[]string{"response_format: 'required' must list every property"}, `{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":false}}`},
		{[]string{"response_format: 'required' must list every property", "response_format json_schema is unavailable"}, ``},
	} {
		var replies []scripted.Reply
		for _, words := range c.refusals {
			replies = append(replies, scripted.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"` + words + `"}}`})
		}
		srv := serve(t, scripted.Steps(append(replies, scripted.Reply{Text: "{}"})...))
		req := hello()
		req.Schema = json.RawMessage(`{"type":"object"}`)
		got, err := collect(client(t, chat.Options{BaseURL: srv.URL}).Stream(t.Context(), req))
		if err != nil || got.Text != "{}" || got.Retries != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if got := field(t, srv, "response_format"); got != c.want {
			t.Errorf("after %d refusals: %s, want %s", len(c.refusals), got, c.want)
		}
	}
}
