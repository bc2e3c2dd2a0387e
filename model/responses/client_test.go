package responses_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/modeltest"
	"codeagent/model/responses"

	"github.com/google/go-cmp/cmp"
)

func serve(t *testing.T, h scripted.Handler) *scripted.Server {
	t.Helper()
	srv, err := scripted.Start(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func client(t *testing.T, o responses.Options) *responses.Client {
	t.Helper()
	o.Retry = impatient()
	c := responses.New(o)
	t.Cleanup(c.Close)
	return c
}

func hello() model.Request {
	return model.Request{Model: "gpt-5", Instructions: "be brief", CacheKey: "conversation-1", Items: []model.Item{{Kind: model.User, Text: "hello"}}}
}

// last is the last request's JSON.
func last(t *testing.T, srv *scripted.Server) map[string]json.RawMessage {
	t.Helper()
	all := srv.Requests()
	var body map[string]json.RawMessage
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRequestAndUsage(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{Text: "hi", Usage: scripted.Usage{Input: 10, Cached: 4, Output: 7, Reasoning: 2}}))
	req := hello()
	req.Effort, req.MaxOutputTokens = "high", 100
	req.Tools = []model.ToolSpec{{Name: "shell", Description: "d", Schema: json.RawMessage(`{"type":"object","x-own":[1]}`)}}
	got, err := modeltest.Collect(t, client(t, responses.Options{BaseURL: srv.URL + "/responses/?x=7", Key: "sk-test-key"}).Stream(t.Context(), req))
	if err != nil || got.Text != "hi" || got.Usage != (model.Usage{Input: 10, Cached: 4, Output: 7, Reasoning: 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, want := range map[string]string{
		"model": `"gpt-5"`, "stream": "true", "store": "false", "instructions": `"be brief"`, "prompt_cache_key": `"conversation-1"`,
		"include": `["reasoning.encrypted_content"]`, "reasoning": `{"effort":"high","summary":"auto"}`, "max_output_tokens": "100",
		"input": `[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]`,
		"tools": `[{"description":"d","name":"shell","parameters":{"type":"object","x-own":[1]},"strict":false,"type":"function"}]`,
	} {
		if d := cmp.Diff(want, string(last(t, srv)[name])); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if got := srv.Requests()[0].Header.Get("Authorization"); got != "Bearer sk-test-key" {
		t.Errorf("Authorization %q", got)
	}
}

// A provider's encrypted thinking is sent back only to it: neither to another model, nor over
// another API.
func TestThinkingGoesBackToWhereItCameFrom(t *testing.T) {
	t.Parallel()
	srv := serve(t, func(r scripted.Request) scripted.Reply {
		return scripted.Reply{Reasoning: "so so", Text: "I look.", Phase: "commentary", Calls: []scripted.Call{{Name: "shell", Arguments: `{"command":"ls"}`}}}
	})
	c, req := client(t, responses.Options{BaseURL: srv.URL}), hello()
	got, err := modeltest.Collect(t, c.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	req.Items = modeltest.Continued(req.Items, got)
	if _, err = modeltest.Collect(t, c.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},` +
		`{"encrypted_content":"sealed-0","id":"rs_0","summary":[{"type":"summary_text","text":"so so"}],"type":"reasoning"},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}],"phase":"commentary"},` +
		`{"type":"function_call","call_id":"call_0_0","name":"shell","arguments":"{\"command\":\"ls\"}"},` +
		`{"type":"function_call_output","call_id":"call_0_0","output":"done"},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}]`
	if d := cmp.Diff(want, string(last(t, srv)["input"])); d != "" {
		t.Error(d)
	}
	other := chat.New(chat.Options{BaseURL: srv.URL})
	t.Cleanup(other.Close)
	for name, turn := range map[string]struct {
		m     modeltest.Model
		named string
		valid func([]byte) error
	}{
		"another model": {c, "gpt-5-mini", modeltest.ValidResponses},
		"another host":  {client(t, responses.Options{BaseURL: strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)}), "gpt-5", modeltest.ValidResponses},
		"another wire":  {other, "gpt-5", modeltest.ValidChat},
	} {
		req.Model = turn.named
		if _, err = modeltest.Collect(t, turn.m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		all := srv.Requests()
		body := all[len(all)-1].Body
		if err := turn.valid(body); err != nil || strings.Contains(string(body), "sealed") || strings.Contains(string(body), "commentary") || !strings.Contains(string(body), "I look.") {
			t.Errorf("%s: %v\n%s", name, err, body)
		}
	}
}

// Providers refuse unknown fields and items that they cannot read. What was refused is left
// out, then and later, and this does not count as a retry.
func TestRefusedIsLeftOut(t *testing.T) {
	t.Parallel()
	refuse := func(status int, message string) scripted.Reply {
		return scripted.Reply{Status: status, Body: `{"error":{"message":"` + message + `","type":"invalid_request_error"}}`}
	}
	for _, c := range []struct {
		field  string
		refuse scripted.Reply
		want   string
	}{
		{"include", refuse(400, "Encrypted content is not supported with this model."), ""},
		{"reasoning", refuse(400, "Your organization must be verified to generate reasoning summaries."), `{"effort":"low"}`},
		{"reasoning", refuse(400, "Unsupported parameter: 'reasoning.effort' is not supported with this model."), `{"summary":"auto"}`},
		{"reasoning", refuse(422, "unknown field 'reasoning'"), ""},
		{"prompt_cache_key", refuse(400, "Unknown parameter: 'prompt_cache_key'."), ""},
		{"store", refuse(400, "Unknown parameter: 'store'."), ""},
		{"max_output_tokens", refuse(400, "Unsupported parameter: max_output_tokens"), ""},
		{"input", refuse(400, "The encrypted content gAAA could not be verified."), `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]}]`},
		{"input", refuse(404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."), `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]}]`},
		{"input", refuse(400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."), `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]}]`},
	} {
		srv := serve(t, scripted.Steps(c.refuse, scripted.Reply{Text: "ok"}, scripted.Reply{Text: "again"}))
		cl, req := client(t, responses.Options{BaseURL: srv.URL}), hello()
		req.Effort, req.MaxOutputTokens = "low", 100
		host := strings.TrimSuffix(strings.TrimPrefix(srv.URL, "http://"), "/v1")
		req.Items = []model.Item{
			{Kind: model.Reasoning, Opaque: &model.Opaque{Source: "responses " + host + " gpt-5", Data: json.RawMessage(`{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}`)}},
			{Kind: model.Assistant, Text: "t"},
		}
		for _, want := range []string{"ok", "again"} {
			if got, err := modeltest.Collect(t, cl.Stream(t.Context(), req)); err != nil || got.Text != want || got.Retries != 0 {
				t.Errorf("%s: %+v, %v", c.refuse.Body, got, err)
			}
		}
		if n := len(srv.Requests()); n != 3 {
			t.Errorf("%s: %d requests, want 3", c.refuse.Body, n)
		}
		if got := string(last(t, srv)[c.field]); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.refuse.Body, c.field, got, c.want)
		}
	}
}

func TestARefusalThatComesAgainIsAnError(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"no 'include', no 'store', no reasoning.effort"}}`}))
	_, err := modeltest.Collect(t, client(t, responses.Options{BaseURL: srv.URL}).Stream(t.Context(), hello()))
	if n := len(srv.Requests()); err == nil || n > 8 {
		t.Errorf("%d requests, error %v", n, err)
	}
}

// Thinking that led to nothing, because the answer was interrupted, is dropped.
func TestThinkingWithoutWhatItLedTo(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{Reasoning: "hm", Fault: scripted.Drop, After: 8}))
	cl := client(t, responses.Options{BaseURL: srv.URL})
	req := hello()
	got, err := modeltest.Collect(t, cl.Stream(t.Context(), req))
	if err == nil || got.Items == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	req.Items = modeltest.Continued(req.Items, got)
	_, _ = modeltest.Collect(t, cl.Stream(t.Context(), req))
	all := srv.Requests()
	if err := modeltest.ValidResponses(all[len(all)-1].Body); err != nil {
		t.Error(err)
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
		{nil, `{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":true}}`},
		{[]string{"text.format: 'required' must list every property"}, `{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"}}}`},
		{[]string{"text.format: 'required' must list every property", "text.format json_schema is unavailable"}, ``},
	} {
		var replies []scripted.Reply
		for _, words := range c.refusals {
			replies = append(replies, scripted.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"` + words + `"}}`})
		}
		srv := serve(t, scripted.Steps(append(replies, scripted.Reply{Text: "{}"})...))
		req := hello()
		req.Schema = json.RawMessage(`{"type":"object"}`)
		got, err := modeltest.Collect(t, client(t, responses.Options{BaseURL: srv.URL}).Stream(t.Context(), req))
		if err != nil || got.Text != "{}" || got.Retries != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if got := string(last(t, srv)["text"]); got != c.want {
			t.Errorf("after %d refusals: %s, want %s", len(c.refusals), got, c.want)
		}
	}
}
