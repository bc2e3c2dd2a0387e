package acp

import (
	"context"
	"path"
	"strconv"
	"sync"
	"time"

	"codeagent/internal/jsonrpc"
)

// session is a session that the editor has opened, or is opening.
type session struct {
	server *server
	// steps keeps what changes the session in order, turns its prompts.
	steps, turns lane

	mu sync.Mutex
	id string
	// open is set once the session is open.
	open Session
	// held are updates that wait for the answer which names the session; holding: there is one.
	held    []any
	holding bool
	// replaying: events are those of the past.
	replaying bool
	view      view
	// mute: the editor does not answer questions about its buffers.
	mute bool

	sent sent

	// asked are the prompts that run or wait. It has a lock of its own: mu may be held until the editor
	// reads what it is sent, and a cancellation does not wait for that.
	asked struct {
		sync.Mutex
		prompts map[*prompt]struct{}
	}
}

// lane lets those who enter it proceed one after the other. Only the reader of messages enters.
type lane struct{ last chan struct{} }

// enter returns what to wait for, and what lets the next one proceed.
func (l *lane) enter() (turn <-chan struct{}, leave func()) {
	before, mine := l.last, make(chan struct{})
	if before == nil {
		before = make(chan struct{})
		close(before)
	}
	l.last = mine
	return before, sync.OnceFunc(func() { close(mine) })
}

// prompt is a prompt that waits or runs.
type prompt struct{ cancel context.CancelFunc }

// openResult answers a request that opens a session. A new one has an ID.
type openResult struct {
	SessionID string         `json:"sessionId,omitempty"`
	Modes     modes          `json:"modes"`
	Options   []configOption `json:"configOptions"`
}

// opening begins to open a session.
func (s *server) opening(m jsonrpc.Message, o OpenRequest) *Error {
	if err := o.check(); err != nil {
		return err
	}
	ses := &session{server: s, id: o.Session, holding: o.Session == "", replaying: o.Replay}
	ses.asked.prompts = map[*prompt]struct{}{}
	s.mu.Lock()
	ses.view = view{client: s.client, cwd: path.Clean(o.Folder), stem: strconv.FormatInt(time.Now().UnixNano(), 36) + "-"}
	s.mu.Unlock()
	if o.Session != "" {
		s.mu.Lock()
		_, taken := s.sessions[o.Session]
		if !taken {
			s.sessions[o.Session] = ses
		}
		s.mu.Unlock()
		if taken {
			return errorf(codeRequest, "session %q is open already", o.Session)
		}
	}
	_, opened := ses.steps.enter()
	closed := s.closed(o.Session)
	s.start(m, func(ctx context.Context) (any, error) {
		defer opened()
		closed(ctx)
		open, err := s.host.Open(ctx, o, ses)
		if err != nil {
			s.mu.Lock()
			if s.sessions[o.Session] == ses {
				delete(s.sessions, o.Session)
			}
			s.mu.Unlock()
			return nil, err
		}
		ses.mu.Lock()
		ses.open, ses.id, ses.replaying = open, open.ID(), false
		ses.mu.Unlock()
		s.mu.Lock()
		s.opened[ses] = struct{}{}
		if o.Session == "" { // else it is there, unless it was closed meanwhile
			s.sessions[open.ID()] = ses
		}
		s.mu.Unlock()
		answer := openResult{Modes: ses.modes(open), Options: ses.options(open)}
		if o.Session == "" {
			answer.SessionID = open.ID()
		}
		// The editor learns the session's id from the answer, so updates come after it.
		return then{answer, func() {
			ses.release()
			ses.Refresh()
		}}, nil
	})
	return nil
}

func (o OpenRequest) check() *Error {
	for _, dir := range append([]string{o.Folder}, o.More...) {
		if !path.IsAbs(dir) {
			return errorf(codeParams, "%q is not an absolute path", dir)
		}
	}
	return nil
}

// current returns the session, nil before it is open and after its end.
func (ses *session) current() Session {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.open
}

// update sends an update, or keeps it until the editor knows the session. The caller holds mu.
func (ses *session) update(u any) {
	if ses.holding {
		ses.held = append(ses.held, u)
		return
	}
	ses.server.notify("session/update", updateParams{ses.id, u})
}

type updateParams struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

// release sends the updates that were kept.
func (ses *session) release() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.holding = false
	for _, u := range ses.held {
		ses.update(u)
	}
	ses.held = nil
}

// prompt queues a prompt. From here on a cancellation counts for it.
func (s *server) prompt(m jsonrpc.Message, p promptParams) *Error {
	ses, err := s.session(p.SessionID)
	if err != nil {
		return err
	}
	if p.Prompt == nil {
		return errorf(codeParams, "prompt is missing")
	}
	ctx, cancel := context.WithCancel(s.ctx)
	mine := &prompt{cancel}
	ses.asked.Lock()
	ses.asked.prompts[mine] = struct{}{}
	ses.asked.Unlock()
	opened, step := ses.steps.enter()
	before, over := ses.turns.enter()
	s.start(m, func(request context.Context) (any, error) {
		defer context.AfterFunc(request, cancel)() // $/cancel_request
		defer over()
		defer func() {
			ses.asked.Lock()
			delete(ses.asked.prompts, mine)
			ses.asked.Unlock()
			cancel()
		}()
		<-opened
		step()
		<-before
		return ses.turn(ctx, p)
	})
	return nil
}

// turn runs a prompt. One that was cancelled ends with that as its result.
func (ses *session) turn(ctx context.Context, p promptParams) (any, error) {
	in, bad := p.message(ctx)
	if bad != nil && ctx.Err() == nil {
		return nil, bad
	}
	open := ses.current()
	if open == nil {
		return nil, errorf(codeNotFound, "session %q could not be opened", ses.id)
	}
	stop := StopCancelled
	var err error
	if ctx.Err() == nil {
		stop, err = open.Turn(ctx, in)
	}
	if ctx.Err() != nil {
		stop, err = StopCancelled, nil
	}
	ses.Refresh()
	if err != nil {
		return nil, err
	}
	return promptResult{stop}, nil
}

type promptResult struct {
	StopReason Stop `json:"stopReason"`
}

// cancel ends the prompt that runs and those that wait.
func (ses *session) cancel() {
	ses.asked.Lock()
	defer ses.asked.Unlock()
	for p := range ses.asked.prompts {
		p.cancel()
	}
}

// closeSession ends a session: first what runs in it.
func (s *server) closeSession(m jsonrpc.Message, p sessionParams) *Error {
	ses, err := s.session(p.SessionID)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	s.mu.Lock()
	delete(s.sessions, p.SessionID)
	s.closing[p.SessionID] = ended
	s.mu.Unlock()
	ses.cancel()
	steps, step := ses.steps.enter()
	turns, turn := ses.turns.enter()
	s.start(m, func(context.Context) (any, error) {
		defer step()
		defer turn()
		<-steps
		<-turns
		ses.end()
		s.mu.Lock()
		if s.closing[p.SessionID] == ended {
			delete(s.closing, p.SessionID)
		}
		s.mu.Unlock()
		close(ended)
		return struct{}{}, nil
	})
	return nil
}

// end closes a session in which nothing runs any more.
func (ses *session) end() {
	ses.mu.Lock()
	open := ses.open
	ses.open = nil
	ses.mu.Unlock()
	if open != nil {
		open.Close()
	}
	ses.server.mu.Lock()
	delete(ses.server.opened, ses)
	ses.server.mu.Unlock()
}
