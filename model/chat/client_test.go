package chat_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/wire"

	"github.com/google/go-cmp/cmp"
)

// impatient is a retry policy that never really waits.
func impatient(waits *[]time.Duration) wire.Retry {
	return wire.Retry{
		Rand: func() float64 { return 1 },
		Sleep: func(ctx context.Context, d time.Duration) error {
			if waits != nil {
				*waits = append(*waits, d)
			}
			return ctx.Err()
		},
	}
}

func serve(t *testing.T, h scripted.Handler) *scripted.Server {
	t.Helper()
	srv, err := scripted.Start(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func client(t *testing.T, o chat.Options) *chat.Client {
	t.Helper()
	c := chat.New(o)
	t.Cleanup(c.Close)
	return c
}

func hello() model.Request {
	return model.Request{Model: "m", Items: []model.Item{{Kind: model.User, Text: "hello"}}}
}

// answer is the rest of a stream without what Retrying voids.
type answer struct {
	Text, Reasoning string
	Calls           []model.ToolCall
	Reason          model.StopReason
	Usage           model.Usage
	Retries         int
}

func collect(seq iter.Seq2[model.Delta, error]) (answer, error) {
	var a answer
	var text strings.Builder
	for d, err := range seq {
		if err != nil {
			a.Text = text.String()
			return a, err
		}
		switch d := d.(type) {
		case model.TextDelta:
			text.WriteString(d.Text)
		case model.ReasoningDelta:
			a.Reasoning += d.Text
		case model.CallDone:
			a.Calls = append(a.Calls, d.Call)
		case model.Retrying:
			a = answer{Retries: a.Retries + 1}
			text.Reset()
		case model.Finished:
			a.Reason, a.Usage = d.Reason, d.Usage
		}
	}
	a.Text = text.String()
	return a, nil
}

func TestAnswerWithTextReasoningCallsAndUsage(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{
		Reasoning: "hm", Text: "grüße, 世界", Interleave: true,
		Calls: []scripted.Call{{ID: "x", Name: "shell", Arguments: `{"command":"ls -la /tmp"}`}, {Name: "read_file", Arguments: ""}},
		Usage: scripted.Usage{Input: 10, Cached: 4, Output: 7, Reasoning: 2},
	}))
	got, err := collect(client(t, chat.Options{BaseURL: srv.URL, Key: "sk-test-key"}).Stream(t.Context(), hello()))
	if err != nil {
		t.Fatal(err)
	}
	want := answer{Text: "grüße, 世界", Reasoning: "hm", Reason: model.StopCalls,
		Calls: []model.ToolCall{{ID: "x", Name: "shell", Arguments: `{"command":"ls -la /tmp"}`}, {ID: "call_0_1", Name: "read_file", Arguments: "{}"}},
		Usage: model.Usage{Input: 10, Cached: 4, Output: 7, Reasoning: 2}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	r := srv.Requests()[0]
	if got := r.Header.Get("Authorization"); got != "Bearer sk-test-key" {
		t.Errorf("Authorization %q", got)
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	srv := serve(t, scripted.Steps(
		scripted.Reply{Status: 429, Header: http.Header{"Retry-After": {"7"}}, Body: `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`},
		scripted.Reply{Text: "half of it", Fault: scripted.Drop, After: 2},
		scripted.Reply{Text: "ok"}))
	got, err := collect(client(t, chat.Options{BaseURL: srv.URL, Retry: impatient(&waits)}).Stream(t.Context(), hello()))
	if err != nil || got.Text != "ok" || got.Retries != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if d := cmp.Diff([]time.Duration{7 * time.Second, time.Second}, waits); d != "" {
		t.Error(d)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripted.Always(scripted.Reply{Status: 401, Body: `{"error":{"message":"Incorrect API key provided: sk-secret-key.","code":"invalid_api_key"}}`}))
	_, err := collect(client(t, chat.Options{BaseURL: srv.URL, Key: "sk-secret-key"}).Stream(t.Context(), hello()))
	e := new(model.Error)
	if !errors.As(err, &e) || e.Kind != model.SignIn || e.Status != 401 {
		t.Fatalf("error %#v", err)
	}
	if strings.Contains(err.Error(), "sk-secret-key") {
		t.Errorf("the error shows the key: %v", err)
	}
}

// counting counts the connections that a transport makes.
type counting struct{ dials atomic.Int64 }

func (c *counting) transport() *http.Transport {
	t := wire.NewBase()
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.dials.Add(1)
		return dial(ctx, network, addr)
	}
	return t
}

// A list of models is plain JSON, not a stream; a missing one is an error.
func TestModels(t *testing.T) {
	srv := serve(t, scripted.Always(scripted.Reply{}))
	got, err := client(t, chat.Options{BaseURL: srv.URL}).Models(t.Context())
	if err != nil || !cmp.Equal(got, []string{"scripted"}) {
		t.Errorf("%v %v", got, err)
	}
	_, err = client(t, chat.Options{BaseURL: srv.URL + "/elsewhere"}).Models(t.Context())
	if e := (*model.Error)(nil); !errors.As(err, &e) || e.Status != http.StatusNotFound {
		t.Errorf("want a 404, got %v", err)
	}
}

// recorder keeps the body of the last request and answers none.
type recorder struct{ body []byte }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.body, _ = io.ReadAll(req.Body)
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

func (r *recorder) client() *http.Client { return &http.Client{Transport: r} }
