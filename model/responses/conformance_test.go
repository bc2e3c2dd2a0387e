package responses_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"codeagent/model/chat"
	"codeagent/model/modeltest"
	"codeagent/model/responses"
	"codeagent/model/wire"
)

// impatient is a retry policy that never really waits.
func impatient() wire.Retry {
	return wire.Retry{
		Attempts: modeltest.Attempts,
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Responses, func(t *testing.T, baseURL string, idle time.Duration) modeltest.Model {
		c := responses.New(responses.Options{BaseURL: baseURL, Key: "sk-conformance", Retry: impatient(), IdleTimeout: idle})
		t.Cleanup(c.Close)
		return c
	})
}

func connect(t *testing.T, base http.RoundTripper) modeltest.Model {
	return client(t, responses.Options{BaseURL: "http://provider.invalid/v1", HTTP: &http.Client{Transport: base}})
}

func TestRecorded(t *testing.T) { modeltest.Recorded(t, modeltest.Responses, connect) }

func TestCuts(t *testing.T) { modeltest.Cuts(t, modeltest.Responses, connect) }

func FuzzStream(f *testing.F) { modeltest.Fuzz(f, modeltest.Responses, connect) }

func FuzzPieces(f *testing.F) { modeltest.FuzzPieces(f, modeltest.Responses, connect) }

func connectChat(t *testing.T, base http.RoundTripper) modeltest.Model {
	c := chat.New(chat.Options{BaseURL: "http://provider.invalid/v1", HTTP: &http.Client{Transport: base}, Retry: impatient()})
	t.Cleanup(c.Close)
	return c
}

// A conversation that began over one API continues over the other.
func TestSwitch(t *testing.T) {
	t.Run("to chat", func(t *testing.T) { modeltest.Switch(t, modeltest.Responses, connect, modeltest.Chat, connectChat) })
	t.Run("from chat", func(t *testing.T) { modeltest.Switch(t, modeltest.Chat, connectChat, modeltest.Responses, connect) })
}
