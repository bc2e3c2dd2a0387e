package scripted_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/scripted"

	"github.com/google/go-cmp/cmp"
)

func start(t *testing.T, h scripted.Handler) *scripted.Server {
	t.Helper()
	srv, err := scripted.Start(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func post(t *testing.T, srv *scripted.Server, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func ask(user string) string {
	b, _ := json.Marshal(user)
	return `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"be brief"},{"role":"user","content":` + string(b) + `}]}`
}

// chunk holds what these tests read of a chunk.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string
			ToolCalls []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens int `json:"prompt_tokens"`
	}
}

// answer is a whole stream, read by the plain rules of LF framing.
type answer struct {
	Text, Finish string
	Names        []string
	Arguments    []string
	Order        []int // the calls' indexes in the order of their deltas
	Usage, Done  bool
}

func read(t *testing.T, r io.Reader) answer {
	t.Helper()
	var a answer
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			a.Done = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %q: %v", data, err)
		}
		a.Usage = a.Usage || c.Usage != nil
		for _, ch := range c.Choices {
			a.Text += ch.Delta.Content
			a.Finish += ch.FinishReason
			for _, tc := range ch.Delta.ToolCalls {
				a.Order = append(a.Order, tc.Index)
				if tc.ID != "" {
					a.Names = append(a.Names, tc.Function.Name)
					a.Arguments = append(a.Arguments, "")
				}
				a.Arguments[tc.Index] += tc.Function.Arguments
			}
		}
	}
	return a
}

func TestTextAndInterleavedCalls(t *testing.T) {
	t.Parallel()
	srv := start(t, scripted.Always(scripted.Reply{
		Text:       "grüße, 世界",
		Calls:      []scripted.Call{{Name: "one", Arguments: `{"a":"xxxxxx"}`}, {Name: "two", Arguments: `{"b":"yyyyyy"}`}},
		Interleave: true, Piece: 8,
	}))
	got := read(t, post(t, srv, ask("hi")).Body)
	want := answer{Text: "grüße, 世界", Finish: "tool_calls", Names: []string{"one", "two"},
		Arguments: []string{`{"a":"xxxxxx"}`, `{"b":"yyyyyy"}`}, Order: []int{0, 1, 0, 1, 0, 1}, Usage: true, Done: true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	r := srv.Requests()[0]
	if r.Instructions != "be brief" || r.Last().Text != "hi" || r.Model != "m" {
		t.Errorf("request parsed as %+v", r)
	}
}

func TestStepsAreCountedPerConversation(t *testing.T) {
	t.Parallel()
	srv := start(t, scripted.Steps(scripted.Reply{Text: "one"}, scripted.Reply{Text: "two"}))
	var got []string
	for _, user := range []string{"a", "b", "a", "b"} {
		got = append(got, read(t, post(t, srv, ask(user)).Body).Text)
	}
	if d := cmp.Diff([]string{"one", "one", "two", "two"}, got); d != "" {
		t.Error(d)
	}
	if resp := post(t, srv, ask("a")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a request after the last step is answered %d, want 400", resp.StatusCode)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	text := "0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		name  string
		reply scripted.Reply
		want  answer
		err   error
	}{
		{"truncate", scripted.Reply{Text: text, Fault: scripted.Truncate, After: 2}, answer{Text: text[:16]}, nil},
		{"drop", scripted.Reply{Text: text, Fault: scripted.Drop, After: 3}, answer{Text: text}, io.ErrUnexpectedEOF},
		{"reset", scripted.Reply{Text: text, Fault: scripted.Reset, After: 2}, answer{}, syscall.ECONNRESET},
		{"no done", scripted.Reply{Text: text, Fault: scripted.NoDone}, answer{Text: text, Finish: "stop", Usage: true}, nil},
		{"unended", scripted.Reply{Text: text, Framing: scripted.Unended}, answer{Text: text, Finish: "stop", Usage: true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := io.ReadAll(post(t, start(t, scripted.Always(c.reply)), ask("x")).Body)
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if c.name == "reset" {
				return // what arrives before a reset is not certain
			}
			if d := cmp.Diff(c.want, read(t, strings.NewReader(string(body)))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFramings(t *testing.T) {
	t.Parallel()
	for framing, want := range map[scripted.Separator]string{
		scripted.LF:            "data: {\"a\":1}\n\ndata: [DONE]\n\n",
		scripted.CRLF:          "data: {\"a\":1}\r\n\r\ndata: [DONE]\r\n\r\n",
		scripted.CR:            "data: {\"a\":1}\r\rdata: [DONE]\r\r",
		scripted.NoSpace:       "data:{\"a\":1}\n\ndata:[DONE]\n\n",
		scripted.SingleNewline: "data: {\"a\":1}\ndata: [DONE]\n",
		scripted.MultiLine:     "data: {\ndata: \"a\":1}\n\ndata: [DONE]\n\n",
		scripted.BOM:           "\uFEFFdata: {\"a\":1}\n\ndata: [DONE]\n\n",
		scripted.Unended:       "data: {\"a\":1}",
	} {
		body, err := io.ReadAll(post(t, start(t, scripted.Always(scripted.Reply{Chunks: []string{`{"a":1}`}, Framing: framing})), ask("x")).Body)
		if err != nil || string(body) != want {
			t.Errorf("framing %d: %q, %v; want %q", framing, body, err, want)
		}
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	// Not parallel: it counts goroutines.
	before := runtime.NumGoroutine()
	srv, err := scripted.Start(t.Context(), scripted.Always(scripted.Reply{Text: "x", Fault: scripted.Stall, After: 1}))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/chat/completions", strings.NewReader(ask("x")))
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	srv.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stalled stream ended in good order")
	}
	_ = resp.Body.Close()
	tr.CloseIdleConnections()
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	buf := make([]byte, 1<<16)
	t.Errorf("goroutines left:\n%s", buf[:runtime.Stack(buf, true)])
}

func TestStatusReply(t *testing.T) {
	t.Parallel()
	srv := start(t, scripted.Always(scripted.Reply{Status: 429, Header: http.Header{"Retry-After": {"2"}}, Body: `{"error":{"message":"slow down"}}`}))
	resp := post(t, srv, ask("x"))
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2" || !strings.Contains(string(body), "slow down") {
		t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, body)
	}
}
