// Package scripted is a model server that plays a script. It serves Chat Completions and
// Responses over HTTP and server-sent events, on a loopback listener and nothing else;
// the built-in tour and the tests of everything that asks a model use it. Start reading
// at Start and Reply.
//
//	srv, err := scripted.Start(ctx, scripted.Steps(
//		scripted.Reply{Text: "I look first.", Calls: []scripted.Call{{Name: "shell", Arguments: `{"command":"ls"}`}}},
//		scripted.Reply{Text: "Done."},
//	))
//	defer srv.Close()
//	// point the adapter at srv.URL
//
// A Reply can also misbehave the way real servers do; see Fault and Framing.
package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxBody bounds one request, in bytes; a conversation is far smaller.
	maxBody = 64 << 20
	// maxKept bounds what Requests remembers.
	maxKept = 1000
	// maxConns bounds how many connections are served at once.
	maxConns = 256
)

// Server is a running script. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base URL for a client: http://127.0.0.1:PORT/v1.
	URL string

	handler Handler
	http    *http.Server
	stop    context.CancelFunc // ends every answer being streamed
	unhook  func() bool        // forgets the context of Start
	conns   atomic.Int64       // open connections
	serving sync.WaitGroup     // the accept loop and every handler

	mu       sync.Mutex
	count    int       // guarded by mu
	requests []Request // guarded by mu
	closed   bool      // guarded by mu
	forgets  bool      // guarded by mu
	list     string    // guarded by mu
}

// Start serves h on a free loopback port until Close or until ctx is done.
func Start(ctx context.Context, h Handler) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("scripted: listen: %w", err)
	}
	parent := ctx
	ctx, stop := context.WithCancel(ctx)
	s := &Server{URL: "http://" + l.Addr().String() + "/v1", handler: h, stop: stop,
		list: `{"object":"list","data":[{"id":"scripted","object":"model","owned_by":"codeagent"}]}`}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(Chat))
	mux.HandleFunc("POST /v1/responses", s.serve(Responses))
	mux.HandleFunc("GET /v1/models", s.models)
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 20,
		ErrorLog:          log.New(io.Discard, "", 0), // stderr may be the terminal of a screen
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         s.limit,
	}
	// Ends with Close, which closes the listener.
	s.serving.Go(func() { _ = s.http.Serve(l) })
	s.unhook = context.AfterFunc(parent, s.close)
	return s, nil
}

// Close ends all answers, closes all connections and waits until all goroutines have ended. It
// may be called more than once.
func (s *Server) Close() {
	s.unhook()
	s.close()
	s.serving.Wait()
}

func (s *Server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	_ = s.http.Close()
}

// Requests returns the requests so far, oldest first, at most the last 1,000.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Forget makes Requests record nothing from now on: for very many or very long requests.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgets, s.requests = true, nil
}

// List makes the server list its models with this JSON.
func (s *Server) List(models string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = models
}

// enter registers a running handler; false when the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.serving.Add(1)
	return true
}

// remember numbers r and stores it.
func (s *Server) remember(r Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.N = s.count
	s.count++
	if s.forgets {
		return r
	}
	if len(s.requests) == maxKept {
		s.requests = slices.Delete(s.requests, 0, 1)
	}
	s.requests = append(s.requests, r)
	return r
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(w, s.list)
}

// serve handles the requests of one API.
func (s *Server) serve(wire string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if !s.enter() {
			return
		}
		defer s.serving.Done()
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if big := new(http.MaxBytesError); errors.As(err, &big) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, `{"error":{"message":"the request body cannot be read"}}`, status)
			return
		}
		r, err := parse(wire, body)
		if err != nil {
			http.Error(w, `{"error":{"message":"the request is not JSON that can be understood"}}`, http.StatusBadRequest)
			return
		}
		r.Header = req.Header.Clone()
		r = s.remember(r)
		newAnswer(w, req.Context(), r, s.handler(r)).play()
	}
}

// limit closes connections beyond maxConns.
func (s *Server) limit(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if s.conns.Add(1) > maxConns {
			_ = c.Close() // StateClosed follows
		}
	case http.StateClosed, http.StateHijacked:
		s.conns.Add(-1)
	}
}
