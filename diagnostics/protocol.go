package diagnostics

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// The messages of the Language Server Protocol (3.17) that are used, and the connection. The protocol's
// only Go types (go.lsp.dev/protocol) are of 2022 and do not build with today's libraries.

// Bounds of what a server sends.
const (
	mostFrame    = 2 << 20  // bytes of one message
	mostBytes    = 32 << 20 // bytes in a round, of which a message costs messageCost
	messageCost  = 1 << 10
	mostProblems = 200 // errors kept of a file
	mostMessage  = 300 // bytes of the message of an error
	mostLabel    = 40  // bytes of its code and of its source
)

// Refusals of a server that breaks a bound.
var (
	errFrame = fmt.Errorf("it sent a message of more than %d MiB", mostFrame>>20)
	errFlood = errors.New("it sends more than a client can take")
)

// run is a server that runs. For the library it is a stream and a codec.
type run struct {
	jsonrpc2.VSCodeObjectCodec
	io.Writer
	out    io.Reader
	conn   *jsonrpc2.Conn
	said   func() string
	kill   func()                // begins the end of the process
	gone   chan struct{}         // closed when it is over
	left   atomic.Int64          // bytes that it may send in this round
	frame  int                   // bytes left of the message; the reader's
	broken atomic.Pointer[error] // why nothing is read any more
}

// connect starts the server.
func (c *Client) connect(ctx context.Context) error {
	process, err := c.o.Start(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.docs = map[string]*document{}
	c.mu.Unlock()
	life, kill := context.WithCancel(c.life)
	r := &run{Writer: process.In, out: process.Out, said: process.Printed, kill: kill, gone: make(chan struct{})}
	context.AfterFunc(life, func() { process.Close(); close(r.gone) })
	r.left.Store(mostBytes)
	c.run = r
	r.conn = jsonrpc2.NewConn(life, jsonrpc2.NewBufferedStream(r, r), jsonrpc2.HandlerWithError(c.handle), jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	return nil
}

// why says in place of err what the server did.
func (r *run) why(err error) error {
	broken, refusal := r.broken.Load(), (*jsonrpc2.Error)(nil)
	switch {
	case errors.As(err, &refusal):
		return errors.New("it refused: " + line(refusal.Message, mostMessage))
	case broken == nil || errors.Is(*broken, io.EOF) || errors.Is(*broken, io.ErrUnexpectedEOF) || errors.Is(*broken, os.ErrClosed):
		printed := line(short.Tail(strings.TrimSpace(r.said()), mostMessage), mostMessage)
		return errors.New(strings.TrimSuffix("it has ended: "+printed, ": "))
	}
	return errors.New("it broke the protocol: " + line((*broken).Error(), mostMessage))
}

func (r *run) Read(b []byte) (int, error) {
	n, err := r.out.Read(b)
	if r.frame -= n; r.frame < 0 {
		return 0, errFrame
	} else if r.left.Add(int64(-n)) < 0 {
		return 0, errFlood
	}
	return n, err
}

// Close has the process end.
func (r *run) Close() error {
	r.kill()
	return nil
}

// ReadObject reads a message of bounded length.
func (r *run) ReadObject(from *bufio.Reader, v any) error {
	r.frame = mostFrame
	r.left.Add(-messageCost)
	err := r.VSCodeObjectCodec.ReadObject(from, v)
	if err != nil {
		r.broken.Store(&err)
	}
	return err
}

type object = map[string]any

// notify sends a notification. If that fails, the next request fails too.
func (c *Client) notify(method string, params object) { _ = c.run.conn.Notify(c.life, method, params) }

func (c *Client) initialize(ctx context.Context) error {
	root := uri(c.o.Root)
	err := c.run.conn.Call(ctx, "initialize", object{
		"processId": nil, "rootUri": root, "workspaceFolders": []object{{"uri": root, "name": path.Base(c.o.Root)}},
		"capabilities": object{
			"textDocument": object{"synchronization": object{"didSave": true}, "publishDiagnostics": object{"versionSupport": true}},
			"workspace":    object{"workspaceFolders": true},
		},
	}, nil)
	c.notify("initialized", object{})
	return err
}

// answers waits for the answer to a request that no server knows.
func (c *Client) answers(ctx context.Context) error {
	err := c.run.conn.Call(ctx, "$/ping", object{}, nil)
	if refusal := (*jsonrpc2.Error)(nil); errors.As(err, &refusal) {
		return nil
	}
	return err
}

// show opens a document, or sends its new text, which is on disk unless it is the base.
func (c *Client) show(d *document, text string, base bool) {
	c.mu.Lock()
	opened := d.open
	d.open, d.text, d.heard, d.basing = true, text, false, base
	d.version++
	id := object{"uri": uri(d.path), "version": d.version}
	c.mu.Unlock()
	if opened {
		c.notify("textDocument/didChange", object{"textDocument": id, "contentChanges": []object{{"text": text}}})
	} else {
		id["languageId"], id["text"] = c.o.Languages[path.Ext(d.path)], text
		c.notify("textDocument/didOpen", object{"textDocument": id})
	}
	if !base {
		c.notify("textDocument/didSave", object{"textDocument": object{"uri": uri(d.path)}})
	}
}

// hide closes a document. What is known of its errors stays.
func (c *Client) hide(d *document) {
	c.mu.Lock()
	opened := d.open
	d.open, d.text, d.heard, d.basing = false, "", false, false
	c.mu.Unlock()
	if opened {
		c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri(d.path)}})
	}
}

// changed says that files changed on disk.
func (c *Client) changed(files []File) {
	var events []object
	for _, f := range files {
		kind := 2 // changed
		if f.After == nil {
			kind = 3 // deleted
		} else if f.New {
			kind = 1 // created
		}
		events = append(events, object{"uri": uri(f.Path), "type": kind})
	}
	c.notify("workspace/didChangeWatchedFiles", object{"changes": events})
}

// handle takes the reports of the server, and refuses all its requests: no capability invites one.
func (c *Client) handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	if r.Method == "textDocument/publishDiagnostics" && r.Params != nil {
		c.published(*r.Params)
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "codeagent does not do this"}
}

// published reads the errors of a file. Warnings, hints and places in other files are left out.
func (c *Client) published(params json.RawMessage) {
	var p struct {
		URI         string
		Version     *int
		Diagnostics []struct {
			Range struct {
				Start struct{ Line, Character uint32 }
			}
			Severity        int // 0: the server does not say
			Code            any
			Source, Message string
		}
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	u, err := url.Parse(p.URI)
	if err != nil || u.Scheme != "file" {
		return
	}
	name := visible.Line(strings.TrimPrefix(strings.TrimPrefix(u.Path, c.o.Root), "/"))
	var found []problem
	for _, d := range p.Diagnostics {
		if d.Severity > 1 || len(found) == mostProblems {
			continue
		}
		one := problem{path: name, line: int(d.Range.Start.Line) + 1, column: int(d.Range.Start.Character) + 1, message: line(d.Message, mostMessage), label: line(d.Source, mostLabel)}
		switch d.Code.(type) {
		case string, float64:
			one.label = strings.TrimSpace(one.label + " " + line(fmt.Sprint(d.Code), mostLabel))
		}
		found = append(found, one)
	}
	c.report(u.Path, p.Version, found)
}

// line makes a text of a server harmless: one line of at most so many bytes.
func line(text string, most int) string {
	return visible.Line(short.Bound(strings.TrimSpace(text), most))
}

func uri(name string) string { return (&url.URL{Scheme: "file", Path: name}).String() }
