package modeltest

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// testcase is a script and the expected result.
type testcase struct {
	name    string
	replies []scripted.Reply
	want    Answer
	// kind, if set, is the kind of the error that must end the stream; its message contains
	// says.
	kind model.ErrorKind
	says string
	// wait is the RetryAfter that the error must carry.
	wait time.Duration
	// requests is how many requests must have been made; 0: one more than want.Retries.
	requests int
	// idle is how long the server may be silent; 0: the adapter's own limit.
	idle time.Duration
	// huge answers are not sent back to the server.
	huge bool
}

func (c testcase) run(t *testing.T, w Wire, build Build) {
	script := scripted.Steps(c.replies...)
	var over atomic.Bool
	srv := serve(t, func(r scripted.Request) scripted.Reply {
		if over.Load() {
			return scripted.Reply{Text: "ok"}
		}
		return script(r)
	})
	m := build(t, srv.URL, c.idle)
	got, err := Collect(t, m.Stream(unhung(t), question()))
	c.check(t, got, err, len(srv.Requests()))
	if c.huge {
		return
	}
	over.Store(true)
	w.accepts(t, m, srv, got)
}

// check compares what the consumer of a stream received with the expected result.
func (c testcase) check(t *testing.T, got Answer, err error, made int) {
	t.Helper()
	requests := c.requests
	if requests == 0 {
		requests = c.want.Retries + 1
	}
	if made != requests {
		t.Errorf("%d requests were made, want %d", made, requests)
	}
	if c.kind != "" {
		e := new(model.Error)
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.says) || e.RetryAfter != c.wait {
			t.Errorf("error %#v, want kind %s, wait %s and words %q", err, c.kind, c.wait, c.says)
		}
		if got.Retries != c.want.Retries {
			t.Errorf("%d retries, want %d", got.Retries, c.want.Retries)
		}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	got.Usage = model.Usage{}
	if c.want.Items == nil {
		got.Items = nil
	}
	for i := range got.Items {
		if o := got.Items[i].Opaque; o != nil {
			o.Source = "" // it contains the port
		}
	}
	if d := cmp.Diff(c.want, got); d != "" {
		t.Error(d)
	}
}

func cases(w Wire) []testcase {
	all := framings()
	all = append(all, breaks(w)...)
	all = append(all, statuses(w)...)
	all = append(all, calls()...)
	all = append(all, sizes(w)...)
	return append(all, w.shapes()...)
}

const prose = "Grüße aus 世界. \"quoted\", back\\slash,\nnewline\tand \u0001 control."

func end(text string) Answer { return Answer{Text: text, Reason: model.StopEnd} }

// framings returns different ways to frame the same events.
func framings() []testcase {
	names := map[scripted.Separator]string{
		scripted.LF: "lf", scripted.CRLF: "crlf", scripted.CR: "cr", scripted.NoSpace: "no space",
		scripted.SingleNewline: "single newlines", scripted.MultiLine: "multi-line data", scripted.BOM: "byte order mark",
		scripted.Unended: "unended", scripted.Noisy: "other fields and comments",
	}
	shell := model.ToolCall{ID: "a", Name: "shell", Arguments: `{"command":"echo 'ü'"}`}
	var all []testcase
	for framing, name := range names {
		for _, paced := range []time.Duration{0, 200 * time.Microsecond} {
			all = append(all, testcase{
				name: fmt.Sprintf("framing %s, paced %t", name, paced > 0),
				replies: []scripted.Reply{{Reasoning: "so so", Text: prose, Framing: framing, Delay: paced, KeepAlives: 1,
					Calls: []scripted.Call{{ID: shell.ID, Name: shell.Name, Arguments: shell.Arguments}}}},
				want: Answer{Text: prose, Reasoning: "so so", Reason: model.StopCalls, Calls: []model.ToolCall{shell}},
			})
		}
	}
	long := strings.Repeat("0123456789abcdef", 4<<20/16)
	return append(all,
		testcase{name: "4 MB of text in small pieces", replies: []scripted.Reply{{Text: long, Piece: 4096}}, want: end(long), huge: true},
		testcase{name: "one event of 2 MB", replies: []scripted.Reply{{Text: long[:2<<20], Piece: 2 << 20}}, want: end(long[:2<<20]), huge: true},
		testcase{name: "1,000 keep-alive comments before each event", replies: []scripted.Reply{{Text: prose, KeepAlives: 1000}}, want: end(prose)},
		testcase{name: "slow drip", replies: []scripted.Reply{{Text: "slow but sure", Piece: 1, Delay: 2 * time.Millisecond}}, want: end("slow but sure")},
		testcase{name: "an empty answer", replies: []scripted.Reply{{}}, want: end("")},
		testcase{name: "a refusal in words", replies: []scripted.Reply{{Refusal: "I will not."}}, want: end("I will not.")},
	)
}

// breaks returns streams and connections that fail on the way.
func breaks(w Wire) []testcase {
	half := scripted.Reply{Text: "this is void", Calls: []scripted.Call{{ID: "v", Name: "shell", Arguments: `{"void":true}`}}, Piece: 4}
	broken := func(f scripted.Fault, after int) scripted.Reply { r := half; r.Fault, r.After = f, after; return r }
	ok := scripted.Reply{Text: "ok"}
	again := Answer{Text: "ok", Reason: model.StopEnd, Retries: 1}
	whole := Answer{Text: "ok", Reason: model.StopEnd}
	var all []testcase
	for name, f := range map[string]scripted.Fault{"truncated": scripted.Truncate, "dropped": scripted.Drop, "reset": scripted.Reset} {
		for _, after := range []int{0, 2, 6} {
			all = append(all, testcase{name: fmt.Sprintf("%s after %d events", name, after), replies: []scripted.Reply{broken(f, after), ok}, want: again})
		}
		all = append(all, testcase{name: name + " each time", replies: []scripted.Reply{broken(f, 2), broken(f, 2), broken(f, 2), ok},
			kind: model.Transport, says: "attempts", want: Answer{Retries: Attempts - 1}})
	}
	return append(all,
		testcase{name: "never answered", replies: []scripted.Reply{{Fault: scripted.NeverAnswer}, ok}, want: again, idle: silence},
		testcase{name: "stalled after 0 events", replies: []scripted.Reply{broken(scripted.Stall, 0), ok}, want: again, idle: silence},
		testcase{name: "stalled after 6 events", replies: []scripted.Reply{broken(scripted.Stall, 6), ok}, want: again, idle: silence},
		testcase{name: "comments alone, before any event", replies: []scripted.Reply{broken(scripted.Comments, 0), ok}, want: again, idle: silence},
		testcase{name: "comments alone, after some events", replies: []scripted.Reply{broken(scripted.Comments, 6), ok}, want: again, idle: silence},
		testcase{name: "stalled each time", replies: []scripted.Reply{broken(scripted.Stall, 2), broken(scripted.Stall, 2), broken(scripted.Stall, 2), ok},
			kind: model.Transport, says: "attempts", want: Answer{Retries: Attempts - 1}, idle: silence},
		testcase{name: "no [DONE]", replies: []scripted.Reply{{Text: "ok", Fault: scripted.NoDone}}, want: whole},
		testcase{name: "open after the end", replies: []scripted.Reply{{Text: "ok", Fault: scripted.NeverEnd}}, want: whole, idle: silence},
		testcase{name: "reset after the end", replies: []scripted.Reply{{Chunks: []string{w.text("ok"), w.end}, Fault: scripted.Reset, After: 2}, ok},
			// Whether the last bytes survive the reset or not, nothing is lost.
			want: whole},
		testcase{name: "an answer of nothing but [DONE]", replies: []scripted.Reply{{Body: "data: [DONE]\n\n"}, ok}, want: again},
		testcase{name: "an empty body", replies: []scripted.Reply{{Body: "\n"}, ok}, want: again},
		testcase{name: "not JSON", replies: []scripted.Reply{{Body: "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}\n\n"}, ok}, want: again},
		testcase{name: "an answer broken off by the provider", replies: []scripted.Reply{{Text: "x", Stop: "error"}, ok}, want: again},
	)
}

// sizes returns answers that are larger than expected.
func sizes(w Wire) []testcase {
	const piece, pieces = 64 << 10, 800
	part := w.text(strings.Repeat("x", piece))
	chunks := make([]string, pieces+1)
	for i := range pieces {
		chunks[i] = part
	}
	chunks[pieces] = w.end
	return []testcase{
		{name: "50 MB of text", replies: []scripted.Reply{{Chunks: chunks}}, want: end(strings.Repeat("x", piece*pieces)), huge: true},
		{name: "an event above the limit", replies: []scripted.Reply{{Chunks: []string{w.text(strings.Repeat("x", 32<<20)), w.end}}, {Text: "ok"}}, kind: model.ServerFault, says: "larger than 32 MiB"},
		{name: "a field without an end", replies: []scripted.Reply{{Body: "data: {\"x\":\"" + strings.Repeat("x", 33<<20)}, {Text: "ok"}}, kind: model.ServerFault, says: "larger than 32 MiB"},
	}
}

// statuses returns answers that are not streams, and errors inside streams.
func statuses(w Wire) []testcase {
	ok := scripted.Reply{Text: "ok"}
	again := Answer{Text: "ok", Reason: model.StopEnd, Retries: 1}
	page := "<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>x</body></html>"
	stream := "data: " + w.text("packed") + "\n\ndata: " + w.end + "\n\n"
	if w.name == Chat.name {
		stream += "data: [DONE]\n\n"
	}
	fails := func(name string, r scripted.Reply, kind model.ErrorKind, says string) testcase {
		return testcase{name: name, replies: []scripted.Reply{r, ok}, kind: kind, says: says}
	}
	var all []testcase
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504, 529} {
		all = append(all, testcase{name: fmt.Sprint("status ", status), replies: []scripted.Reply{{Status: status, Body: `{"error":{"message":"later"}}`}, ok}, want: again})
	}
	long := fails("429 with a long Retry-After", scripted.Reply{Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Body: `{"error":{"message":"later"}}`}, model.RateLimited, "1h0m0s")
	long.wait = time.Hour
	return append(all, long,
		testcase{name: "429 with Retry-After", replies: []scripted.Reply{{Status: 429, Header: http.Header{"Retry-After": {"1"}}, Body: "slow down"}, ok}, want: again},
		testcase{name: "503 with a web page", replies: []scripted.Reply{{Status: 503, Header: http.Header{"Content-Type": {"text/html"}}, Body: page}, ok}, want: again},
		testcase{name: "an error event before any text", replies: []scripted.Reply{{Body: "data: { \"error\" : {\"message\":\"overloaded\",\"type\":\"server_error\"}}\n\n"}, ok}, want: again},
		testcase{name: "an error event after some text", replies: []scripted.Reply{{Body: "data: " + w.text("void") + "\n\nevent: error\ndata: {\"message\":\"overloaded\",\"code\":503}\n\n"}, ok}, want: again},
		fails("401", scripted.Reply{Status: 401, Body: `{"error":{"message":"bad key","code":"invalid_api_key"}}`}, model.SignIn, "bad key"),
		fails("403 with a page", scripted.Reply{Status: 403, Body: page}, model.SignIn, "Bad gateway"),
		fails("400", scripted.Reply{Status: 400, Body: `{"error":{"message":"no such field"}}`}, model.BadRequest, "no such field"),
		fails("404 in plain text", scripted.Reply{Status: 404, Body: "404 page not found"}, model.BadRequest, "page not found"),
		fails("422 of a validator", scripted.Reply{Status: 422, Body: `{"detail":[{"loc":["body"],"msg":"field required"}]}`}, model.BadRequest, "field required"),
		fails("a redirect", scripted.Reply{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/elsewhere"}}}, model.BadRequest, "elsewhere"),
		fails("quota", scripted.Reply{Status: 429, Body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`}, model.NoQuota, "quota"),
		fails("context full", scripted.Reply{Status: 400, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`}, model.ContextFull, "8192"),
		fails("context full in the stream", scripted.Reply{Body: "data: {\"error\":{\"message\":\"prompt is too long\"}}\n\n"}, model.ContextFull, "too long"),
		fails("a web page with status 200", scripted.Reply{Header: http.Header{"Content-Type": {"text/html"}}, Body: page}, model.ServerFault, "Bad gateway"),
		fails("a web page called an event stream", scripted.Reply{Body: "\n" + page}, model.ServerFault, "Bad gateway"),
		testcase{name: "packed with gzip, unasked", replies: []scripted.Reply{{Header: packed("gzip"), Body: zipped(stream)}}, want: Answer{Text: "packed", Reason: model.StopEnd}},
		fails("400, packed with gzip", scripted.Reply{Status: 400, Header: packed("gzip"), Body: zipped(`{"error":{"message":"no such field"}}`)}, model.BadRequest, "no such field"),
		fails("packed with what is not read", scripted.Reply{Header: packed("br"), Body: "\x8b\x00"}, model.ServerFault, `"br"`),
		fails("401, packed with what is not read", scripted.Reply{Status: 401, Header: packed("zstd"), Body: "\x28\xb5\x2f\xfd"}, model.SignIn, `"zstd"`),
		fails("an error with status 200", scripted.Reply{Body: `{"error":"model not loaded","code":"invalid_request_error"}`, Header: http.Header{"Content-Type": {"application/json"}}}, model.BadRequest, "model not loaded"),
	)
}

// packed returns the header of an answer with that Content-Encoding.
func packed(coding string) http.Header { return http.Header{"Content-Encoding": {coding}} }

// zipped returns text compressed by gzip.
func zipped(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // a Builder never fails
	_ = z.Close()
	return b.String()
}

func nobodyListens(t *testing.T, build Build) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() { settled(t, before) })
	// A port reserved for root: the port of a closed server could be taken by another process.
	got, err := Collect(t, build(t, "http://127.0.0.1:1/v1", 0).Stream(unhung(t), question()))
	e := new(model.Error)
	if !errors.As(err, &e) || e.Kind != model.Transport || got.Retries != Attempts-1 {
		t.Errorf("%d retries, error %#v; want %d and a transport error", got.Retries, err, Attempts-1)
	}
}
