package serve

// The way of a call. Up to revision 2025-11-25 the server may ask in the middle of a call. From
// revision 2026-07-28 on, the response to the call is the question. The run waits, and the client
// calls again with the answer:
//
//	tools/call -> run -> Host.Call, which may Ask
//	  2025-11-25   elicitation/create -> answer -> the run continues -> result
//	  2026-07-28   result: input_required with a state -> the run is parked
//	               tools/call with the state and the answer -> the run continues -> result
//	               no answer in time -> the run ends

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newest is the revision in which a server sends no requests.
const newest = "2026-07-28"

// maxParked is how many calls may wait for a client to come back with an answer.
const maxParked = 16

// Reasons why a call ended before its tool did.
var (
	errCancelled = errors.New("cancelled by the client")
	errNoAnswer  = errors.New("the question was not answered in time")
)

// server is what the calls of one client share.
type server struct {
	ctx     context.Context // ends with the client
	options Options
	running sync.WaitGroup

	mu     sync.Mutex
	parked map[string]*run // by state
}

// run is one call from its start to its result, over one request or several.
type run struct {
	tool      string
	arguments []byte
	end       context.CancelCauseFunc
	done      chan struct{} // closed when result is set
	result    *mcp.CallToolResult
	asked     chan openQuestion // the next question, unbuffered
	lines     lines
	// waiting is the question that the client has; set while the run is parked. Guarded by the
	// server's mu.
	waiting *openQuestion
	expires *time.Timer
}

// openQuestion is a question that waits for its answer.
type openQuestion struct {
	question *mcp.ElicitParams
	answer   chan *mcp.ElicitResult // buffered, or nil
}

// handle serves one tools/call.
func (s *server) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r, err := s.runOf(req)
	if err != nil {
		return nil, err
	}
	stop := s.show(ctx, req, r)
	defer stop()
	select {
	case <-r.done:
		return r.result, nil
	case q := <-r.asked:
		return s.park(r, q)
	case <-ctx.Done():
		r.end(errCancelled)
		<-r.done
		return nil, context.Cause(ctx)
	}
}

// runOf begins a run, or finds the parked one that the request answers.
func (s *server) runOf(req *mcp.CallToolRequest) (*run, error) {
	p := req.Params
	if p.RequestState != "" {
		return s.resumed(p)
	}
	arguments := bytes.TrimSpace(p.Arguments)
	if string(arguments) == "null" { // some clients write this for no arguments
		arguments = nil
	}
	if len(arguments) > 0 && arguments[0] != '{' {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "arguments must be an object"}
	}
	ctx, end := context.WithCancelCause(s.ctx)
	r := &run{tool: p.Name, arguments: p.Arguments, end: end, done: make(chan struct{}), asked: make(chan openQuestion), lines: lines{waiting: make(chan string, maxLines)}}
	call := Call{Tool: p.Name, Arguments: arguments, Asks: asks(req), Progress: r.lines.add, Ask: s.asker(req, r), Inquire: s.inquirer(req, r)}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		defer close(r.done)
		defer end(nil)
		r.result = resultOf(s.options.Host.Call(ctx, call))
	}()
	return r, nil
}

func resultOf(res Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: res.Failed, StructuredContent: res.Structured, Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}}
	for _, i := range res.Images {
		out.Content = append(out.Content, &mcp.ImageContent{MIMEType: i.MediaType, Data: i.Data})
	}
	return out
}

// modern reports whether the server may send no request to this client. The SDK uses the same rule.
func modern(req *mcp.CallToolRequest) bool {
	p := req.Session.InitializeParams()
	return p != nil && p.ProtocolVersion >= newest
}

// asks reports whether the client can show a form.
func asks(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities()
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// asker returns Call.Ask.
func (s *server) asker(req *mcp.CallToolRequest, r *run) func(context.Context, Question) (string, error) {
	return func(ctx context.Context, q Question) (string, error) {
		if !asks(req) {
			return "", errors.New("the client cannot show questions (it declares no elicitation)")
		}
		res, err := s.put(ctx, req, r, form(q))
		return chosen(q, res), err
	}
}

// put puts a question to the client, between two requests or in the middle of this one.
func (s *server) put(ctx context.Context, req *mcp.CallToolRequest, r *run, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if !modern(req) {
		return s.elicit(ctx, req, q)
	}
	a := openQuestion{q, make(chan *mcp.ElicitResult, 1)}
	select {
	case r.asked <- a:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case res := <-a.answer:
		return res, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// elicit asks in the middle of the request.
func (s *server) elicit(ctx context.Context, req *mcp.CallToolRequest, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	ctx, stop := context.WithTimeoutCause(ctx, s.options.Patience, errNoAnswer)
	defer stop()
	res, err := req.Session.Elicit(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("the client did not answer: %s", visible.Line(short.Cut(err.Error(), 300)))
	}
	return res, nil
}

// park keeps a run until the client comes back with the answer to q.
func (s *server) park(r *run, q openQuestion) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parked) >= maxParked {
		r.end(errNoAnswer)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many calls wait for an answer"}
	}
	state := rand.Text() // what nobody can guess needs no signature
	r.waiting = &q
	s.parked[state] = r
	r.expires = time.AfterFunc(s.options.Patience, func() {
		s.mu.Lock()
		_, still := s.parked[state]
		delete(s.parked, state)
		s.mu.Unlock()
		if still {
			r.end(errNoAnswer)
		}
	})
	return &mcp.CallToolResult{
		Content: []mcp.Content{}, InputRequests: mcp.InputRequestMap{answerKey: q.question}, RequestState: state,
	}, nil
}

// resumed hands the answer to the parked run, and removes it from the parked ones: a state is valid once.
func (s *server) resumed(p *mcp.CallToolParamsRaw) (*run, error) {
	s.mu.Lock()
	r := s.parked[p.RequestState]
	if r != nil && (r.tool != p.Name || !bytes.Equal(r.arguments, p.Arguments)) {
		r = nil
	}
	if r != nil {
		delete(s.parked, p.RequestState)
	}
	s.mu.Unlock()
	if r == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no call with these arguments waits for this requestState: call again without it"}
	}
	r.expires.Stop()
	res, _ := p.InputResponses[answerKey].(*mcp.ElicitResult)
	r.waiting.answer <- res
	return r, nil
}

// answerKey is the name of the question in input_required, and of its only field.
const answerKey = "answer"

// form is a question as an elicitation: one choice, in the form that all revisions have.
func form(q Question) *mcp.ElicitParams {
	ids, labels := []string{}, []string{}
	message := q.Message
	for _, o := range q.Options {
		ids, labels = append(ids, o.ID), append(labels, o.Label)
		message += fmt.Sprintf("\n[%s] %s", o.ID, o.Label) // for clients that draw no titles
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{answerKey},
		"properties": map[string]any{answerKey: map[string]any{"type": "string", "title": "Answer", "enum": ids, "enumNames": labels}},
	}}
}

// chosen returns the option that an answer names, or "": everything else is a no.
func chosen(q Question, res *mcp.ElicitResult) string {
	if res == nil || res.Action != "accept" {
		return ""
	}
	id, _ := res.Content[answerKey].(string)
	for _, o := range q.Options {
		if o.ID == id {
			return id
		}
	}
	return ""
}
