// Package mcp is a client of one MCP server: over the pipes of a program that somebody else
// started and confined, or over HTTP. It lists tools, calls them, reads resources and prompts,
// and hands on what the server asks a person. It starts no program, touches no file and
// permits nothing.
//
// Threat: everything that a server says is hostile. So each message is bounded in bytes and in
// depth before it is decoded, a flood is slowed down to what costs little, all text is bounded
// and shows its hidden characters by name, and no answer of a server blocks codeagent for
// longer than its time limit. What a server claims about its tools is a claim.
//
// Start reading at Options and OverPipes, then pipes.go, which judges each line.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
)

// listTime bounds the reading of one list.
const listTime = 30 * time.Second

// Options says what a client is called, what it takes of a server, and who hears of it. The
// functions may be called at any time and from several goroutines; they must not block, except
// for Elicit. Texts that they get are bounded and safe to show.
type Options struct {
	// Name is the configured name of the server: it is a part of its tools' names, not the
	// name that the server reports.
	Name string
	// Version is codeagent's own.
	Version string
	// Startup bounds the connection and the first lists; Call bounds one call, without the time
	// in which a person was asked. Both are needed.
	Startup, Call time.Duration
	// Enabled names the tools that are offered, by the server's names for them; empty: all.
	// Disabled names those that are not.
	Enabled, Disabled []string
	// Elicit asks a person what the server wants to know; nil: the server learns that it cannot
	// ask. Nobody is asked while no call runs, and one question is put at a time. The client does not know which tool call
	// a question belongs to.
	Elicit func(ctx context.Context, q inquiry.Question) inquiry.Reply
	// SignIn gives the tokens for a server that is reached by HTTP, or nil.
	SignIn SignIn
	// Changed is called after the list of tools became another one.
	Changed func()
	// Log gets what a person may want to know about the server, such as what was dropped.
	// Level is "info" or "warning".
	Log func(level, text string)
}

// SignIn gives the tokens of a person's sign-in.
type SignIn interface {
	// Token returns a token for the server, or "" if absent. refused is the one that the
	// server has just refused, or "": another one is wanted.
	Token(ctx context.Context, refused string) (string, error)
}

// Errors of a connection, for errors.Is.
var (
	// ErrEnded: the server closed the connection, crashed, or Close was called.
	ErrEnded = errors.New("the server has ended")
	// ErrForgotten: the server has forgotten the session, and has done nothing.
	ErrForgotten = errors.New("the server has forgotten the session")
	// ErrTime: the server did not answer within its time limit.
	ErrTime = errors.New("the server did not answer in time")
	// ErrSignIn: the server wants a sign-in (HTTP 401, or 403 with WWW-Authenticate) that the
	// configured headers do not give.
	ErrSignIn = errors.New("the server needs a sign-in")
)

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	o       Options
	log     *logger
	remote  bool
	ends    context.Context
	end     context.CancelFunc
	tools   atomic.Pointer[[]Tool]
	over    chan struct{} // closed when the session has ended
	forms   *forms
	asking  chan struct{} // holds one while a person is asked
	waiting atomic.Int32

	mu        sync.Mutex
	session   *sdk.ClientSession
	calls     map[string]*openCall
	number    int
	changing  bool          // a list is read anew
	again     bool          // and once more after that
	open      int           // questions to a person
	asked     time.Time     // since when there are some
	answering time.Duration // how long there were some before that
	now       activity
}

// activity is the calls that run now.
type activity struct {
	calls, questions int
	// openCall ends when no call runs any more, and with the connection; stopped ends it.
	running context.Context
	stopped context.CancelFunc
}

// OverPipes connects to a server by its standard output and input, and reads its tools. The
// pipes belong to the client from then on; Close, and a failure, close them.
func OverPipes(ctx context.Context, out io.ReadCloser, in io.WriteCloser, o Options) (*Client, error) {
	c := newClient(o)
	return c.start(ctx, &pipes{out: out, in: in, log: c.log, forms: c.forms})
}

func newClient(o Options) *Client {
	c := &Client{o: o, log: newLogger(o.Log), calls: map[string]*openCall{}, over: make(chan struct{}), forms: &forms{}, asking: make(chan struct{}, 1)}
	c.ends, c.end = context.WithCancel(context.Background())
	c.tools.Store(&[]Tool{})
	return c
}

// start connects and reads the list of tools.
func (c *Client) start(ctx context.Context, over sdk.Transport) (*Client, error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.o.Startup, ErrTime)
	defer cancel()
	err := c.connect(limited, over)
	if err == nil {
		err = c.readTools(limited)
	}
	if err != nil {
		err = c.words(limited, "starting", err) // before Close, which is an end too
		if said := c.log.printed(); said != "" {
			err = fmt.Errorf("%w; what it printed is no message of the protocol: %s", err, said)
		}
		c.Close()
		return nil, err
	}
	return c, nil
}

// connect opens a session.
func (c *Client) connect(ctx context.Context, over sdk.Transport) error {
	session, err := c.connector().Connect(ctx, over, nil)
	if err != nil {
		return err
	}
	go func() {
		defer close(c.over)
		_ = session.Wait() // why it ended, the calls say that it ended
	}()
	c.mu.Lock()
	c.session = session
	c.mu.Unlock()
	if c.ends.Err() != nil { // Close was called meanwhile, and may have seen the session before
		_ = session.Close()
		return ErrEnded
	}
	return nil
}

// connector is the SDK's client with what codeagent offers to servers: elicitation, and neither
// sampling nor roots.
func (c *Client) connector() *sdk.Client {
	capabilities := &sdk.ClientCapabilities{}
	o := &sdk.ClientOptions{
		Capabilities:                capabilities,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.changed() },
		ProgressNotificationHandler: c.progressed,
	}
	if c.o.Elicit != nil {
		o.ElicitationHandler = c.elicit
		capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "codeagent", Version: c.o.Version}, o)
	client.AddSendingMiddleware(probe(c.o.Startup / 4))
	client.AddReceivingMiddleware(c.offered)
	return client
}

// offered answers a request for what the client does not offer by the code of the protocol. The SDK has
// other codes, which servers take for a failure, and an empty list of roots.
func (c *Client) offered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		asks := method == "elicitation/create" && c.o.Elicit != nil
		if asks || method == "ping" || strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, req)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "codeagent does not offer " + method}
	}
}

// probe bounds the question for the newer protocol. A server of the older one must answer it
// with an error, and some do not answer at all before they are initialized; the SDK then speaks
// the older protocol.
func probe(limit time.Duration) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "server/discover" {
				limited, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				ctx = limited
			}
			return next(ctx, method, req)
		}
	}
}

// Close ends the connection and all that waits for it. It may be called more than once.
func (c *Client) Close() {
	c.end()
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session != nil {
		_ = session.Close() // what it reports is the end of what is ended here
	}
}

// Ended is closed when the connection has ended, whoever ended it.
func (c *Client) Ended() <-chan struct{} { return c.over }

// Asked notes that a person is asked about what the server does, until answered is called: the time
// limit of its calls waits meanwhile.
func (c *Client) Asked() (answered func()) {
	c.count(1)
	return func() { c.count(-1) }
}

// Answers reports whether the server answers within limit: one that does not hangs.
func (c *Client) Answers(ctx context.Context, limit time.Duration) bool {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var refused *jsonrpc.Error
	err := c.current().Ping(limited, nil)
	return err == nil || errors.As(err, &refused) // a revision without ping answers with an error
}

// current is the session.
func (c *Client) current() *sdk.ClientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Protocol is the revision that the server and codeagent agreed on.
func (c *Client) Protocol() string {
	if r := c.current().InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return ""
}

// Instructions are the server's words on how its tools are used, bounded and safe to show.
func (c *Client) Instructions() string {
	if r := c.current().InitializeResult(); r != nil {
		return text(r.Instructions, maxInstructions)
	}
	return ""
}

var errNoServer = errors.New("it does not answer as an MCP server does")

// words makes an error of err that names what failed, with the server's words bounded and safe
// to show.
func (c *Client) words(ctx context.Context, doing string, err error) error {
	switch {
	case context.Cause(ctx) != nil && errors.Is(context.Cause(ctx), ErrTime):
		err = ErrTime
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrTime):
	case errors.Is(err, ErrSignIn):
		err = cause(err)
	case errors.Is(err, sdk.ErrSessionMissing):
		err = ErrForgotten
	case c.ends.Err() != nil, errors.Is(err, io.EOF):
		err = ErrEnded
	case errors.Is(err, sdk.ErrConnectionClosed):
		switch why := bare(err.Error()); {
		case !c.remote, why == sdk.ErrConnectionClosed.Error():
			err = ErrEnded
		default:
			err = fmt.Errorf("%w: %s", errNoServer, line(why, maxError))
		}
	default:
		err = errors.New(line(unreached(err).Error(), maxError))
	}
	return fmt.Errorf("MCP server %s, %s: %w", line(c.o.Name, maxName), doing, err)
}

// Bounds of texts, in bytes.
const (
	maxError        = 600
	maxName         = 128
	maxTitle        = 200
	maxDescription  = 64 << 10
	maxInstructions = 8 << 10
	maxText         = 1 << 20
)

// line is hostile text as one line of at most n bytes.
func line(s string, n int) string { return cut(visible.Line(short.Head(s, n+1)), n) }

// text is hostile text of several lines and at most about n bytes.
func text(s string, n int) string { return cut(visible.Text(short.Head(s, n+1)), n) }

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return short.Head(s, n) + " … [cut]"
}
