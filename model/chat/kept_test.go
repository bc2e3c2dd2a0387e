package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/modeltest"
)

// What a provider sends beside calls and thinking is sent back to it unchanged, and to no
// other model.
func TestWhatIsWantedBack(t *testing.T) {
	t.Parallel()
	chunk := func(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }
	srv := serve(t, scripted.Steps(
		scripted.Reply{Chunks: []string{
			chunk(`{"reasoning":"I should","reasoning_details":[{"type":"reasoning.text","index":0,"text":"I should","format":"f"}]}`),
			chunk(`{"reasoning":" look.","reasoning_details":[{"type":"reasoning.text","index":0,"text":" look.","format":"f"},null]}`),
			chunk(`{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"Er=="},{"type":"reasoning.encrypted","index":1,"data":"gA"}]}`),
			chunk(`{"content":"Looking."}`),
			chunk(`{"tool_calls":[{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"Ej+/=="}},"function":{"name":"shell","arguments":"{}"}}]}`),
			chunk(`{"tool_calls":[{"id":"b","type":"function","function":{"name":"shell","arguments":"{}"}}]}`),
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		}},
		scripted.Reply{Text: "ok"}, scripted.Reply{Text: "ok"}))
	c := client(t, chat.Options{BaseURL: srv.URL})
	req := hello()
	got, err := modeltest.Collect(t, c.Stream(t.Context(), req))
	if err != nil || got.Reasoning != "I should look." {
		t.Fatalf("%+v, %v", got, err)
	}
	req.Items = modeltest.Continued(req.Items, got)
	if _, err := modeltest.Collect(t, c.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	var messages []struct {
		Role    string
		Details json.RawMessage `json:"reasoning_details"`
		Calls   []struct {
			Extra json.RawMessage `json:"extra_content"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal([]byte(field(t, srv, "messages")), &messages); err != nil {
		t.Fatal(err)
	}
	m := messages[1]
	want := `[{"format":"f","index":0,"signature":"Er==","text":"I should look.","type":"reasoning.text"},{"data":"gA","index":1,"type":"reasoning.encrypted"}]`
	if m.Role != "assistant" || string(m.Details) != want {
		t.Errorf("%s: %s, want %s", m.Role, m.Details, want)
	}
	if len(m.Calls) != 2 || string(m.Calls[0].Extra) != `{"google":{"thought_signature":"Ej+/=="}}` || m.Calls[1].Extra != nil {
		t.Errorf("%+v", m.Calls)
	}
	req.Model = "another"
	if _, err := modeltest.Collect(t, c.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if body := field(t, srv, "messages"); strings.Contains(body, "reasoning_details") || strings.Contains(body, "extra_content") {
		t.Errorf("another model got %s", body)
	}
}

// The conversation's cache key is sent to the provider that is known to accept it.
func TestCacheKey(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{}))
	req := hello()
	req.CacheKey = "this conversation"
	if _, err := collect(client(t, chat.Options{BaseURL: srv.URL}).Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if got := field(t, srv, "prompt_cache_key"); got != "" {
		t.Errorf("a stranger got %s", got)
	}
	asked := &recorder{}
	own := client(t, chat.Options{BaseURL: "https://api.openai.com/v1", HTTP: asked.client()})
	_, _ = collect(own.Stream(t.Context(), model.Request{Model: "gpt-4.1", CacheKey: req.CacheKey, Items: req.Items}))
	if err := modeltest.ValidChat(asked.body); err != nil || !strings.Contains(string(asked.body), `"prompt_cache_key":"this conversation"`) {
		t.Errorf("%v: %s", err, asked.body)
	}
}
