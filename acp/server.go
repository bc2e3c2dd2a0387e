package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"codeagent/internal/jsonrpc"
	"codeagent/internal/linereader"
)

// Options configures Serve.
type Options struct {
	Host Host
	// Version is the version of codeagent that the editor sees.
	Version string
}

// lineMost bounds a message, in bytes. A prompt may hold several images.
const lineMost = 64 << 20

// Serve answers the editor's messages until in ends or ctx does. Then it ends every turn and
// closes every session. It returns nil at the end of in, else the cause.
//
// Messages are taken up in their order: what a message changes for later ones (a session that
// begins, a prompt that waits, a cancellation) is noted before the next is read. The work itself
// runs beside the reader.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &server{
		host: o.Host, version: o.Version, ctx: ctx,
		sessions: map[string]*session{}, opened: map[*session]struct{}{}, closing: map[string]chan struct{}{}, running: map[string]context.CancelFunc{}, asked: map[int]chan jsonrpc.Message{},
	}
	s.out = newOutbox(out, func(err error) { end(err) })
	over := make(chan error, 1)
	go func() { over <- s.read(in) }() // it may wait for in until the process ends
	var err error
	select {
	case err = <-over:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	end(errEnded)
	s.close()
	s.out.finish()
	return err
}

// errEnded ends the work of a connection that is over.
var errEnded = errors.New("the editor has ended the connection")

type server struct {
	host    Host
	version string
	out     *outbox
	ctx     context.Context // of the connection
	ready   bool            // initialize was answered; only the reader of messages uses it

	work sync.WaitGroup // requests that run

	mu     sync.Mutex
	over   bool // nothing new starts
	client client
	// sessions are those that requests can name, opened all that are not closed yet.
	sessions map[string]*session
	opened   map[*session]struct{}
	// closing are the ids of sessions that end, each with what is closed when they have ended.
	closing map[string]chan struct{}
	// running are the requests that can be cancelled, by their ids.
	running map[string]context.CancelFunc
	// asked are our own requests that wait for an answer.
	asked map[int]chan jsonrpc.Message
	last  int // the id of our last request
}

// read takes up each line until in ends.
func (s *server) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := linereader.Read(r, lineMost, nil)
		switch {
		case long:
			s.fail(nil, errorf(codeRequest, "a message has at most %d MiB", lineMost>>20))
		case len(bytes.TrimSpace(line)) > 0:
			s.receive(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *server) receive(line []byte) {
	m, asks, fault := jsonrpc.Parse(line)
	switch {
	case fault != nil && asks:
		s.fail(m.ID, fault)
	case fault != nil:
	case m.Response:
		s.answered(m)
	case !asks:
		s.notified(m)
	default:
		s.request(m)
	}
}

// request takes up a request. It answers at once, or begins work that answers.
func (s *server) request(m jsonrpc.Message) {
	take, ok := requests[m.Method]
	if !ok {
		s.fail(m.ID, errorf(codeMethod, "unknown method %q", m.Method))
		return
	}
	if !s.ready && m.Method != "initialize" {
		s.fail(m.ID, errorf(codeRequest, "%s comes before initialize", m.Method))
		return
	}
	s.mu.Lock()
	taken := s.running[string(m.ID)] != nil && string(m.ID) != "null"
	s.mu.Unlock()
	if taken {
		s.fail(m.ID, errorf(codeRequest, "another request with the id %s runs", m.ID))
		return
	}
	if err := take(s, m); err != nil {
		s.fail(m.ID, err)
	}
}

// requests are what an editor can ask for.
var requests = map[string]func(*server, jsonrpc.Message) *Error{
	"initialize": with((*server).initialize), "authenticate": (*server).authenticate,
	"session/new": with((*server).openSession), "session/load": with((*server).openSession), "session/resume": with((*server).openSession),
	"session/list": with((*server).listSessions), "session/delete": with((*server).deleteSession), "session/close": with((*server).closeSession),
	"session/prompt": with((*server).prompt), "session/set_mode": with((*server).setMode), "session/set_config_option": with((*server).setChoice),
}

// with reads the parameters of a request before do takes it up.
func with[P any](do func(*server, jsonrpc.Message, P) *Error) func(*server, jsonrpc.Message) *Error {
	return func(s *server, m jsonrpc.Message) *Error {
		var p P
		if err := decode(m.Params, &p); err != nil {
			return err
		}
		return do(s, m, p)
	}
}

// sessionParams name a session.
type sessionParams struct {
	SessionID string `json:"sessionId"`
}

// notified takes up a notification. Nothing is answered, also if it cannot be used.
func (s *server) notified(m jsonrpc.Message) {
	switch m.Method {
	case "session/cancel":
		var p sessionParams
		if decode(m.Params, &p) == nil {
			if ses := s.find(p.SessionID); ses != nil {
				ses.cancel()
			}
		}
	case "$/cancel_request":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if decode(m.Params, &p) == nil {
			s.mu.Lock()
			cancel := s.running[string(p.RequestID)]
			s.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	}
}

// start runs the work of a request and answers with what it returns. The request can be cancelled.
func (s *server) start(m jsonrpc.Message, work func(ctx context.Context) (any, error)) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		cancel()
		s.fail(m.ID, errorf(codeCancelled, "%v", errEnded))
		return
	}
	s.running[string(m.ID)] = cancel
	s.work.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.work.Done()
		defer cancel()
		result, err := work(ctx)
		s.mu.Lock()
		delete(s.running, string(m.ID))
		s.mu.Unlock()
		if err != nil {
			s.fail(m.ID, asError(ctx, err))
			return
		}
		last, ok := result.(then)
		if ok {
			result = last.result
		}
		s.succeed(m.ID, result)
		if ok {
			last.do()
		}
	}()
}

// then is a result after which something remains to be done.
type then struct {
	result any
	do     func()
}

// asError returns the error of a request as the protocol has it.
func asError(ctx context.Context, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() != nil {
		return errorf(codeCancelled, "cancelled")
	}
	return errorf(codeInternal, "%v", err)
}

func (s *server) succeed(id json.RawMessage, result any) { s.out.put(jsonrpc.Answer(id, result, nil)) }

func (s *server) fail(id json.RawMessage, err *Error) { s.out.put(jsonrpc.Answer(id, nil, err)) }

func (s *server) notify(method string, params any) { s.out.put(jsonrpc.Request(nil, method, params)) }

// call sends a request and waits for its answer. If ctx ends first, it tells the client.
func (s *server) call(ctx context.Context, method string, params, result any) error {
	got := make(chan jsonrpc.Message, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.asked[id] = got
	s.mu.Unlock()
	s.out.put(jsonrpc.Request(id, method, params))
	select {
	case m := <-got:
		if m.Failure != nil {
			return m.Failure
		}
		if err := decode(m.Result, result); err != nil {
			return err // not in one line: a nil *Error would be an error
		}
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.asked, id)
		s.mu.Unlock()
		s.notify("$/cancel_request", map[string]any{"requestId": id})
		return context.Cause(ctx)
	}
}

// answered passes an answer to the one who asked. An answer to nothing is dropped.
func (s *server) answered(m jsonrpc.Message) {
	n, err := strconv.ParseFloat(string(m.ID), 64)
	if err != nil {
		return
	}
	id := int(n) // an integer: see jsonrpc.Parse
	s.mu.Lock()
	got := s.asked[id]
	delete(s.asked, id)
	s.mu.Unlock()
	if got != nil {
		got <- m
	}
}

// find returns the session with this id; nil if it is not open.
func (s *server) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// closed returns what waits until the session with this id has ended, if it is ending.
func (s *server) closed(id string) (wait func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.closing[id]
	return func(ctx context.Context) {
		if ended != nil {
			select {
			case <-ended:
			case <-ctx.Done():
			}
		}
	}
}

// session returns the session that parameters name.
func (s *server) session(id string) (*session, *Error) {
	if ses := s.find(id); ses != nil {
		return ses, nil
	}
	return nil, errorf(codeNotFound, "session %q is not open", id)
}

// close waits for the requests, which have been cancelled, and closes the sessions.
func (s *server) close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.work.Wait()
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.opened))
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, ses := range left {
		all.Go(ses.end)
	}
	all.Wait()
}
