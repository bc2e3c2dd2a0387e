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

	"codeagent/model/wire"
)

// Options say where the provider is.
type Options = wire.Options

// Client sends requests to one provider. It is safe for concurrent use.
type Client = wire.Client[quirks]

type attempt = wire.Attempt[quirks]

// New makes a Client. Stream reports a base URL that cannot be used.
func New(o Options) *Client { return wire.NewClient(o, "/responses", open) }

func open(ctx context.Context, a *attempt) (wire.Stream, wire.Decoder, error) {
	stream, err := a.API.CreateResponseStream(ctx, request(a))
	return stream, newDecoder(a), err
}
