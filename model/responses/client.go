// Package responses is the client of the Responses API, streamed, for any provider that
// offers it. Nothing is stored at the provider: each request contains the whole
// conversation, including the encrypted thinking of earlier answers.
//
//	model.Request -> request.go -> go-openai -> model/wire -> provider
//	model.Delta   <- decode.go  <- RecvRaw   <- (repaired stream)
//
// go-openai builds and sends the request. The answer is decoded here, from its
// raw events, because go-openai's types end a stream at the first unknown event.
package responses

import (
	"context"
	"iter"

	"codeagent/model"
	"codeagent/model/wire"
)

// Options say where the provider is.
type Options = wire.Options

// Client sends requests to one provider. It is safe for concurrent use.
type Client struct {
	at      *wire.Endpoint
	learned wire.Learned[quirks]
}

// New makes a Client. Stream reports a base URL that cannot be used.
func New(o Options) *Client {
	return &Client{at: wire.NewEndpoint(o, "/responses")}
}

// Close closes idle connections.
func (c *Client) Close() { c.at.Close() }

// Models returns the models that the provider lists, in the provider's order. The error
// is a *model.Error.
func (c *Client) Models(ctx context.Context) ([]string, error) { return c.at.Models(ctx) }

// Stream sends a request and yields the answer, as chat.Client does.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return c.at.Stream(ctx, func(ctx context.Context, yield func(model.Delta) bool) error {
		return c.attempt(ctx, req, yield)
	})
}

// attempt makes one attempt, repeated at once after refusals that c learns from.
func (c *Client) attempt(ctx context.Context, req model.Request, yield func(model.Delta) bool) error {
	return c.learned.Ask(req, yield, func(q quirks, view *wire.View, yield func(model.Delta) bool) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.at.API.CreateResponseStream(ctx, c.request(req, q, view))
		if err != nil {
			return err
		}
		return wire.Read(stream, newDecoder(req, c.source(req), yield), cancel)
	})
}

// source returns the Opaque.Source for this provider and req's model.
func (c *Client) source(req model.Request) string { return c.at.Source + req.Model }
