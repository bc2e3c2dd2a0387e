package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// limited gives o the time limits that a test leaves out.
func limited(o Options) Options {
	o.Startup, o.Call = cmp.Or(o.Startup, 20*time.Second), cmp.Or(o.Call, 2*time.Minute)
	return o
}

// serve runs a server of the SDK over pipes, as a program would, and connects to it.
func serve(t *testing.T, o Options, set func(*sdk.Server)) *Client {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, nil)
	set(server)
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { // ends with its input
		defer close(ended)
		_ = server.Run(ctx, &sdk.IOTransport{Reader: serverIn, Writer: serverOut})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	if o.Name == "" {
		o.Name = "fake"
	}
	c, err := OverPipes(t.Context(), fromServer, toServer, limited(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type echoed struct {
	Said string `json:"said"`
}

func TestCall(t *testing.T) {
	c := serve(t, Options{}, func(s *sdk.Server) {
		sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it \x1b[31magain."}, func(_ context.Context, _ *sdk.CallToolRequest, in echoed) (*sdk.CallToolResult, echoed, error) {
			return nil, in, nil
		})
	})
	tools := c.Tools()
	if len(tools) != 1 || tools[0].Offered != "fake__echo" || tools[0].Description != "Says it ␛[31magain." || tools[0].ReadOnly || !tools[0].Destructive {
		t.Fatalf("%+v", tools)
	}
	r, err := c.Call(t.Context(), "echo", []byte(`{"said":"a\u001b]0;b"}`), nil)
	if err != nil || r.Failed || string(r.Structured) != `{"said":"a\u001b]0;b"}` || r.Text != `{"said":"a\u001b]0;b"}` {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := c.Call(t.Context(), "echo", []byte(`{"said":1}`), nil); err == nil && !r.Failed {
		t.Errorf("%+v", r)
	}
}

// What a result repeats in its structured content is said once.
func TestRepeated(t *testing.T) {
	text := func(s string) []sdk.Content {
		return []sdk.Content{&sdk.TextContent{Text: "first"}, &sdk.TextContent{Text: s}}
	}
	for _, c := range []struct {
		parts      []sdk.Content
		structured any
		repeated   bool
	}{
		{text(`{"b": 1, "a": [2]}`), map[string]any{"a": []any{2.0}, "b": 1.0}, true},
		{text(`{"b": 2, "a": [2]}`), map[string]any{"a": []any{2.0}, "b": 1.0}, false},
		{text("the file"), map[string]any{"content": "the file\n"}, true},
		{text("another file"), map[string]any{"content": "the file\n"}, false},
		{text("the file"), map[string]any{"content": "the file", "size": 8.0}, false},
		{text(`[{"name": "Ada"}]`), map[string]any{"entities": []any{map[string]any{"name": "Ada"}}}, true},
		{nil, map[string]any{"a": 1.0}, true},
	} {
		client := serve(t, Options{}, func(s *sdk.Server) {
			s.AddTool(&sdk.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: c.parts, StructuredContent: c.structured}, nil
			})
		})
		if r, err := client.Call(t.Context(), "t", nil, nil); err != nil || r.Structured == nil || r.Repeated != c.repeated {
			t.Errorf("%v: %+v, %v", c.structured, r, err)
		}
	}
}

// A text that a server sends as bytes is a text.
func TestTextAsBytes(t *testing.T) {
	c := newClient(Options{})
	for data, want := range map[string]string{"hello\x1b": "[resource r:1]\nhello␛", "\xff\xfe": "[resource r:1, text/plain, 2 bytes: not shown]"} {
		r := c.content(t.Context(), []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "r:1", MIMEType: "text/plain", Blob: []byte(data)}}})
		if r.Text != want {
			t.Errorf("%q became %q, want %q", data, r.Text, want)
		}
	}
}

// Schemas are sent as providers take them: see checkedSchema.
func TestFit(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{`{}`, `{"properties":{},"type":"object"}`},
		{`{"type":"object","$schema":"x","properties":{"a":{"type":"array"},"b":{"type":["object","null"]}}}`,
			`{"properties":{"a":{"items":{},"type":"array"},"b":{"properties":{},"type":["object","null"]}},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"array"},{"$ref":"#/$defs/B"}]}},"$defs":{"B":{"type":"object"}}}`,
			`{"$defs":{"B":{"properties":{},"type":"object"}},"properties":{"a":{"anyOf":[{"items":{},"type":"array"},{"$ref":"#/$defs/B"}]}},"type":"object"}`},
	} {
		var given any
		if err := json.Unmarshal([]byte(c.given), &given); err != nil {
			t.Fatal(err)
		}
		if got, why := checkedSchema(given); string(got) != c.want || why != "" {
			t.Errorf("%s became\n%s %s\nwant\n%s", c.given, got, why, c.want)
		}
	}
	for _, word := range alternatives {
		if _, why := checkedSchema(map[string]any{"type": "object", word: []any{map[string]any{}}}); why == "" {
			t.Errorf("%s at the top", word)
		}
	}
}
