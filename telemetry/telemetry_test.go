package telemetry

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/mask"
	"codeagent/model"
	"codeagent/sandbox"
)

// variables returns a getenv for "NAME=VALUE"s.
func variables(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT="

func TestWhereItIsSent(t *testing.T) {
	for _, tt := range []struct {
		vars    []string
		traces  string
		problem string
	}{
		{vars: nil},
		{vars: []string{"OTEL_SERVICE_NAME=x", "OTEL_EXPORTER_OTLP_HEADERS=a=b", "TRACEPARENT=x"}},
		{vars: []string{endpoint + "http://c:4318"}, traces: "http://c:4318/v1/traces"},
		{vars: []string{endpoint + "https://c/otlp/"}, traces: "https://c/otlp/v1/traces"},
		{vars: []string{endpoint + "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://d/x"}, traces: "http://d/x"},
		{vars: []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://d"}},
		{vars: []string{"OTEL_TRACES_EXPORTER=otlp"}, traces: "http://localhost:4318/v1/traces"},
		{vars: []string{endpoint + "http://c", "OTEL_TRACES_EXPORTER=none"}},
		{vars: []string{endpoint + "http://c", "OTEL_SDK_DISABLED=TRUE"}},
		{vars: []string{endpoint + "http://c", "OTEL_TRACES_EXPORTER=zipkin"}, problem: "OTEL_TRACES_EXPORTER"},
		{vars: []string{endpoint + "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, problem: "only OTLP over HTTP"},
		{vars: []string{endpoint + "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"}, traces: "http://c/v1/traces"},
		{vars: []string{endpoint + "c:4317"}, problem: "not a URL"},
		{vars: []string{endpoint + "unix:///c"}, problem: "not a URL"},
	} {
		s, problems := read(variables(tt.vars...), "1")
		traces := ""
		if s != nil {
			traces = s.url
		}
		if traces != tt.traces {
			t.Errorf("%q: %q", tt.vars, traces)
		}
		if said := strings.Join(problems, "\n"); (said == "") != (tt.problem == "") || !strings.Contains(said, tt.problem) {
			t.Errorf("%q: problems %q", tt.vars, problems)
		}
	}
}

func TestSettings(t *testing.T) {
	const trace, parentID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, tt := range []struct {
		vars     []string
		ok       func(s *settings) bool
		problems int
	}{
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b, x=y=z"}, func(s *settings) bool {
			return s.headers["api-key"] == "a b" && s.headers["x"] == "y=z"
		}, 0},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=secretvalue"}, func(s *settings) bool { return len(s.headers) == 0 }, 1},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=a=b%0d%0ac"}, func(s *settings) bool { return len(s.headers) == 0 }, 1},
		{[]string{"OTEL_EXPORTER_OTLP_TIMEOUT=500"}, func(s *settings) bool { return s.timeout == 500*time.Millisecond }, 0},
		{[]string{"OTEL_EXPORTER_OTLP_TIMEOUT=500", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=700"}, func(s *settings) bool { return s.timeout == 700*time.Millisecond }, 0},
		{[]string{"OTEL_EXPORTER_OTLP_TIMEOUT=-1"}, func(s *settings) bool { return s.timeout == 10*time.Second }, 1},
		{[]string{"OTEL_EXPORTER_OTLP_CERTIFICATE=/ca.pem"}, func(*settings) bool { return true }, 1},
		{[]string{"OTEL_SERVICE_NAME=one", "OTEL_RESOURCE_ATTRIBUTES=service.name=two,team=%C3%BC"}, func(s *settings) bool {
			return s.resource[0].Value["stringValue"] == "one" && slices.ContainsFunc(s.resource, func(a attribute) bool { return a.Key == "team" && a.Value["stringValue"] == "ü" })
		}, 0},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=service.name=two"}, func(s *settings) bool { return s.resource[0].Value["stringValue"] == "two" }, 0},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=team"}, func(s *settings) bool { return s.resource[0].Value["stringValue"] == "codeagent" }, 1},
		{[]string{"TRACEPARENT=00-" + trace + "-" + parentID + "-01"}, func(s *settings) bool { return s.parent == parent{trace, parentID, true} }, 0},
		{[]string{"TRACEPARENT=00-" + trace + "-" + parentID + "-00"}, nil, 0},
		{[]string{"TRACEPARENT=00-" + strings.Repeat("0", 32) + "-" + parentID + "-01"}, func(s *settings) bool { return s.parent == parent{sampled: true} }, 1},
		{[]string{"TRACEPARENT=00-" + strings.ToUpper(trace) + "-" + parentID + "-01"}, func(s *settings) bool { return s.parent == parent{sampled: true} }, 1},
	} {
		s, problems := read(variables(append(tt.vars, endpoint+"http://c")...), "1")
		if (s == nil) != (tt.ok == nil) || s != nil && !tt.ok(s) || len(problems) != tt.problems {
			t.Errorf("%q: %+v, problems %q", tt.vars, s, problems)
		}
		if strings.Contains(strings.Join(problems, ""), "secretvalue") {
			t.Errorf("a problem shows a header: %q", problems)
		}
	}
}

func noMask() *mask.Mask { return nil }

// collector keeps what it gets.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string // by path
	header http.Header
}

func collect(t *testing.T) *collector {
	c := &collector{bodies: map[string][]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies[r.URL.Path], c.header = append(c.bodies[r.URL.Path], string(body)), r.Header
	}))
	t.Cleanup(c.Server.Close)
	return c
}

// outline returns the spans that were sent, in the order of their starts: each with the name
// of its parent.
func (c *collector) outline(t *testing.T) []string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	names, out := map[string]string{}, []string{}
	var all []span
	for _, body := range c.bodies["/v1/traces"] {
		var r struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						Name, SpanID, ParentSpanID string
						Attributes                 []attribute
						Status                     status
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		for _, rs := range r.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					names[s.SpanID] = s.Name
					all = append(all, span{Name: s.Name, ParentID: s.ParentSpanID, Attributes: s.Attributes, Status: s.Status})
				}
			}
		}
	}
	for _, s := range all {
		line := names[s.ParentID] + " > " + s.Name
		for _, a := range s.Attributes {
			if slices.Contains([]string{"codeagent.by", "codeagent.answer", "codeagent.outcome"}, a.Key) {
				line += " " + a.Value["stringValue"].(string)
			}
		}
		if s.Status.Code != 0 {
			line += " !" + s.Status.Message
		}
		out = append(out, line)
	}
	return out
}

// session is a turn with a refusal, questions and a grant.
var session = []event.Event{
	event.SessionStarted{ID: "s1", Model: "gpt"}, event.TurnStarted{Text: "the prompt"}, event.RequestStarted{},
	event.Retrying{Attempt: 1, Message: "key sk-verysecret"}, event.TextDelta{Text: "x"},
	event.UsageUpdated{Last: model.Usage{Input: 10, Output: 5}},
	event.ToolStarted{CallID: "c1", Tool: "shell", Kind: word.KindCommand, Title: "$ TOKEN=abcdef123 cat /etc/passwd"},
	event.PermissionRequested{ID: "q1", CallID: "c1", Wanted: sandbox.Grant{Write: []string{"/a/path"}}},
	event.PermissionAnswered{ID: "q1", CallID: "c1", Answer: word.AnswerSession},
	event.ToolFinished{CallID: "c1", Tool: "shell", Kind: word.KindCommand, Outcome: word.OK, Verdict: sandbox.Verdict{Denials: []sandbox.Denial{{Kind: "write", Target: "/a/path"}}}},
	event.ToolStarted{CallID: "c2", Tool: "shell"},
	event.PermissionRequested{ID: "q2", CallID: "c2"},
	event.PermissionAnswered{ID: "q2", CallID: "c2", Answer: word.AnswerDenied},
	event.ToolFinished{CallID: "c2", Tool: "shell", Outcome: word.Refused},
	event.ToolStarted{CallID: "c3", Tool: "files__read", Kind: word.KindServer, Server: &event.ServerCall{Server: "files", Tool: "read", Arguments: `{"path":"an-argument","TOKEN":"abcdef123"}`}},
	event.ToolFinished{CallID: "c3", Tool: "shell", Outcome: word.Refused}, // by a rule
	event.ToolStarted{CallID: "c4", Tool: "shell"},
	event.PermissionRequested{ID: "q4", CallID: "c4"},
	event.PermissionAnswered{ID: "q4", CallID: "c4", Answer: word.AnswerRefused}, // nobody was there
	event.RequestStarted{},
	event.TurnFinished{Outcome: word.TurnFailed, Err: errors.New("the provider\x1b[31m failed"), Usage: model.Usage{Input: 10, Output: 5}},
}

func TestSpans(t *testing.T) {
	c := collect(t)
	x, problems := New(variables(endpoint+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=k1", "TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), "v1", func() *mask.Mask {
		return mask.New([]string{"K=sk-verysecret"}, func(string) bool { return true })
	})
	if x == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, e := range session {
		x.Observe(e)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"turn > model request",
		"tool call > wait for a person session", "tool call > grant session", "turn > tool call ok",
		"tool call > wait for a person denied", "tool call > refusal person", "turn > tool call refused !refused",
		"tool call > refusal policy", "turn > tool call refused !refused",
		"tool call > refusal policy",
		"turn > model request !the provider␛[31m failed", "turn > tool call !interrupted", " > turn failed !the provider␛[31m failed",
	}
	if got := c.outline(t); !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	traces := strings.Join(c.bodies["/v1/traces"], "")
	for _, never := range []string{"the prompt", "/a/path", "passwd", "verysecret", "abcdef123", "an-argument"} {
		if strings.Contains(traces, never) {
			t.Errorf("%q was sent", never)
		}
	}
	for _, always := range []string{`"traceId":"4bf92f3577b34da6a3ce929d0e0e4736"`, `"parentSpanId":"00f067aa0ba902b7"`, `"gen_ai.usage.input_tokens","value":{"intValue":"10"}`, `"codeagent.mcp.server","value":{"stringValue":"files"}`} {
		if !strings.Contains(traces, always) {
			t.Errorf("%s is not in the spans", always)
		}
	}
	if c.header.Get("Api-Key") != "k1" || c.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", c.header)
	}
}

// Events in any order, and without their partners, do no harm.
func TestOddOrder(t *testing.T) {
	c := collect(t)
	x, _ := New(variables(endpoint+c.URL), "v1", noMask)
	for range 2 {
		for _, e := range slices.Backward(append(event.All(), session...)) {
			x.Observe(e)
		}
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// A collector that refuses, redirects or does not exist is reported once, and what is queued is
// bounded.
func TestNotSent(t *testing.T) {
	elsewhere := collect(t)
	for status, want := range map[int]string{401: "HTTP 401", 503: "HTTP 503", 307: "HTTP 307"} {
		c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(status)
		}))
		t.Cleanup(c.Close)
		x, _ := New(variables(endpoint+c.URL), "v1", noMask)
		x.Observe(event.TurnStarted{})
		x.Observe(event.TurnFinished{Outcome: word.TurnDone})
		if err := x.Close(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "1 spans lost") {
			t.Errorf("status %d: %v", status, err)
		}
	}
	if len(elsewhere.bodies) > 0 {
		t.Error("a redirect was followed")
	}
}

// TestSilentCollector: what nobody takes delays nothing, and the end by two seconds at most.
func TestSilentCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := New(variables(endpoint+"http://c"), "v1", noMask)
		x.client.Transport = never{}
		began := time.Now()
		for range mostQueued + 10 {
			x.Observe(event.TurnStarted{})
			x.Observe(event.TurnFinished{Outcome: word.TurnDone})
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("observing waited for %v", took)
		}
		synctest.Wait()
		err := x.Close()
		if took := time.Since(began); took != lastSend {
			t.Errorf("the end took %v", took)
		}
		if err == nil || !strings.Contains(err.Error(), "2058 spans lost") {
			t.Errorf("told: %v", err)
		}
	})
}

// never answers no request.
type never struct{}

func (never) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
