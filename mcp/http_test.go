package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/mcp/inquiry"
)

// streamable is a server of the SDK with one tool, behind before.
func streamable(t *testing.T, before func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echoed) (*sdk.CallToolResult, echoed, error) {
		return nil, in, nil
	})
	s := httptest.NewServer(before(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
	t.Cleanup(s.Close)
	return s
}

func remote(t *testing.T, address string, headers map[string]string) (*Client, error) {
	t.Helper()
	c, err := OverHTTP(t.Context(), address, headers, limited(Options{Name: "web"}))
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// Each request has the headers of the settings and the protocol's version.
func TestHTTP(t *testing.T) {
	s := streamable(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer key" {
				t.Errorf("%s without the header of the settings", r.Method)
			}
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(body), `"initialize"`) && r.Header.Get("MCP-Protocol-Version") == "" {
				t.Errorf("%s %s without a version", r.Method, body)
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(w, r)
		})
	})
	c, err := remote(t, s.URL, map[string]string{"Authorization": "Bearer key"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Call(t.Context(), "echo", []byte(`{"said":"hello"}`), nil); err != nil || r.Text != `{"said":"hello"}` {
		t.Errorf("%+v %v", r, err)
	}
}

// Headers hold secrets: no other host gets them, and no network in plain text.
func TestHeadersStay(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a stranger got %s %v", r.Method, r.Header)
	}))
	defer stranger.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	key := map[string]string{"Authorization": "Bearer key"}
	if _, err := remote(t, s.URL, key); err == nil || !strings.Contains(err.Error(), "redirects to another address") {
		t.Errorf("%v", err)
	}
	if _, err := remote(t, "http://example.com/mcp", key); err == nil || !strings.Contains(err.Error(), "plain text") {
		t.Errorf("%v", err)
	}
}

func TestSignIn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "OBEY-ME", http.StatusUnauthorized)
	}))
	defer s.Close()
	// Threat: a key may stand in the address, and errors are shown, logged and sent to the model.
	_, err := remote(t, s.URL+"/?key=SECRET", nil)
	if want := "MCP server web, starting: the server needs a sign-in: it answered HTTP 401; codeagent mcp login web signs in, or set its headers in the settings"; !errors.Is(err, ErrSignIn) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A server that is not there is named by its address, without the layers of the protocol.
func TestNoServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := remote(t, s.URL, nil)
	if want := "MCP server web, starting: connection refused: " + strings.TrimPrefix(s.URL, "http://"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// An address where no server is, or one of the transport before streamable HTTP, is an error that says
// so.
func TestOtherTransport(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "OBEY-ME", status) }))
		_, err := remote(t, s.URL, nil)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it answered HTTP %d: no MCP server", status)) || strings.Contains(err.Error(), "OBEY-ME") {
			t.Errorf("%v", err)
		}
		s.Close()
	}
}

// A server may say "OK" to a notification, and show a page where it has no stream.
func TestWordsBesideAnswers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := readMessage(t, r)
		if r.Method != http.MethodGet && !strings.HasPrefix(m.Method, "notifications/") {
			if !older(w, r, m, "s1") {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"here"}]}}`, m.ID)
			}
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "OK")
	}))
	defer s.Close()
	c, err := remote(t, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r, err := c.Call(t.Context(), "echo", nil, nil); err != nil || r.Text != "here" {
		t.Errorf("%+v %v", r, err)
	}
}

// What answers and is no MCP server, or a broken one, is named by what it answered.
func TestOtherAnswers(t *testing.T) {
	for _, tt := range []struct {
		status          int
		kind, body, why string
	}{
		{http.StatusInternalServerError, "text/plain", "OBEY-ME", "it answered HTTP 500 (Internal Server Error)"},
		{http.StatusForbidden, "text/plain", "only at \x1b[1mlocalhost\n", `it refused the request (HTTP 403), with the words "only at ␛[1mlocalhost": check its url and headers`},
		{http.StatusTooManyRequests, "text/plain", "OBEY-ME", "it answered HTTP 429 (Too Many Requests)"},
		{http.StatusOK, "text/html", "<h1>OBEY-ME</h1>", `it does not answer as an MCP server does: unsupported content type "text/html"`},
		{http.StatusOK, "application/json", "", "it does not answer as an MCP server does: failed to decode response: unmarshaling jsonrpc message: EOF"},
		{http.StatusOK, "text/event-stream", "data: {\n\n", "it does not answer as an MCP server does: failed to decode event: unmarshaling jsonrpc message: unexpected EOF"},
		{http.StatusOK, "text/event-stream", "", "request terminated without response"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		}))
		if _, err := remote(t, s.URL+"/?key=SECRET", nil); err == nil || err.Error() != "MCP server web, starting: "+tt.why {
			t.Errorf("%v, want %s", err, tt.why)
		}
		s.Close()
	}
}

// An answer without end, or nested without end, is an error.
func TestEndlessAnswers(t *testing.T) {
	for name, piece := range map[string]string{"long": strings.Repeat(" ", 1<<20), "deep": strings.Repeat("[", 1<<20)} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 2 * maxLine >> 20 {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}))
		if c, err := remote(t, s.URL, nil); err == nil {
			t.Errorf("%s: %s", name, c.Protocol())
		}
		s.Close()
	}
}

// TestFormOverHTTPHasTheOrderOfTheServer: as over pipes, the person sees the fields as the server lists them.
func TestFormOverHTTPHasTheOrderOfTheServer(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "where?", RequestedSchema: &jsonschema.Schema{
			Type: "object", PropertyOrder: []string{"zip", "name", "city"},
			Properties: map[string]*jsonschema.Schema{"zip": {Type: "string"}, "name": {Type: "string"}, "city": {Type: "string"}},
		}})
		return &sdk.CallToolResult{}, err
	})
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(s.Close)
	var names []string
	c, err := OverHTTP(t.Context(), s.URL, nil, limited(Options{Name: "web", Elicit: func(_ context.Context, q inquiry.Question) inquiry.Reply {
		for _, f := range q.Fields {
			names = append(names, f.Name)
		}
		return inquiry.Reply{Action: inquiry.Declined}
	}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call(t.Context(), "ask", []byte(`{}`), nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); got != "zip name city" {
		t.Errorf("the fields are %q", got)
	}
}

// TestFormOverPipesHasTheOrderOfTheServer: the same for a program.
func TestFormOverPipesHasTheOrderOfTheServer(t *testing.T) {
	var names []string
	var call json.RawMessage
	c, err := raw(t, Options{Elicit: func(_ context.Context, q inquiry.Question) inquiry.Reply {
		for _, f := range q.Fields {
			names = append(names, f.Name)
		}
		return inquiry.Reply{Action: inquiry.Declined}
	}}, func(w io.Writer, method string, id json.RawMessage) {
		switch method {
		case "tools/call":
			call = id
			fmt.Fprintln(w, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"where?","requestedSchema":{"type":"object","properties":{"zip":{"type":"string"},"name":{"type":"string"},"city":{"type":"string"}}}}}`)
		case "": // the answer to the question
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", call)
		default:
			answer(w, method, id, `{"name":"ask","inputSchema":{"type":"object"}}`)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "ask", nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); got != "zip name city" {
		t.Errorf("the fields are %q", got)
	}
}
