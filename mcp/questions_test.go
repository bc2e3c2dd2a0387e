package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/mcp/inquiry"
)

// asking connects to a server whose tool ask asks for ever, with a pause before each question.
func asking(t *testing.T, pause, thinking time.Duration) (c *Client, asked *int) {
	asked = new(int)
	o := Options{Call: time.Minute, Elicit: func(ctx context.Context, _ inquiry.Question) inquiry.Reply {
		*asked++
		select {
		case <-time.After(thinking):
		case <-ctx.Done():
		}
		return inquiry.Reply{Action: inquiry.Declined}
	}}
	c, err := raw(t, o, func(w io.Writer, method string, id json.RawMessage) {
		if method == "tools/call" || method == "" { // the call, or the answer to its last question
			time.Sleep(pause)
			fmt.Fprintln(w, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object"}}}`)
			return
		}
		answer(w, method, id, `{"name":"ask","inputSchema":{"type":"object"}}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		time.Sleep(time.Hour) // of the bubble: the server ends after its pause
	})
	return c, asked
}

// TestQuestionsProlongNothing: a call that asks ends by its time limit, in which only the time of the
// person does not count.
func TestQuestionsProlongNothing(t *testing.T) {
	for name, row := range map[string]struct{ pause, answer, least, most time.Duration }{
		"answered at once": {10 * time.Second, 0, time.Minute, time.Minute},
		"slowly answered":  {20 * time.Second, 10 * time.Minute, 21 * time.Minute, 32 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := asking(t, row.pause, row.answer)
				begun := time.Now()
				_, err := c.Call(t.Context(), "ask", nil, nil)
				if took := time.Since(begun); !errors.Is(err, ErrTime) || took < row.least || took > row.most {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

// TestQuestionsAreFew: one call puts a few questions, the next one again.
func TestQuestionsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, asked := asking(t, time.Second, 0)
		for n := 1; n <= 2; n++ {
			_, _ = c.Call(t.Context(), "ask", nil, nil)
			if *asked != n*maxQuestions {
				t.Errorf("%d questions in %d calls", *asked, n)
			}
		}
	})
}
