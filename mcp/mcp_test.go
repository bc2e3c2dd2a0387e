package mcp

import (
	"context"
	"io"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serve runs a server of the SDK over pipes, as a program would, and connects to it.
func serve(t *testing.T, o Options, set func(*sdk.Server)) *Client {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, nil)
	set(server)
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { // ends with its input
		defer close(ended)
		_ = server.Run(ctx, &sdk.IOTransport{Reader: serverIn, Writer: serverOut})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	if o.Name == "" {
		o.Name = "fake"
	}
	c, err := OverPipes(t.Context(), fromServer, toServer, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type echoed struct {
	Said string `json:"said"`
}

func TestCall(t *testing.T) {
	c := serve(t, Options{}, func(s *sdk.Server) {
		sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it \x1b[31magain."}, func(_ context.Context, _ *sdk.CallToolRequest, in echoed) (*sdk.CallToolResult, echoed, error) {
			return nil, in, nil
		})
	})
	tools := c.Tools()
	if len(tools) != 1 || tools[0].Offered != "fake__echo" || tools[0].Description != "Says it ␛[31magain." || tools[0].ReadOnly || !tools[0].Destructive {
		t.Fatalf("%+v", tools)
	}
	r, err := c.Call(t.Context(), "echo", []byte(`{"said":"a\u001b]0;b"}`), nil)
	if err != nil || r.Failed || string(r.Structured) != `{"said":"a\u001b]0;b"}` || r.Text != `{"said":"a\u001b]0;b"}` {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := c.Call(t.Context(), "echo", []byte(`{"said":1}`), nil); err == nil && !r.Failed {
		t.Errorf("%+v", r)
	}
}
