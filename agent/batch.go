package agent

import (
	"context"
	"crypto/sha256"
	"fmt"

	"golang.org/x/sync/errgroup"

	"codeagent/model"
)

// maxParallel is how many calls of an answer run at the same time; the others wait.
const maxParallel = 8

// maxCalls is how many calls of one answer run; further ones are refused. At mostCalls the
// answer is ended.
const (
	maxCalls  = 128
	mostCalls = 1000
)

var (
	errTooManyCalls = fmt.Errorf("only the first %d calls of an answer run; make this call again in your next answer if it is still needed", maxCalls)
	errEndlessCalls = fmt.Errorf("it made more than %d tool calls", mostCalls)
)

// batch holds the calls of one answer.
type batch struct {
	ctx   context.Context
	turn  *turn
	group errgroup.Group
	slots chan struct{}
	calls []*toolCall
	ahead *ahead
}

func newBatch(ctx context.Context, t *turn) *batch {
	parallel := maxParallel
	if f := t.agent.cfg.Parallel; f != nil {
		parallel = f(parallel)
	}
	return &batch{ctx: ctx, turn: t, slots: make(chan struct{}, parallel)}
}

// start plans and starts a call. The goroutine ends with the call, at the latest with ctx; wait
// joins it.
func (b *batch) start(mc model.ToolCall) {
	c := &toolCall{turn: b.turn, model: mc, done: make(chan struct{})}
	if len(b.calls) == 0 {
		b.ahead.compare(mc)
		c.ahead = b.ahead
	}
	earlier := b.calls
	b.calls = append(b.calls, c)
	if len(b.calls) > maxCalls {
		c.err = errTooManyCalls
	}
	c.plan()
	b.group.Go(func() error {
		defer close(c.done)
		for _, before := range earlier {
			if !c.shares || !before.shares {
				<-before.done
			}
		}
		b.slots <- struct{}{}
		defer func() { <-b.slots }()
		res, err := c.contained(b.ctx)
		c.ran, c.result = res, c.finish(b.ctx, res, err)
		return nil
	})
}

// wait returns the results in the order of the calls.
func (b *batch) wait() []model.Item {
	_ = b.group.Wait() // its functions return nil
	results := make([]model.Item, len(b.calls))
	for i, c := range b.calls {
		results[i] = c.result
	}
	b.cutResults(results)
	b.nameFailures(results)
	return results
}

// fingerprint identifies a round of calls by name, arguments and result, to notice
// repetition; "" without calls. The duration of a command is not part of it.
func (b *batch) fingerprint() string {
	if len(b.calls) == 0 {
		return ""
	}
	h := sha256.New()
	for _, c := range b.calls {
		given := c.ran.Output
		if given == "" {
			given = c.result.Text
		}
		fmt.Fprintf(h, "%q %q %q\n", c.model.Name, c.model.Arguments, given)
	}
	return string(h.Sum(nil))
}
