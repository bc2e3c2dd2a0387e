// Package wire is what the model adapters share: an HTTP transport that repairs event
// streams and turns every failure into a typed *model.Error, the memory of what a provider
// has refused, and the retry policy around a streamed answer. It may reach the network, and
// imports only model. Start reading at Client.
//
//	http.Client -> transport -> provider
//	                  |  gzip is undone
//	                  |  status >= 300, a web page, an error event, an event too
//	                  |  large, silence: *model.Error
//	                  v
//	            a body of "data: JSON\n\n" lines and nothing else
//	                  v
//	            the adapter's decoder
//	                  v
//	            learned.ask: once more without what the provider refused
//	                  v
//	            one attempt of Retry.Stream
package wire

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"codeagent/model"
)

// Client sends requests to one provider over one API; Q is what it learns from refusals. It
// is safe for concurrent use.
type Client[Q quirks[Q]] struct {
	*endpoint
	learned refusals[Q]
	open    Open[Q]
}

// Open opens the stream of an attempt, whose events the decoder takes.
type Open[Q any] func(context.Context, *Attempt[Q]) (Stream, Decoder, error)

// Attempt is one attempt at a request.
type Attempt[Q any] struct {
	model.Request
	Quirks Q
	View   *View
	// API makes the request.
	API *openai.Client
	// Host is the provider's host name, without a port.
	Host string
	// SearchTool is that of the options.
	SearchTool string
	// Source is the Source of every Opaque of the answer.
	Source string
	// Yield takes the deltas of the answer.
	Yield Yield
	// Learn has change make a note of what the answer shows of the provider.
	Learn func(change func(*Q))
}

// Yield takes a delta; ErrStopped ends the attempt.
type Yield func(model.Delta) error

// NewClient makes a Client whose requests go to path below the base URL, which may already
// end in path. Stream reports a base URL that cannot be used.
func NewClient[Q quirks[Q]](o Options, path string, open Open[Q]) *Client[Q] {
	return &Client[Q]{endpoint: newEndpoint(o, path), open: open}
}

// Stream sends a request and yields the answer. The last delta of an answer is
// model.Finished; after a model.Retrying the answer begins anew. It yields at most one error,
// last: a *model.Error, or the context's own error when ctx is done. A refusal from which the
// client learns something is followed by another attempt at once.
func (c *Client[Q]) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return c.retry.Stream(ctx, func(ctx context.Context, yield Yield) error {
		if c.invalid != nil {
			return c.invalid
		}
		return c.learned.ask(r, yield, func(r model.Request, q Q, view *View, yield Yield) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			stream, decoder, err := c.open(ctx, &Attempt[Q]{r, q, view, c.api, c.host, c.searchTool, c.source + r.Model, normal(r.Tools, yield), c.learned.note})
			if err != nil {
				return err
			}
			return read(stream, decoder, cancel)
		})
	})
}

const (
	// afterFinish bounds the wait for the usage once the answer is complete, and afterAll the
	// wait for the end of the stream once nothing is missing; some servers keep the connection
	// open instead.
	afterFinish = 3 * time.Second
	afterAll    = 200 * time.Millisecond
)

// ErrStopped ends an attempt whose consumer has stopped.
var ErrStopped = errors.New("the consumer stopped")

// Stream is a stream of go-openai.
type Stream interface {
	RecvRaw() ([]byte, error)
	Close() error
}

// Decoder converts the events of one answer to deltas.
type Decoder interface {
	// Event decodes one event.
	Event(data []byte) error
	// State reports whether the answer is complete, and whether its usage has come too.
	State() (complete, all bool)
	// End yields the end of an answer, or returns why the stream was not a complete one; err
	// is the stream's last error.
	End(err error) error
}

// read decodes the stream to its end and closes it. cancel aborts a stream that the server
// keeps open after the answer is complete.
func read(stream Stream, d Decoder, cancel func()) error {
	defer stream.Close()
	var patience *time.Timer
	for {
		data, err := stream.RecvRaw()
		if err != nil {
			return d.End(err)
		}
		if err := d.Event(data); err != nil {
			return err
		}
		complete, all := d.State()
		if !complete {
			continue
		}
		if patience == nil {
			patience = time.AfterFunc(afterFinish, cancel)
			defer patience.Stop()
		}
		if all {
			patience.Reset(afterAll)
		}
	}
}

// Ended reports whether err is a regular end of the stream, and whether [DONE] was sent.
func Ended(err error) (end, said bool) {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF)
}
