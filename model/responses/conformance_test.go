package responses_test

import (
	"context"
	"testing"
	"time"

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
