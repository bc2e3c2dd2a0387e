package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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

// TestQuestionsEndWithTheirCall: a server that answers its own call takes its questions back with that:
// nobody can answer them later, and the next call has its time limit.
func TestQuestionsEndWithTheirCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, withdrawn := 0, 0
		o := Options{Call: time.Minute, Elicit: func(ctx context.Context, _ inquiry.Question) inquiry.Reply {
			asked++
			select {
			case <-ctx.Done():
				withdrawn++
			case <-time.After(time.Hour):
			}
			return inquiry.Reply{Action: inquiry.Accepted}
		}}
		calls := 0
		c, err := raw(t, o, func(w io.Writer, method string, id json.RawMessage) {
			switch {
			case method != "tools/call":
				answer(w, method, id, `{"name":"ask","inputSchema":{"type":"object"}}`)
			case calls == 0:
				calls++
				for i := range 2 { // the second one waits for the first
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"type":"object"}}}`+"\n", i)
				}
				time.Sleep(time.Second)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", id)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Call(t.Context(), "ask", nil, nil); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := c.Call(t.Context(), "ask", nil, nil); !errors.Is(err, ErrTime) || time.Since(begun) != time.Minute {
			t.Errorf("the next call: %v after %v", err, time.Since(begun))
		}
		if asked != 1 || withdrawn != 1 {
			t.Errorf("%d asked, %d withdrawn", asked, withdrawn)
		}
	})
}

// TestProgressIsTold: the end of the work is reported at once, and once.
func TestProgressIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := raw(t, Options{}, func(w io.Writer, method string, id json.RawMessage) {
			if method != "tools/call" {
				answer(w, method, id, `{"name":"work","inputSchema":{"type":"object"}}`)
				return
			}
			for i := range 100 {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-1","progress":%d,"total":3}}`+"\n", i+1)
			}
			synctest.Wait() // progress that arrives with the answer may come too late
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", id)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var told []string
		if _, err := c.Call(t.Context(), "work", nil, func(text string) { told = append(told, text) }); err != nil {
			t.Fatal(err)
		}
		if want := []string{"1 of 3", "3 of 3"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// TestHiddenInStructured: structured content says the same to a reader who sees every character.
func TestHiddenInStructured(t *testing.T) {
	var r Result
	newClient(Options{}).structured(&r, map[string]any{"n": "a\U000e0041\u202eb"})
	if got, want := string(r.Structured), `{"n":"a\udb40\udc41\u202eb"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
