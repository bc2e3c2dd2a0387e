package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// collected is what an OpenTelemetry collector got, by path.
type collected struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string
}

func collect(t *testing.T) *collected {
	c := &collected{bodies: map[string][]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], string(body))
	}))
	t.Cleanup(c.Close)
	return c
}

// spans returns the spans as "PARENT > NAME", sorted, and requires that they are of one trace.
func (c *collected) spans(t *testing.T) []string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	type span struct{ TraceID, SpanID, ParentSpanID, Name string }
	var all []span
	for _, body := range c.bodies["/v1/traces"] {
		var r struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		for _, rs := range r.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				all = append(all, ss.Spans...)
			}
		}
	}
	var out []string
	for _, s := range all {
		parent := s.ParentSpanID
		if i := slices.IndexFunc(all, func(p span) bool { return p.SpanID == parent }); i >= 0 {
			parent = all[i].Name
		}
		if s.TraceID != all[0].TraceID {
			t.Errorf("two traces: %+v", all)
		}
		out = append(out, parent+" > "+s.Name)
	}
	slices.Sort(out)
	return out
}

// TestTelemetry: a collector gets the spans of a turn with a question that is answered yes, one
// that is answered no, and a refusal by the policy. Without the variables nothing is sent.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	const reason = "the report.txt that you asked for belongs into your home"
	turn := func() *scripted.Server {
		return serve(t,
			scripted.Reply{Calls: []scripted.Call{wishCall(u.home+"/report.txt", reason)}},
			scripted.Reply{Calls: []scripted.Call{wishCall(u.home+"/report.txt.2", reason)}},
			scripted.Reply{Text: "That was it."})
	}
	c := collect(t)
	t.Run("asked", func(t *testing.T) {
		cmd := u.codeagent("--model", "test", "report")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+turn().URL, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_SERVICE_NAME=ours",
			"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		term := golden.Start(t, cmd, 160, 40)
		term.WaitFor("report.txt")
		term.WaitFor("the model says:")
		term.Write("\x191")
		term.WaitFor("report.txt.2")
		term.WaitFor("the model says:")
		term.Write("\x19n")
		term.WaitFor("reason (optional)")
		term.Write("\r")
		term.WaitFor("That was it.")
		term.Write("/quit\r")
		if err := term.WaitExit(); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"00f067aa0ba902b7 > turn",
			"tool call > grant", "tool call > refusal", "tool call > wait for a person", "tool call > wait for a person",
			"turn > model request", "turn > model request", "turn > model request", "turn > tool call", "turn > tool call",
		}
		if got := c.spans(t); !slices.Equal(got, want) {
			t.Errorf("spans %q", got)
		}
		if all := strings.Join(c.bodies["/v1/traces"], ""); strings.Contains(all, "report.txt") ||
			!strings.Contains(all, `"ours"`) || !strings.Contains(all, "gen_ai.usage.input_tokens") {
			t.Errorf("sent %s", all)
		}
	})
	t.Run("unattended", func(t *testing.T) {
		alone := collect(t)
		cmd := u.codeagent("exec", "--model", "test", "report")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+turn().URL, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+alone.URL+"/v1/traces")
		if r := run1(t, cmd); r.code != 3 {
			t.Fatal(r)
		}
		if got := alone.spans(t); !slices.Contains(got, "tool call > refusal") || slices.Contains(got, "tool call > wait for a person") || len(alone.bodies) > 1 {
			t.Errorf("spans %q", got)
		}
	})
	t.Run("unset", func(t *testing.T) {
		for _, vars := range [][]string{nil, {"OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}} {
			c.bodies = map[string][]string{}
			cmd := u.codeagent("exec", "--model", "test", "hi")
			cmd.Env = append(append(cmd.Env, "OPENAI_BASE_URL="+serve(t, scripted.Reply{Text: "hello"}).URL, "GODEBUG=inittrace=1"), vars...)
			r := run1(t, cmd)
			if r.code != 0 || !strings.Contains(r.stderr, "init runtime @") {
				t.Fatal(r)
			}
			for _, room := range []string{"codeagent/telemetry", "codeagent/eventlog", "opentelemetry"} {
				if strings.Contains(r.stderr, room) {
					t.Errorf("%s does work at the start: %s", room, r.stderr)
				}
			}
			if len(c.bodies) > 0 {
				t.Errorf("with %q the collector got %q", vars, c.bodies)
			}
		}
	})
	t.Run("unreachable", func(t *testing.T) {
		cmd := u.codeagent("exec", "--model", "test", "hi")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+serve(t, scripted.Reply{Text: "hello"}).URL, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
		if r := run1(t, cmd); r.code != 0 || r.stdout != "hello\n" || strings.Count(r.stderr, "telemetry:") != 1 || !strings.Contains(r.stderr, "2 spans lost") {
			t.Error(r)
		}
	})
}
