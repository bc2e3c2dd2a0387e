package responses_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/modeltest"
	"codeagent/model/responses"
)

// A provider searches with its own tool. The search goes back to it in its place, and the sources are reported
// before the end of the text.
func TestProviderSearches(t *testing.T) {
	t.Parallel()
	call := `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"newest Go"}}`
	srv := serve(t, scripted.Always(scripted.Reply{Chunks: []string{
		`{"type":"response.output_item.done","output_index":0,"item":` + call + `}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"1.26","annotations":[{"type":"url_citation","url":"https://go.dev/","title":"Go"},{"type":"file_citation"}]}]}}`,
		`{"type":"response.completed","response":{"status":"completed","output":[]}}`,
	}}))
	c, req := client(t, responses.Options{BaseURL: srv.URL}), hello()
	req.Search = true
	var search model.Search
	var kept *model.Opaque
	for d, err := range c.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch d := d.(type) {
		case model.Searched:
			search.Add(d.Search)
		case model.Sealed:
			if d.Kind == model.Reasoning {
				kept = d.Opaque
			} else if len(search.Sources) == 0 {
				t.Error("the text ended before its sources")
			}
		}
	}
	if want := (model.Search{Query: "newest Go", Sources: []model.Source{{Title: "Go", URL: "https://go.dev/"}}}); !reflect.DeepEqual(search, want) {
		t.Errorf("%+v", search)
	}
	if tools := string(last(t, srv)["tools"]); !strings.Contains(tools, `{"type":"web_search"}`) {
		t.Errorf("tools: %s", tools)
	}
	req.Search = false
	req.Items = append(req.Items, model.Item{Kind: model.Reasoning, Opaque: kept}, model.Item{Kind: model.Assistant, Text: "1.26"}, model.Item{Kind: model.User, Text: "and?"})
	for _, err := range c.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	call = strings.Replace(call, `"id":"ws_1",`, "", 1) // nothing is stored
	if input, tools := string(last(t, srv)["input"]), string(last(t, srv)["tools"]); !strings.Contains(input, call+`,{"type":"message","role":"assistant"`) || strings.Contains(tools, "search") {
		t.Errorf("input: %s\ntools: %s", input, tools)
	}
}

// router keeps the body of the last request.
type router struct{ body string }

func (r *router) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	r.body = string(body)
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: http.NoBody, Request: req}, err
}

// A provider that refuses the tool is asked again without it, and never with it.
func TestSearchRefused(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Steps(
		scripted.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"Hosted tool 'web_search' is not supported with this model."}}`},
		scripted.Reply{Text: "hi"}, scripted.Reply{Text: "hi"}))
	c, req, refused := client(t, responses.Options{BaseURL: srv.URL}), hello(), 0
	req.Search = true
	for range 2 {
		for d, err := range c.Stream(t.Context(), req) {
			if _, ok := d.(model.Unsearched); ok {
				refused++
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if all := srv.Requests(); refused != 1 || len(all) != 3 || strings.Contains(string(all[1].Body)+string(all[2].Body), "web_search") || !strings.Contains(string(all[0].Body), "web_search") {
		t.Errorf("%d requests, %d refusals", len(all), refused)
	}
	r := &router{}
	o := responses.Options{BaseURL: "https://openrouter.ai/api/v1", SearchTool: "openrouter:web_search", HTTP: &http.Client{Transport: r}}
	for name, c := range map[string]modeltest.Model{"responses": client(t, o), "chat": chat.New(o)} {
		for range c.Stream(t.Context(), req) {
		}
		if !strings.Contains(r.body, `{"type":"openrouter:web_search"}`) || strings.Contains(r.body, "web_search_options") {
			t.Errorf("OpenRouter got over %s: %s", name, r.body)
		}
	}
}
