package servers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"codeagent/approvals"
	"codeagent/config/server"
	"codeagent/sandbox"
	"codeagent/tools"
)

// TestForgottenSession: a call that meets a forgotten session is made once more in a new one, as often as
// sessions go. Gone twice in a row it is not tried for ever.
func TestForgottenSession(t *testing.T) {
	var opened, calls atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err == nil && len(data) > 0 {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			t.Error(err)
		}
		session := fmt.Sprint("s", opened.Load())
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", opened.Add(1)))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case m.Method == "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, m.ID)
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			if got := r.Header.Get("Mcp-Session-Id"); got != session {
				t.Errorf("a call in the session %q, not %q", got, session)
			}
			if n := calls.Add(1); n == 2 || n == 4 || n == 5 {
				http.Error(w, "gone", http.StatusNotFound)
			} else {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%d"}]}}`, m.ID, n)
			}
		}
	}))
	defer web.Close()
	o := testOptions(t)
	o.Configured = map[string]server.Settings{"web": complete(t, server.Settings{URL: web.URL})}
	s := Open(t.Context(), o)
	defer s.Close()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := s.member("web")
	a := approvals.Action{Server: &approvals.ServerCall{Server: "web", Tool: "echo", Arguments: "{}", Described: m.described(m.offers()[0])}}
	for i, want := range []string{"1", "3", "", "6"} {
		r, err := m.far(t.Context(), a, sandbox.Policy{}, tools.Stage{})
		if err != nil || r.Failed != (want == "") || want != "" && r.Text != want {
			t.Errorf("call %d: %+v, %v, want %q", i, r, err, want)
		}
	}
	if opened.Load() != 4 {
		t.Errorf("%d sessions, want 4", opened.Load())
	}
}
