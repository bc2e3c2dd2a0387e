package main

// The conformance suite speaks to a server over HTTP, and `codeagent mcp` serves a pair of pipes.
// The bridge carries messages between the two unchanged, and notes what it carried:
//
//	POST initialize  -> a new server, whose session ID is in the response
//	POST a request   -> a line; the response is a stream of what the server sends, until the response
//	POST another     -> a line; 202
//	GET              -> 405: there is no stream beside those of requests
//	DELETE           -> the end of the server's input

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pipes are a running server: its input, its output, and the wait for its end.
type pipes struct {
	in   io.WriteCloser
	out  io.Reader
	wait func() error
}

// bridge serves one scenario of the suite.
type bridge struct {
	t       *testing.T
	connect func() pipes

	mu       sync.Mutex
	sessions map[string]*bridged
	sent     []*sentRequest
	foreign  int // requests for another host, which are refused and not carried
}

// sentRequest is a request that the suite sent, and the code of the error that answered it.
type sentRequest struct {
	method, tool string
	code         int
}

// bridged is one server behind the bridge.
type bridged struct {
	pipes
	write sync.Mutex

	mu      sync.Mutex
	waiting []*exchange // oldest first
}

// exchange is a request without its response.
type exchange struct {
	id    string
	lines chan []byte // buffered; closed after the response
	sent  *sentRequest
}

func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r.Host) || !local(r.Header.Get("Origin")) {
		b.mu.Lock()
		b.foreign++
		b.mu.Unlock()
		http.Error(w, "for another host", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if r.Method == http.MethodPost && err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := r.Header.Get("Mcp-Session-Id")
	if m.Method == "initialize" {
		id = b.open()
	}
	b.mu.Lock()
	s := b.sessions[id]
	if r.Method == http.MethodDelete {
		delete(b.sessions, id)
	}
	b.mu.Unlock()
	switch {
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case s == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		b.end(s)
	case len(m.ID) == 0 || m.Method == "":
		s.line(body)
		w.WriteHeader(http.StatusAccepted)
	default:
		sent := &sentRequest{method: m.Method, tool: m.Params.Name}
		b.mu.Lock()
		b.sent = append(b.sent, sent)
		b.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		s.exchange(w, body, &exchange{string(m.ID), make(chan []byte, 1000), sent})
	}
}

// local reports whether a Host or an Origin is this machine's. The test's own clients send no Origin.
func local(host string) bool {
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		host = u.Host
	}
	return host == "" || strings.HasPrefix(host, "127.0.0.1:") || strings.HasPrefix(host, "localhost:")
}

// open starts a server and returns the ID of its session.
func (b *bridge) open() string {
	s := &bridged{pipes: b.connect()}
	go s.read()
	b.mu.Lock()
	defer b.mu.Unlock()
	id := fmt.Sprintf("session-%d", len(b.sessions)+len(b.sent))
	b.sessions[id] = s
	return id
}

func (b *bridge) end(s *bridged) {
	s.in.Close()
	if err := s.wait(); err != nil {
		b.t.Errorf("the server ended with %v", err)
	}
}

// close ends the servers whose sessions the suite left open.
func (b *bridge) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		b.end(s)
	}
}

func (s *bridged) line(body []byte) {
	s.write.Lock()
	defer s.write.Unlock()
	_, _ = s.in.Write(append(bytes.ReplaceAll(body, []byte("\n"), []byte(" ")), '\n')) // an end shows as a missing response
}

// exchange sends a request and streams what comes until its response.
func (s *bridged) exchange(w http.ResponseWriter, body []byte, e *exchange) {
	s.mu.Lock()
	s.waiting = append(s.waiting, e)
	s.mu.Unlock()
	s.line(body)
	w.Header().Set("Content-Type", "text/event-stream")
	for line := range e.lines {
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
		w.(http.Flusher).Flush()
	}
}

// read hands each line of the server to the request that it answers, and the others to the oldest
// request that waits. It ends with the server's output.
func (s *bridged) read() {
	out := bufio.NewReader(s.out)
	for {
		line, err := out.ReadBytes('\n')
		var m struct {
			ID     json.RawMessage
			Method string
			Error  struct{ Code int }
		}
		s.mu.Lock()
		if err != nil || json.Unmarshal(line, &m) != nil {
			for _, e := range s.waiting {
				close(e.lines)
			}
			s.waiting = nil
			s.mu.Unlock()
			return
		}
		i := 0
		if m.Method == "" {
			i = slices.IndexFunc(s.waiting, func(e *exchange) bool { return e.id == string(m.ID) })
		}
		if i >= 0 && i < len(s.waiting) {
			e := s.waiting[i]
			e.lines <- bytes.TrimSpace(line)
			if m.Method == "" {
				e.sent.code = m.Error.Code
				close(e.lines)
				s.waiting = slices.Delete(s.waiting, i, i+1)
			}
		}
		s.mu.Unlock()
	}
}
