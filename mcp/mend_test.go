package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// mendings are entries of content and what is said in place of them.
var mendings = map[string]struct{ entry, want string }{
	"a data URL":         {`{"type":"image","mimeType":"image/png","data":"data:image/png;base64,AAAA"}`, "[image, image/png: its data is not base64]"},
	"audio":              {`{"type":"audio","data":"%%%"}`, "[audio: its data is not base64]"},
	"an unknown type":    {`{"type":"video\u001b[2J","data":"AAAA"}`, "[content of a kind that is not known here: video␛[2J]"},
	"a long type":        {`{"type":"` + strings.Repeat("v", 200) + `"}`, "[content of a kind that is not known here: " + strings.Repeat("v", maxName) + " … [cut]]"},
	"no type":            {`{"text":"x"}`, "[content of a kind that is not known here]"},
	"null":               {`null`, "[content that is not an object]"},
	"a string":           {`"x"`, "[content that is not an object]"},
	"an embedded blob":   {`{"type":"resource","resource":{"uri":"r:1","mimeType":"image/png","blob":"data:,"}}`, "[resource r:1, image/png: its data is not base64]"},
	"another form":       {`{"type":"text","text":"kept","annotations":5}`, "[text: it does not have the form of the protocol]\nkept"},
	"a resource as text": {`{"type":"resource","resource":"r:1"}`, "[resource: it does not have the form of the protocol]"},
}

// One entry that cannot be decoded does not lose the others.
func TestBadEntries(t *testing.T) {
	for name, tt := range mendings {
		c, err := raw(t, Options{}, func(w io.Writer, method string, id json.RawMessage) {
			answer(w, method, id, `{"name":"draw","inputSchema":{"type":"object"}}`)
			switch method {
			case "tools/call":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"before"},%s,{"type":"text","text":"after"}],"structuredContent":{"n":1},"isError":true}}`+"\n", id, tt.entry)
			case "prompts/get":
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"messages":[{"role":"user","content":{"type":"text","text":"before"}},{"role":"assistant","content":%s}]}}`+"\n", id, tt.entry)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.Call(t.Context(), "draw", nil, nil); err != nil || r.Text != "before\n"+tt.want+"\nafter" || !r.Failed || string(r.Structured) != `{"n":1}` {
			t.Errorf("%s: a call: %+v, %v", name, r, err)
		}
		if r, err := c.Prompt(t.Context(), "draw", nil); err != nil || r.Text != "before\n[assistant]\n"+tt.want {
			t.Errorf("%s: a prompt: %+v, %v", name, r, err)
		}
	}
}

// The same holds for the contents of a resource, and for invalid messages of a prompt.
func TestBadParts(t *testing.T) {
	for _, tt := range []struct{ member, entry, want string }{
		{"contents", `{"uri":"r:1","mimeType":"image/png","blob":"data:,"}`, "[resource r:1]\n[resource, image/png: its data is not base64]"},
		{"contents", `{"uri":"r:1","text":"kept","blob":"%"}`, "[resource r:1]\n[resource: its data is not base64]\nkept"},
		{"contents", `{"uri":"r:1","text":5}`, "[resource r:1]\n[resource: it does not have the form of the protocol]"},
		{"contents", `5`, "[resource ]\n[content that is not an object]"},
		{"messages", `"x"`, "[content that is not an object]"},
		{"messages", `{"role":5,"content":{"type":"text","text":"kept"}}`, "kept"},
		{"messages", `{"role":"user","content":[{"type":"text","text":"x"}]}`, "[content that is not an object]"},
	} {
		good := `{"uri":"r:0","text":"good"}`
		want := "[resource r:0]\ngood\n" + tt.want
		if tt.member == "messages" {
			good, want = `{"role":"user","content":{"type":"text","text":"good"}}`, "good\n"+tt.want
		}
		c, err := raw(t, Options{}, func(w io.Writer, method string, id json.RawMessage) {
			answer(w, method, id, "")
			if method == "resources/read" || method == "prompts/get" {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"%s":[%s,%s]}}`+"\n", id, tt.member, good, tt.entry)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func() (Result, error) { return c.ReadResource(t.Context(), "r:0") }
		if tt.member == "messages" {
			read = func() (Result, error) { return c.Prompt(t.Context(), "p", nil) }
		}
		if r, err := read(); err != nil || r.Text != want {
			t.Errorf("%s: %q, %v, want %q", tt.entry, r.Text, err, want)
		}
	}
}

// Over HTTP as over pipes, in an answer and in a stream.
func TestBadEntriesOverHTTP(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for name, tt := range mendings {
			s := streamable(t, func(next http.Handler) http.Handler { return calledOverHTTP(next, stream, tt.entry) })
			c, err := remote(t, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := c.Call(t.Context(), "echo", nil, nil); err != nil || r.Text != "before\n"+tt.want {
				t.Errorf("%s, stream %v: %+v, %v", name, stream, r, err)
			}
		}
	}
}

// calledOverHTTP answers calls with a text and an entry, and leaves the rest to next.
func calledOverHTTP(next http.Handler, stream bool, entry string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(data)))
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(data, &m) != nil || m.Method != "tools/call" {
			next.ServeHTTP(w, r)
			return
		}
		before, after := "", ""
		w.Header().Set("Content-Type", "application/json")
		if stream {
			before, after = "event: message\ndata: ", "\r\n\r\n"
			w.Header().Set("Content-Type", "text/event-stream")
		}
		fmt.Fprintf(w, `%s{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"before"},%s]}}%s`, before, m.ID, entry, after)
	})
}

// A result that can be decoded is left as it is, and one with many bad entries does not grow.
func TestReadable(t *testing.T) {
	good := `{"content":[{"type":"image","data":"` + base64.StdEncoding.EncodeToString([]byte("x")) + `"}], "more":{"messages":[5]}}`
	if result, changed := readable(json.RawMessage(good)); changed || string(result) != good {
		t.Errorf("%s became %s", good, result)
	}
	many := `{"content":[` + strings.Repeat("1,", 1<<20) + `1]}`
	result, changed := readable(json.RawMessage(many))
	if !changed || len(result) > 100*maxParts {
		t.Errorf("%d bytes became %d", len(many), len(result))
	}
	for _, other := range []string{`{"content":"text"}`, `{"contents":5}`, `[]`, `"content"`, ``} {
		if result, changed := readable(json.RawMessage(other)); changed || string(result) != other {
			t.Errorf("%s became %s", other, result)
		}
	}
}
