package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	rpc "codeagent/internal/jsonrpc"
	"codeagent/internal/linereader"
)

// Bounds of what a server sends. Beyond the rates it is read more slowly: the pipe fills, and
// the server waits.
const (
	// maxLine is the largest message, in bytes.
	maxLine = 16 << 20
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
	// forms notes the forms that the server sends.
	forms *forms
}

// Connect is part of sdk.Transport.
func (p *pipes) Connect(context.Context) (sdk.Connection, error) {
	c := &pipeConn{out: p.out, in: p.in, log: p.log, forms: p.forms, incoming: make(chan jsonrpc.Message), outgoing: make(chan []byte, maxQueued)}
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
	forms    *forms
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
		m, err := in.next()
		if err != nil || wait(c.open, rate.take(time.Now(), 0, 1)) != nil {
			return
		}
		if m == nil || c.refused(m) {
			continue
		}
		select {
		case c.incoming <- m:
		case <-c.open.Done():
			return
		}
	}
}

// cleaner reads what the server prints, at the rate of its bytes.
func (c *pipeConn) cleaner(rate meter) *cleaner {
	return &cleaner{r: bufio.NewReaderSize(&byteMeter{c.out, rate, c.open}, 64<<10), log: c.log, forms: c.forms}
}

// byteMeter counts bytes when they are read, and not with the line that they belong to: one without an
// end would not be slowed down.
type byteMeter struct {
	io.Reader
	rate meter
	open context.Context
}

// Read is part of io.Reader.
func (m *byteMeter) Read(p []byte) (int, error) {
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
	forms   *forms
	dropped int
	heard   bool // a message has arrived
}

// next returns the message of the next line, or nil if that is none. The error is that of the reader.
func (c *cleaner) next() (jsonrpc.Message, error) {
	told := false
	data, long, err := linereader.Read(c.r, maxLine, func([]byte) {
		if !told { // it may have no end
			c.drop(fmt.Sprintf("a line of %d MiB or more; at most %d MiB are read", maxLine>>20, maxLine>>20))
		}
		told = true
	})
	if data = bytes.TrimSpace(data); len(data) == 0 {
		if long {
			err = nil
		}
		return nil, err
	}
	c.forms.note(data)
	m, _, fault := rpc.Parse(data)
	if fault != nil {
		c.drop(fault.Message + ": " + string(data[:min(len(data), 200)]))
		return nil, nil
	}
	one, failed := m.SDK()
	if failed != nil {
		c.drop(failed.Error() + ": " + string(data[:min(len(data), 200)]))
		return nil, nil
	}
	c.heard = true
	return one, nil
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
