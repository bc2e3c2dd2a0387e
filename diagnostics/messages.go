package diagnostics

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// The messages of the Language Server Protocol (3.17) that are used, and the connection. The protocol's
// only Go types (go.lsp.dev/protocol) are of 2022 and do not build with today's libraries.

// Bounds of what a server sends.
const (
	mostFrame    = 2 << 20  // bytes of one message
	mostBytes    = 32 << 20 // bytes from one batch to the next
	mostMessages = 20_000   // messages from one batch to the next
	mostProblems = 200      // errors kept of a file
	mostMessage  = 300      // bytes of the message of an error
	mostLabel    = 40       // bytes of its code and of its source
)

// Refusals of a server that breaks a bound.
var (
	errFrame = fmt.Errorf("it sent a message of more than %d MiB", mostFrame>>20)
	errFlood = errors.New("it sends more than a client can take")
)

// server is the connection to a server. The worker uses it.
type server struct {
	c       *Client
	conn    *jsonrpc2.Conn
	process Process
	stop    func() // ends the process once
	pipes   *pipes
}

// pipes counts what arrives.
type pipes struct {
	Process
	mu              sync.Mutex
	frame           int // bytes left of the message; guarded by mu
	bytes, messages int // left until the next batch; guarded by mu
	err             error
}

// connect starts the server.
func (c *Client) connect() (*server, error) {
	process, err := c.o.Start(c.life)
	if err != nil {
		return nil, err
	}
	s := &server{c: c, process: process, stop: sync.OnceFunc(process.Close), pipes: &pipes{Process: process}}
	s.pipes.refill()
	context.AfterFunc(c.life, s.stop) // also while the server does not read
	s.conn = jsonrpc2.NewConn(c.life, jsonrpc2.NewBufferedStream(stream{s.pipes}, codec{s.pipes}), jsonrpc2.HandlerWithError(s.handle), jsonrpc2.SetLogger(silent{}))
	return s, nil
}

func (s *server) close() {
	s.stop()
	_ = s.conn.Close()
}

// why says in place of err what the server did.
func (s *server) why(err error) error {
	s.pipes.mu.Lock()
	defer s.pipes.mu.Unlock()
	broken, refusal := s.pipes.err, (*jsonrpc2.Error)(nil)
	switch {
	case errors.Is(err, errSilent):
		return err
	case errors.Is(broken, errFrame), errors.Is(broken, errFlood):
		return broken
	case broken != nil && !errors.Is(broken, io.EOF) && !errors.Is(broken, io.ErrUnexpectedEOF) && !errors.Is(broken, os.ErrClosed):
		return errors.New("it broke the protocol: " + visible.Line(short.Bound(broken.Error(), mostMessage)))
	case errors.As(err, &refusal):
		return errors.New("it refused: " + visible.Line(short.Bound(refusal.Message, mostMessage)))
	}
	return errors.New("it has ended")
}

// silent drops what the library would print.
type silent struct{}

func (silent) Printf(string, ...any) {}

func (p *pipes) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes, p.messages = mostBytes, mostMessages
}

// stream is the server's pipes as one.
type stream struct{ *pipes }

func (s stream) Read(b []byte) (int, error) {
	n, err := s.Out.Read(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frame, s.bytes = s.frame-n, s.bytes-n; s.frame < 0 {
		return 0, errFrame
	} else if s.bytes < 0 {
		return 0, errFlood
	}
	return n, err
}

func (s stream) Write(b []byte) (int, error) { return s.In.Write(b) }

// Close has no effect: the process is closed.
func (stream) Close() error { return nil }

// codec reads messages of bounded length.
type codec struct{ *pipes }

func (c codec) ReadObject(r *bufio.Reader, v any) (err error) {
	c.mu.Lock()
	c.frame = mostFrame
	if c.messages--; c.messages < 0 {
		err = errFlood
	}
	c.mu.Unlock()
	if err == nil {
		err = jsonrpc2.VSCodeObjectCodec{}.ReadObject(r, v)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.err == nil {
		c.err = err
	}
	return err
}

func (codec) WriteObject(w io.Writer, v any) error {
	return jsonrpc2.VSCodeObjectCodec{}.WriteObject(w, v)
}

// within ends the server if do takes too long: it may not read.
func (s *server) within(do func() error) error {
	guard := time.AfterFunc(answerTime, s.stop)
	err := do()
	if !guard.Stop() {
		return errSilent
	}
	return err
}

func (s *server) notify(method string, params any) error {
	return s.within(func() error { return s.conn.Notify(s.c.life, method, params) })
}

func (s *server) call(method string, params any) error {
	ctx, cancel := context.WithTimeoutCause(s.c.life, answerTime, errSilent)
	defer cancel()
	err := s.within(func() error { return s.conn.Call(ctx, method, params, nil) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

type object = map[string]any

func (s *server) initialize() error {
	root := uri(s.c.o.Root)
	err := s.call("initialize", object{
		"processId": nil, "rootUri": root, "rootPath": s.c.o.Root,
		"workspaceFolders": []object{{"uri": root, "name": path.Base(s.c.o.Root)}},
		"capabilities": object{
			"textDocument": object{
				"synchronization":    object{"didSave": true},
				"publishDiagnostics": object{"versionSupport": true},
			},
			"workspace": object{"workspaceFolders": true},
		},
	})
	if err != nil {
		return err
	}
	return s.notify("initialized", object{})
}

// answers waits for the answer to a request that no server knows.
func (s *server) answers() error {
	err := s.call("$/ping", object{})
	if refusal := (*jsonrpc2.Error)(nil); errors.As(err, &refusal) {
		return nil
	}
	return err
}

// shown opens a document, or sends its new text.
func (s *server) shown(d *document) error {
	s.pipes.refill()
	s.c.mu.Lock()
	id, text, opened := object{"uri": uri(d.path), "version": d.version}, d.text, d.open
	d.open = true
	s.c.mu.Unlock()
	if opened {
		return s.notify("textDocument/didChange", object{"textDocument": id, "contentChanges": []object{{"text": text}}})
	}
	id["languageId"], id["text"] = s.c.language(d.path), text
	return s.notify("textDocument/didOpen", object{"textDocument": id})
}

// closed closes a document. What is known of its errors stays.
func (s *server) closed(d *document) error {
	s.c.mu.Lock()
	opened := d.open
	d.open, d.text, d.heard = false, "", false
	s.c.mu.Unlock()
	if !opened {
		return nil
	}
	return s.notify("textDocument/didClose", object{"textDocument": object{"uri": uri(d.path)}})
}

// changed says that files changed on disk.
func (s *server) changed(files []File) error {
	var events []object
	for _, f := range files {
		kind := 2 // changed
		switch {
		case f.After == nil:
			kind = 3 // deleted
		case f.New:
			kind = 1 // created
		}
		events = append(events, object{"uri": uri(f.Path), "type": kind})
	}
	return s.notify("workspace/didChangeWatchedFiles", object{"changes": events})
}

// handle takes the notifications of the server, and refuses its requests, but for those that ask
// nothing of the client.
func (s *server) handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	switch r.Method {
	case "textDocument/publishDiagnostics":
		if r.Params != nil {
			s.published(*r.Params)
		}
		return nil, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create":
		return nil, nil
	case "workspace/configuration":
		var asked struct{ Items []struct{} }
		if r.Params == nil || json.Unmarshal(*r.Params, &asked) != nil {
			break
		}
		return make([]any, min(len(asked.Items), 100)), nil // nothing is set
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "codeagent does not do this"}
}

// published reads the errors of a file. Warnings, hints and places in other files are left out.
func (s *server) published(params json.RawMessage) {
	var p struct {
		URI         string
		Version     *int
		Diagnostics []json.RawMessage
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	u, err := url.Parse(p.URI)
	if err != nil || u.Scheme != "file" {
		return
	}
	var found []Problem
	for _, data := range p.Diagnostics {
		if one, ok := problem(data); ok && len(found) < mostProblems {
			found = append(found, one)
		}
	}
	s.c.report(u.Path, p.Version, found)
}

// problem reads an error.
func problem(data json.RawMessage) (out Problem, ok bool) {
	var d struct {
		Range struct {
			Start struct{ Line, Character uint32 }
		}
		Severity        int
		Code            any
		Source, Message string
	}
	if json.Unmarshal(data, &d) != nil || d.Severity > 1 { // 0: the server does not say
		return out, false
	}
	line := func(text string, most int) string { return visible.Line(short.Bound(strings.TrimSpace(text), most)) }
	out = Problem{Line: int(d.Range.Start.Line) + 1, Column: int(d.Range.Start.Character) + 1, Message: line(d.Message, mostMessage), Source: line(d.Source, mostLabel)}
	switch code := d.Code.(type) {
	case string:
		out.Code = line(code, mostLabel)
	case float64:
		out.Code = fmt.Sprintf("%.0f", code)
	}
	return out, true
}

func uri(name string) string { return (&url.URL{Scheme: "file", Path: name}).String() }
