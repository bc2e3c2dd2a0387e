package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// Bounds of what a server sends. Beyond the rates it is read more slowly: the pipe fills, and
// the server waits.
const (
	// maxLine is the largest message, in bytes.
	maxLine = 16 << 20
	// maxDepth is how deep JSON may nest. Threat: decoders recurse, and a stack that overflows
	// ends the process.
	maxDepth = 100
	// maxBatch is how many messages an array of the oldest protocol may hold.
	maxBatch = 100
	// maxAsked is how many requests of the server may wait for an answer.
	maxAsked = 32
	// maxQueued is how many messages wait for a server that does not read.
	maxQueued = 64

	bytesBurst, bytesRate       = 64 << 20, 16 << 20
	messagesBurst, messagesRate = 5000, 1000
)

// pipes is the transport over the pipes of a program: a message a line. The SDK's own ends the
// connection at the first line that is not a message; servers print banners and debug output
// there, so such lines are dropped, counted and told.
type pipes struct {
	out io.ReadCloser
	in  io.WriteCloser
	log *logger
}

// Connect is part of sdk.Transport.
func (p *pipes) Connect(context.Context) (sdk.Connection, error) {
	c := &pipeConn{out: p.out, in: p.in, log: p.log, incoming: make(chan jsonrpc.Message), outgoing: make(chan []byte, maxQueued)}
	c.open, c.end = context.WithCancel(context.Background())
	go c.read()
	go c.write()
	return c, nil
}

// pipeConn is one connection. Its reader and writer end with Close, when the pipes do.
type pipeConn struct {
	out      io.ReadCloser
	in       io.WriteCloser
	log      *logger
	incoming chan jsonrpc.Message
	outgoing chan []byte
	open     context.Context // until Close
	end      context.CancelFunc
	once     sync.Once
	asked    atomic.Int32
}

// SessionID is part of sdk.Connection: pipes have none.
func (c *pipeConn) SessionID() string { return "" }

// Read is part of sdk.Connection.
func (c *pipeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.incoming:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-c.open.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write is part of sdk.Connection. It does not wait for a server that does not read, beyond
// the end of ctx.
func (c *pipeConn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if _, ok := m.(*jsonrpc.Response); ok {
		c.asked.Add(-1)
	}
	select {
	case c.outgoing <- append(data, '\n'):
		return nil
	case <-c.open.Done():
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close is part of sdk.Connection.
func (c *pipeConn) Close() error {
	var err error
	c.once.Do(func() {
		c.end()
		err = errors.Join(c.in.Close(), c.out.Close())
	})
	return err
}

// write sends what is queued, in order.
func (c *pipeConn) write() {
	for {
		select {
		case data := <-c.outgoing:
			if _, err := c.in.Write(data); err != nil {
				c.Close()
				return
			}
		case <-c.open.Done():
			return
		}
	}
}

// read hands on the messages of the server until its output ends.
func (c *pipeConn) read() {
	defer close(c.incoming)
	rate := newMeter()
	in := c.cleaner(rate)
	for {
		messages, _, err := in.next()
		if err != nil {
			return
		}
		if wait(c.open, rate.take(time.Now(), 0, max(1, len(messages)))) != nil {
			return
		}
		for _, m := range messages {
			if c.refused(m) {
				continue
			}
			select {
			case c.incoming <- m:
			case <-c.open.Done():
				return
			}
		}
	}
}

// cleaner reads what the server prints, at the rate of its bytes.
func (c *pipeConn) cleaner(rate meter) *cleaner {
	return &cleaner{r: bufio.NewReaderSize(&metered{c.out, rate, c.open}, 64<<10), log: c.log}
}

// metered counts bytes when they are read, and not with the line that they belong to: one without an
// end would not be slowed down.
type metered struct {
	io.Reader
	rate meter
	open context.Context
}

// Read is part of io.Reader.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if closed := wait(m.open, m.rate.take(time.Now(), n, 0)); closed != nil {
		return 0, closed
	}
	return n, err
}

// refused answers a request of the server at once while too many others wait: each would hold a
// goroutine.
func (c *pipeConn) refused(m jsonrpc.Message) bool {
	r, ok := m.(*jsonrpc.Request)
	if !ok || !r.IsCall() {
		return false
	}
	if c.asked.Add(1) <= maxAsked {
		return false
	}
	c.asked.Add(-1)
	answer, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many requests wait for an answer"}})
	if err == nil {
		select {
		case c.outgoing <- append(answer, '\n'):
		default: // it does not read either
		}
	}
	c.log.say("warning", fmt.Sprintf("a request of the server was refused, because %d others wait", maxAsked))
	return true
}

// cleaner reads messages from lines, and drops other lines.
type cleaner struct {
	r       *bufio.Reader
	log     *logger
	buf     []byte
	outline outline // of a line that is too long
	dropped int
	heard   bool // a message has arrived
}

// next returns the messages of the next line that has some, and how many bytes were read. The
// error is that of the reader.
func (c *cleaner) next() (messages []jsonrpc.Message, size int, err error) {
	data, size, err := c.line()
	if err != nil && len(data) == 0 {
		return nil, size, err
	}
	if size > maxLine {
		return c.outline.instead(fmt.Sprintf("a line of %d MiB; at most %d MiB are read", size>>20, maxLine>>20)), size, nil
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, size, nil
	}
	messages, why := decode(data)
	c.heard = c.heard || len(messages) > 0
	if why != "" {
		c.drop(why + ": " + string(data[:min(len(data), 200)]))
		if len(messages) == 0 {
			var o outline
			o.add(data)
			messages = o.instead(why)
		}
	}
	return messages, size, nil
}

// line reads one line: at most maxLine bytes of it are kept, and of a longer one its outline. That one
// is dropped where it becomes too long, because it may have no end.
func (c *cleaner) line() (data []byte, size int, err error) {
	c.buf, c.outline = c.buf[:0], outline{}
	for {
		piece, err := c.r.ReadSlice('\n')
		before := size
		size += len(piece)
		if size <= maxLine {
			c.buf = append(c.buf, piece...)
		} else {
			if before <= maxLine {
				c.drop(fmt.Sprintf("a line of %d MiB or more; at most %d MiB are read", maxLine>>20, maxLine>>20))
				c.outline.add(c.buf)
			}
			c.outline.add(piece)
		}
		if err != bufio.ErrBufferFull {
			data := c.buf
			if cap(c.buf) > 1<<20 { // one large message does not hold its memory for ever
				c.buf = nil
			}
			return data, size, err
		}
	}
}

// drop counts what is no message, and tells the first ones and then each time their number has
// doubled. A banner before the first message is usual, and worth a warning only if no message comes.
func (c *cleaner) drop(what string) {
	if c.dropped++; c.dropped > 3 && c.dropped&(c.dropped-1) != 0 {
		return
	}
	if !c.heard {
		c.log.keep(what)
		c.log.say("info", "the server printed before its first message: "+what)
		return
	}
	c.log.say("warning", fmt.Sprintf("the server printed what is no message of the protocol (%d so far): %s", c.dropped, what))
}

// decode reads the message of a line, or several in an array; why says what is wrong.
func decode(data []byte) (messages []jsonrpc.Message, why string) {
	if deep(data) {
		return nil, fmt.Sprintf("it nests deeper than %d", maxDepth)
	}
	if data[0] != '{' && data[0] != '[' || !json.Valid(data) {
		return nil, "it is not JSON"
	}
	parts := []json.RawMessage{data}
	if data[0] == '[' {
		if err := json.Unmarshal(data, &parts); err != nil || len(parts) > maxBatch {
			return nil, fmt.Sprintf("it is an array of more than %d messages", maxBatch)
		}
	}
	for _, p := range parts {
		m, err := jsonrpc.DecodeMessage(bytes.Clone(p))
		if err != nil {
			why = "it is no JSON-RPC message"
			continue
		}
		messages = append(messages, mended(m))
	}
	return messages, why
}

// mended is m, or a better form of an answer. The IDs of this client are numbers, and some servers
// answer with a text. An answer with neither a result nor an error would end the connection.
func mended(m jsonrpc.Message) jsonrpc.Message {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return m
	}
	text, _ := r.ID.Raw().(string)
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		r.ID, _ = jsonrpc.MakeID(float64(n))
	}
	if r.Error == nil && len(r.Result) == 0 {
		r.Error = errors.New("its answer has neither a result nor an error")
	}
	return r
}

// deep reports JSON that nests deeper than maxDepth.
func deep(data []byte) bool {
	var n nesting
	return n.over(data)
}

// nesting counts open brackets of JSON that arrives in pieces.
type nesting struct {
	depth           int
	quoted, escaped bool
}

// next takes the next byte.
func (n *nesting) next(b byte) {
	switch {
	case n.escaped:
		n.escaped = false
	case n.quoted && b == '\\':
		n.escaped = true
	case b == '"':
		n.quoted = !n.quoted
	case n.quoted:
	case b == '{', b == '[':
		n.depth++
	case b == '}', b == ']':
		n.depth--
	}
}

// over takes another piece, and reports whether it nests too deep.
func (n *nesting) over(data []byte) bool {
	for _, b := range data {
		if n.next(b); n.depth > maxDepth {
			return true
		}
	}
	return false
}

// meter is how much a server may send: bursts, and then rates.
type meter struct{ bytes, messages *rate.Limiter }

func newMeter() meter {
	return meter{rate.NewLimiter(bytesRate, bytesBurst), rate.NewLimiter(messagesRate, messagesBurst)}
}

// take counts what was read at now, and returns for how long nothing more should be read.
func (m meter) take(now time.Time, size, messages int) time.Duration {
	bytes := m.bytes.ReserveN(now, min(size, bytesBurst)) // a limiter grants no more than its burst at once
	return max(bytes.DelayFrom(now), m.messages.ReserveN(now, min(messages, messagesBurst)).DelayFrom(now))
}
