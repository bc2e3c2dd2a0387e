package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// inMemory sends requests to a handler without a network, so that a test can stop the clock.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &inMemoryAnswer{header: http.Header{}, body: out, begun: make(chan int, 1)}
	req = req.Clone(req.Context())
	if req.Body == nil {
		req.Body = http.NoBody
	}
	go func() {
		m.ServeHTTP(w, req)
		w.WriteHeader(http.StatusOK)
		out.Close()
	}()
	select {
	case status := <-w.begun:
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", Header: w.header, Body: body, Request: req}, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

type inMemoryAnswer struct {
	header http.Header
	body   *io.PipeWriter
	begun  chan int
	once   sync.Once
}

func (w *inMemoryAnswer) Header() http.Header    { return w.header }
func (w *inMemoryAnswer) WriteHeader(status int) { w.once.Do(func() { w.begun <- status }) }
func (w *inMemoryAnswer) Flush()                 { w.WriteHeader(http.StatusOK) }
func (w *inMemoryAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// message is a request of the client.
type message struct {
	ID     json.RawMessage
	Method string
}

func readMessage(t *testing.T, r *http.Request) (m message) {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		t.Error(err)
	}
	return m
}

// older answers what a server of the older protocol with one tool is asked before it is called.
// It reports whether it did.
func older(w http.ResponseWriter, r *http.Request, m message, session string) bool {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", session)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
	case m.Method == "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, m.ID)
	case m.Method == "server/discover":
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "":
		w.WriteHeader(http.StatusMethodNotAllowed)
	case strings.HasPrefix(m.Method, "notifications/"), r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusAccepted)
	default:
		return false
	}
	return true
}

// A stream that ends before the answer is taken up where it ended, after the time that the
// server asked for.
func TestResumedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Time
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m := readMessage(t, r)
			if older(w, r, m, "s1") {
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			switch {
			case m.Method == "tools/call":
				ended = time.Now()
				_, _ = io.WriteString(w, "id: e1\nretry: 7000\ndata:\n\n")
			case r.Header.Get("Last-Event-ID") == "e1":
				if waited := time.Since(ended); waited < 7*time.Second {
					t.Errorf("taken up after %s", waited)
				}
				if r.Header.Get("Mcp-Session-Id") != "s1" || r.Header.Get("MCP-Protocol-Version") != "2025-11-25" || r.Header.Get("X-Own") != "o" || r.Header.Get("Accept") != "text/event-stream" {
					t.Errorf("taken up with %v", r.Header)
				}
				_, _ = io.WriteString(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+called+",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n")
			default:
				t.Errorf("%s %+v", r.Method, m)
			}
		})
		at, _ := url.Parse("https://example.com/mcp")
		round := newRound(at, map[string]string{"X-Own": "o"})
		round.next = inMemory{server}
		c, err := overHTTP(t.Context(), at, round, limited(Options{Name: "web"}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if r, err := c.Call(t.Context(), "echo", nil, nil); err != nil || r.Text != "late" {
			t.Errorf("%+v %v", r, err)
		}
	})
}

// called is the ID of the first call: initialize, the question for the newer protocol and the list
// of tools come before it.
const called = "4"

// Each request says what it takes, which protocol it speaks and which session it belongs to.
func TestRequestHeaders(t *testing.T) {
	var seen atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := readMessage(t, r)
		accept := r.Header.Get("Accept")
		switch {
		case r.Method == http.MethodPost && !(strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")):
			t.Errorf("%s takes %q", m.Method, accept)
		case r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json":
			t.Errorf("%s is %q", m.Method, r.Header.Get("Content-Type"))
		case r.Method == http.MethodGet && accept != "text/event-stream":
			t.Errorf("a stream takes %q", accept)
		}
		if m.Method != "initialize" && m.Method != "server/discover" {
			seen.Add(1)
			if r.Header.Get("MCP-Protocol-Version") != "2025-11-25" || r.Header.Get("Mcp-Session-Id") != "s1" {
				t.Errorf("%s %s with %v", r.Method, m.Method, r.Header)
			}
		}
		if !older(w, r, m, "s1") {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	c, err := remote(t, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Error(err)
	}
	if seen.Load() < 3 {
		t.Errorf("%d requests were looked at", seen.Load())
	}
}

// A server that wants a sign-in while it is used is an error of that call, with what to do, and the
// next one is made.
func TestSignInLater(t *testing.T) {
	var closed atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := readMessage(t, r)
		switch {
		case closed.Load():
			w.Header().Set("WWW-Authenticate", `Bearer error="OBEY-ME"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !older(w, r, m, "s1"):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hello"}]}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	c, err := remote(t, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	closed.Store(true)
	if _, err := c.Call(t.Context(), "echo", nil, nil); !errors.Is(err, ErrSignIn) || !strings.Contains(err.Error(), "headers") || strings.Contains(err.Error(), "OBEY-ME") {
		t.Errorf("%v", err)
	}
	closed.Store(false)
	if r, err := c.Call(t.Context(), "echo", nil, nil); err != nil || r.Text != "hello" {
		t.Errorf("%+v %v", r, err)
	}
}

// A session that is gone is an error of its own, whether the answer is JSON, plain text or nothing.
func TestSessionsThatGo(t *testing.T) {
	for name, gone := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"JSON": func(w http.ResponseWriter, id json.RawMessage) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Session not found"}}`, id)
		},
		"plain text": func(w http.ResponseWriter, _ json.RawMessage) { http.Error(w, "gone", http.StatusNotFound) },
		"nothing":    func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(http.StatusNotFound) },
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if m := readMessage(t, r); !older(w, r, m, "s1") {
				gone(w, m.ID)
			}
		}))
		c, err := remote(t, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.Call(t.Context(), "echo", nil, nil); !errors.Is(err, ErrForgotten) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		c.Close()
		s.Close()
	}
}

// A redirect is followed to the same host alone, whatever its kind; the headers go nowhere else.
func TestRedirects(t *testing.T) {
	key := map[string]string{"X-Secret": "key"}
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a stranger got %s %v", r.Method, r.Header)
	}))
	t.Cleanup(stranger.Close)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for name, to := range map[string]string{"a stranger": stranger.URL, "another name": "http://localhost.example/", "https": "https://127.0.0.1/", "the file": "file:///etc/hostname"} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }))
			if _, err := remote(t, s.URL, key); err == nil || !strings.Contains(err.Error(), "redirects to another address") {
				t.Errorf("%d to %s: %v", status, name, err)
			}
			s.Close()
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Secret") != "key":
			t.Errorf("%s without the header", r.URL)
		case r.URL.Path == "/old":
			http.Redirect(w, r, "/new", http.StatusPermanentRedirect)
			return
		}
		if m := readMessage(t, r); !older(w, r, m, "s1") {
			t.Errorf("%+v", m)
		}
	}))
	t.Cleanup(s.Close)
	if c, err := remote(t, s.URL+"/old", key); err != nil || len(c.Tools()) != 1 {
		t.Error(err)
	}
	round := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(round.Close)
	if _, err := remote(t, round.URL, key); err == nil {
		t.Error("redirects without end are followed")
	}
}
