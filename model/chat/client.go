// Package chat is the client of the Chat Completions API, streamed, for any provider that
// offers it.
//
//	model.Request -> request.go -> go-openai -> model/wire -> provider
//	model.Delta   <- decode.go  <- RecvRaw   <- (repaired stream)
//
// go-openai builds and sends the request. The answer is decoded here, from its
// raw chunks, because providers send shapes that go-openai's types refuse.
package chat

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
func New(o Options) *Client { return wire.NewClient(o, "/chat/completions", open) }

func open(ctx context.Context, a *attempt) (wire.Stream, wire.Decoder, error) {
	body, more := request(a)
	stream, err := a.API.CreateChatCompletionStream(more.into(ctx), body)
	return stream, newDecoder(a), err
}
