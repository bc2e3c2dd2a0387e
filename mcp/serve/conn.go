package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine bounds a message of the client, in bytes. A patch may have 32 MiB at most and is
	// then refused by its tool; a larger message has no use.
	maxLine = 40 << 20
	// finish is how long open requests may still take after the client has ended its output. A script
	// writes its requests and closes the pipe at once. The SDK stops answering when Read reports the end.
	finish = 500 * time.Millisecond
	// leave is how long a client that has ended its output may take to read its responses.
	leave = 3 * time.Second
)

// conn is the SDK's connection over pipes. It corrects three faults of the SDK: the SDK leaves requests
// unanswered when the input ends, gives some errors no code, and treats a client by the revision that it
// asked for, not by the one that it was told. conn does not limit the number of requests: the client started
// codeagent, so it need not flood it.
type conn struct {
	mcp.Connection
	open atomic.Int64  // requests without a response
	sent chan struct{} // has a value when a request was answered; buffered
	left func()        // ends Run
}

// newConn returns the connection. A read cannot be interrupted, and lasts until in has a message or ends.
func newConn(ctx context.Context, in io.Reader, out io.Writer) (*conn, error) {
	pipes, err := (&mcp.IOTransport{Reader: io.NopCloser(in), Writer: escaping{out}, MaxLineLength: maxLine}).Connect(ctx)
	return &conn{Connection: pipes, sent: make(chan struct{}, 1)}, err
}

// Connect is part of mcp.Transport.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// escaping writes lines of JSON without hidden characters.
type escaping struct{ io.Writer }

func (e escaping) Write(p []byte) (int, error) {
	_, err := e.Writer.Write(visible.Escaped(p))
	return len(p), err
}

func (escaping) Close() error { return nil }

// Read returns the next message.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		time.AfterFunc(leave, c.left)
		c.finish(ctx)
		return nil, err
	}
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		c.open.Add(1)
		if r.Method == "initialize" {
			r.Params = negotiable(r.Params)
		}
	}
	return msg, nil
}

// handshake is the newest revision that begins with initialize.
const handshake = "2025-11-25"

// negotiable replaces a newer revision in the params of initialize: the client is told this one, and would
// get questions that only the newer one has.
func negotiable(params json.RawMessage) json.RawMessage {
	var p map[string]json.RawMessage
	var asked string
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p["protocolVersion"], &asked) != nil || asked <= handshake {
		return params
	}
	p["protocolVersion"] = json.RawMessage(`"` + handshake + `"`)
	out, err := json.Marshal(p)
	if err != nil {
		return params
	}
	return out
}

// finish waits until all requests have their responses, but at most as long as the constant finish.
func (c *conn) finish(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, finish)
	defer stop()
	for ctx.Err() == nil && c.open.Load() > 0 {
		select {
		case <-c.sent:
		case <-ctx.Done():
		}
	}
}

// Write sends a message.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	r, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.Connection.Write(ctx, msg)
	}
	r.Error = coded(r.Error)
	err := c.Connection.Write(ctx, msg)
	c.open.Add(-1)
	select {
	case c.sent <- struct{}{}:
	default:
	}
	return err
}

// coded gives an error of the SDK a code of JSON-RPC if it has none. Such an error says that the request
// is not possible in this state, or that its params are invalid. The message loses the names of Go's
// types, which mean nothing to a client, and is cut: it may quote what the client sent.
func coded(err error) error {
	if err == nil {
		return nil
	}
	out := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	if known := (*jsonrpc.Error)(nil); errors.As(err, &known) && known.Code != 0 {
		out = *known
	}
	if before, _, params := strings.Cut(out.Message, ": unmarshaling "); params {
		out.Code, out.Message = jsonrpc.CodeInvalidParams, strings.TrimSuffix(before, ": invalid params")+": invalid params"
	}
	out.Message = visible.Line(short.Cut(out.Message, 500))
	return &out
}
