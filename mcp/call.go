package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/model"
)

// progressEvery is how often the progress of a call is reported.
const progressEvery = 100 * time.Millisecond

// Result is what a tool answered. All texts are the server's: bounded, and with hidden
// characters named.
type Result struct {
	// Text is all content as text; what a model cannot read is described.
	Text   string
	Images []model.Image
	// Structured is the structured content, or nil. Its numbers are as exact as a
	// float64.
	Structured json.RawMessage
	// Repeated: Text says Structured too.
	Repeated bool
	// Failed: the tool says that it failed.
	Failed bool
}

// openCall is one call that has no answer yet.
type openCall struct {
	progress func(text string)
	told     time.Time
	whole    bool // told that all is done
}

// Call calls a tool by the server's name for it. progress, which may be nil, gets the server's
// words on how far it is; it must not block. When ctx ends the server learns that the call is
// cancelled.
//
// A tool that failed is a Result. The error says that there was none, and errors.Is tells
// ErrEnded, ErrForgotten, ErrTime and ErrSignIn apart.
func (c *Client) Call(ctx context.Context, tool string, arguments json.RawMessage, progress func(text string)) (Result, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	limited, stop := c.limit(ctx)
	defer stop()
	token, done := c.track(progress)
	defer done()
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(token)
	answer, err := c.current().CallTool(limited, params)
	if err != nil {
		return Result{}, c.words(limited, "calling "+line(tool, maxName), err)
	}
	result := c.content(ctx, answer.Content)
	result.Failed = answer.IsError
	c.structured(&result, answer.StructuredContent)
	result.Repeated = result.Repeated || repeats(answer.Content, answer.StructuredContent)
	return result, nil
}

// track gives a call its token for progress.
func (c *Client) track(progress func(string)) (token string, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	token = fmt.Sprint("call-", c.number)
	if progress != nil {
		c.calls[token] = &openCall{progress: progress}
	}
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, token)
	}
}

// progressed hands on how far a call is. A token that belongs to no call of ours is ignored.
func (c *Client) progressed(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	if r.Params == nil {
		return
	}
	token, _ := r.Params.ProgressToken.(string)
	c.mu.Lock()
	call := c.calls[token]
	now := time.Now()
	whole := r.Params.Total != 0 && r.Params.Progress >= r.Params.Total
	if call == nil || now.Sub(call.told) < progressEvery && (!whole || call.whole) {
		c.mu.Unlock()
		return
	}
	call.told, call.whole = now, whole || call.whole
	c.mu.Unlock()
	said := line(r.Params.Message, maxTitle)
	switch p := r.Params; {
	case p.Total > 0 && said == "":
		said = fmt.Sprintf("%g of %g", p.Progress, p.Total)
	case p.Total > 0:
		said = fmt.Sprintf("%g of %g: %s", p.Progress, p.Total, said)
	case said == "":
		said = fmt.Sprintf("%g", p.Progress)
	}
	call.progress(said)
}

// limit bounds a call by its time limit, in which the time of questions to a person does not
// count. The server may ask until stop.
func (c *Client) limit(ctx context.Context) (limited context.Context, stop func()) {
	limited, cancel := context.WithCancelCause(ctx)
	c.active(1)
	begun, before := time.Now(), c.waited()
	var timer *time.Timer
	ready := make(chan struct{})
	timer = time.AfterFunc(c.o.Call, func() {
		<-ready
		if left := c.left(begun, before); left > 0 {
			timer.Reset(left)
			return
		}
		cancel(ErrTime)
	})
	close(ready)
	return limited, func() {
		c.active(-1)
		timer.Stop()
		cancel(context.Canceled)
	}
}

// active counts the calls that run. A question ends with them.
func (c *Client) active(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.calls == 0 {
		c.now.questions = 0
		c.now.running, c.now.stopped = context.WithCancel(c.ends)
	}
	if c.now.calls += n; c.now.calls == 0 {
		c.now.stopped()
	}
}

// left is for how long a call may go on that began at begun, when calls had waited for before.
func (c *Client) left(begun time.Time, before time.Duration) time.Duration {
	left := c.o.Call - time.Since(begun) + c.waited() - before
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 {
		return max(left, time.Second)
	}
	return left
}

// waited is for how long calls have waited for a person so far.
func (c *Client) waited() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open > 0 {
		return c.answering + time.Since(c.asked)
	}
	return c.answering
}

// structured adds structured content to a result.
func (c *Client) structured(r *Result, v any) {
	if v == nil {
		return
	}
	data, err := visible.JSON(v, "")
	switch {
	case err != nil:
		return
	case len(data) > maxText:
		r.Text = short.Head(r.Text, maxText) + fmt.Sprintf("\n[structured content of %s is left out: more than %s]", short.Size(int64(len(data))), short.Size(maxText))
		return
	}
	if r.Structured = data; r.Text == "" {
		r.Text, r.Repeated = text(string(data), maxText), true
	}
}
