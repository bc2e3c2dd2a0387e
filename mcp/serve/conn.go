package serve

// What a client may send, and what never reaches the SDK. The SDK ends a server at the first line
// that is not JSON, answers cancelled requests, and takes any number of requests. So the lines are
// read here:
//
//	line -> too long, not UTF-8, not JSON ----------> answered with -32700
//	  | a batch, not a message, an ID in use -------> answered with -32600 (envelope.go)
//	  | an unknown revision in _meta ---------------> answered with -32022
//	  | a method of what is not offered ------------> answered with -32601
//	  | too many requests at once ------------------> answered with -32000
//	  v
//	request -> the SDK -> response -> its request was cancelled: dropped
//	                      -> written as one line

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine bounds a message of the client, in bytes. A patch may have 32 MiB at most and is
	// then refused by its tool; a larger message has no use.
	maxLine = 40 << 20
	// maxRequests is how many requests may wait for their response.
	maxRequests = 256
	// codeBusy is of the range that JSON-RPC leaves to servers.
	codeBusy = -32000
	// leave is how long a client that has ended its output may take to read what it asked for.
	leave = 3 * time.Second
	// unheard is how long an error for a line waits for a client that takes nothing. From then on such
	// errors are dropped until it takes something.
	//
	// Threat: no line is read meanwhile, so the end of the input would not be noticed either, and a
	// client that floods the server and goes away would leave it behind.
	unheard = 10 * time.Second
	// finish is how long requests may take that wait for their response when the client ends its output: a
	// script writes its requests and closes the pipe at once. The SDK answers none from then on.
	finish = 500 * time.Millisecond
	// handshake is the newest revision that begins with initialize.
	handshake = "2025-11-25"
)

// served are the methods of a server that offers tools and nothing else.
var served = []string{"initialize", "ping", "server/discover", "subscriptions/listen", "tools/call", "tools/list"}

// transport hands a conn to the SDK.
type transport struct{ conn *conn }

func (t transport) Connect(context.Context) (mcp.Connection, error) { return t.conn, nil }

// conn is an mcp.Connection over pipes.
type conn struct {
	ctx    context.Context
	lines  chan line
	writes chan write
	once   sync.Once
	closed chan struct{}
	deaf   atomic.Bool // the client has taken nothing for unheard

	mu sync.Mutex
	// open are the requests without a response, by ID; the value is true for a cancelled one.
	open map[any]bool
	// unsent is how many requests have no response on its way to the client. Guarded by mu.
	unsent int
	sent   chan struct{} // has a value when unsent was lowered; buffered
}

// line is one line of the client, or why there is no further one.
type line struct {
	data []byte
	err  error
}

type write struct {
	data    []byte
	answers any        // the ID of the request that it answers, or nil
	done    chan error // buffered
}

var errTooLong = fmt.Errorf("a message may have at most %s", short.Size(maxLine))

// newConn starts the reader and the writer. The writer ends with Close; the reader with in, which
// cannot be interrupted, or with the next line after Close.
func newConn(ctx context.Context, in io.Reader, out io.Writer) *conn {
	c := &conn{ctx: ctx, lines: make(chan line), writes: make(chan write), closed: make(chan struct{}), open: map[any]bool{}, sent: make(chan struct{}, 1)}
	go c.read(bufio.NewReaderSize(in, 64<<10))
	go c.write(out)
	return c
}

func (c *conn) read(in *bufio.Reader) {
	for {
		l := line{}
		l.data, l.err = readLine(in)
		select {
		case c.lines <- l:
		case <-c.closed:
			return
		}
		if l.err != nil && !errors.Is(l.err, errTooLong) {
			return
		}
	}
}

// readLine returns the next line that is not empty. It skips the rest of a line that is too long.
func readLine(in *bufio.Reader) ([]byte, error) {
	for {
		var out []byte
		long := false
		for {
			part, err := in.ReadSlice('\n')
			if long = long || len(out)+len(part) > maxLine; !long {
				out = append(out, part...)
			}
			if err == nil {
				break
			}
			if errors.Is(err, io.EOF) && !long && len(bytes.TrimSpace(out)) > 0 {
				break // the last line may lack its end; the next read returns the end of file
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
		}
		if long {
			return nil, errTooLong
		}
		if out = bytes.TrimSpace(out); len(out) > 0 {
			return out, nil
		}
	}
}

func (c *conn) write(out io.Writer) {
	for {
		select {
		case w := <-c.writes:
			if w.answers != nil { // not before: what waits to be sent counts
				c.mu.Lock()
				delete(c.open, w.answers)
				c.mu.Unlock()
			}
			_, err := out.Write(w.data)
			c.deaf.Store(false)
			if w.answers != nil {
				c.mu.Lock()
				c.answered()
				c.mu.Unlock()
			}
			w.done <- err
		case <-c.closed:
			return
		}
	}
}

// Read returns the next message that the SDK may see; it answers the others.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		select {
		case l = <-c.lines:
		case <-c.closed:
			return nil, io.EOF
		case <-c.ctx.Done():
			return nil, io.EOF
		}
		if errors.Is(l.err, errTooLong) {
			c.refuse(nil, jsonrpc.CodeParseError, errTooLong.Error())
			continue
		}
		if l.err != nil {
			time.AfterFunc(leave, func() { _ = c.Close() })
			c.finish()
			return nil, l.err
		}
		if msg := c.accept(l.data); msg != nil {
			return msg, nil
		}
	}
}

// answered notes that a request has had its response. The caller holds mu.
func (c *conn) answered() {
	c.unsent--
	select {
	case c.sent <- struct{}{}:
	default:
	}
}

// finish waits until all requests have their responses, not longer than the constant finish.
func (c *conn) finish() {
	late := time.NewTimer(finish)
	defer late.Stop()
	for {
		c.mu.Lock()
		left := c.unsent
		c.mu.Unlock()
		if left <= 0 {
			return
		}
		select {
		case <-c.sent:
		case <-late.C:
			return
		case <-c.closed:
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// accept parses a line. It returns nil for one that it has answered.
func (c *conn) accept(data []byte) jsonrpc.Message {
	if !utf8.Valid(data) {
		c.refuse(nil, jsonrpc.CodeParseError, "a message must be UTF-8")
		return nil
	}
	if !json.Valid(data) {
		c.refuse(nil, jsonrpc.CodeParseError, "this line is not JSON: each message is one line")
		return nil
	}
	if data[0] == '[' {
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: send each message in a line of its own")
		return nil
	}
	if data[0] != '{' {
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "a message is a JSON object")
		return nil
	}
	e, problem := opened(data)
	var msg jsonrpc.Message
	if problem == nil {
		var err error
		if msg, err = jsonrpc.DecodeMessage(data); err != nil { // it reads names more strictly, and less deep
			problem = invalid("this message is nested too deeply, or its fields are not those of JSON-RPC")
		}
	}
	if problem != nil {
		if e.asks {
			c.refuse(e.id, problem.Code, problem.Message)
		}
		return nil
	}
	r, ok := msg.(*jsonrpc.Request)
	switch {
	case !ok:
		return msg
	case r.Method == "notifications/cancelled" && !r.IsCall():
		if !c.cancelled(r.Params) { // the SDK might take it for one of a later request
			return nil
		}
		return msg
	case !r.IsCall():
		return msg
	case !c.begin(r):
		return nil
	}
	if r.Method == "initialize" {
		r.Params = negotiable(r.Params)
	}
	return msg
}

// begin takes up a request, or answers it.
func (c *conn) begin(r *jsonrpc.Request) bool {
	if asked, ok := revision(r.Params); ok && !slices.Contains(mcp.SupportedProtocolVersions(), asked) {
		c.answer(r.ID.Raw(), &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version"},
			mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: short.Cut(asked, 64)})
		return false
	}
	known := slices.Contains(served, r.Method)
	c.mu.Lock()
	_, used := c.open[r.ID.Raw()]
	full := len(c.open) >= maxRequests
	if known && !used && !full {
		c.open[r.ID.Raw()] = false
		c.unsent++
	}
	c.mu.Unlock()
	switch {
	case used: // an answer with this ID would seem to belong to the other request
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "the ID of this request is in use")
	case !known:
		c.refuse(r.ID.Raw(), jsonrpc.CodeMethodNotFound, "this server has no method "+short.Quote(r.Method, 64))
	case full:
		c.refuse(r.ID.Raw(), codeBusy, fmt.Sprintf("too many requests at once: wait for one of %d", maxRequests))
	}
	return known && !used && !full
}

// revision returns the protocol version that a request names for itself.
func revision(params json.RawMessage) (string, bool) {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var version string
	if json.Unmarshal(params, &p) != nil || p.Meta[mcp.MetaKeyProtocolVersion] == nil {
		return "", false
	}
	if json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &version) != nil {
		version = "" // not a string: supported by nobody
	}
	return version, true
}

// negotiable replaces a revision that initialize cannot negotiate. The SDK would answer with
// another one, and yet treat the client as one that knows the revision it asked for.
func negotiable(params json.RawMessage) json.RawMessage {
	var p map[string]json.RawMessage
	var asked string
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["protocolVersion"], &asked) != nil {
		return params
	}
	if asked <= handshake && slices.Contains(mcp.SupportedProtocolVersions(), asked) {
		return params
	}
	p["protocolVersion"] = json.RawMessage(`"` + handshake + `"`)
	out, err := json.Marshal(p)
	if err != nil {
		return params
	}
	return out
}

// cancelled notes that nothing may be sent for a request any more, and reports whether it is open. The
// SDK ends its context.
func (c *conn) cancelled(params json.RawMessage) bool {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	id, err := idOf(p.ID)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.open[id]
	if open {
		c.open[id] = true
	}
	return open
}

// Write sends a message. The response to a cancelled request is dropped.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	var answers any
	if r, ok := msg.(*jsonrpc.Response); ok {
		answers = r.ID.Raw()
		c.mu.Lock()
		dropped := c.open[answers]
		if dropped {
			delete(c.open, answers)
			c.answered()
		}
		c.mu.Unlock()
		if dropped {
			return nil
		}
		r.Error = coded(r.Error)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.send(data, answers, nil)
}

// refuse answers a line that the SDK does not get. id is nil if it is not known.
func (c *conn) refuse(id any, code int64, message string) {
	c.answer(id, &jsonrpc.Error{Code: code, Message: visible.Line(short.Cut(message, 500))}, nil)
}

func (c *conn) answer(id any, e *jsonrpc.Error, data any) {
	type body struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	out, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   body   `json:"error"`
	}{"2.0", id, body{e.Code, e.Message, data}})
	if err != nil || c.deaf.Load() {
		return
	}
	late := time.NewTimer(unheard)
	defer late.Stop()
	_ = c.send(out, nil, late.C) // a client that is gone ends the connection elsewhere
}

// send writes one line: the answer to the request with the ID answers, or something else if that is nil.
// A client that takes nothing does not keep it after Close, nor after late, which may be nil.
func (c *conn) send(data []byte, answers any, late <-chan time.Time) error {
	w := write{append(visible.Escaped(data), '\n'), answers, make(chan error, 1)}
	select {
	case c.writes <- w:
	case <-late:
		c.deaf.Store(true)
		return os.ErrDeadlineExceeded
	case <-c.closed:
		return io.ErrClosedPipe
	case <-c.ctx.Done():
		return io.ErrClosedPipe
	}
	select {
	case err := <-w.done:
		return err
	case <-late: // it is being written
		c.deaf.Store(true)
		return os.ErrDeadlineExceeded
	case <-c.closed:
		return io.ErrClosedPipe
	case <-c.ctx.Done():
		return io.ErrClosedPipe
	}
}

// Close ends the writer, and the reader with the next line.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: there is one session.
func (c *conn) SessionID() string { return "" }
