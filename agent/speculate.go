package agent

// Reading calls start before they are complete. A model writes arguments token by token,
// and what it wants to read is often known long before the object is closed. Each time a
// field is closed, the call that the closed fields make is planned, and run ahead if it
// needs no question. A later field that changes what is read cancels that run. The
// complete call uses the result of a run that read the same; otherwise it runs as usual.
//
// A run ahead affects only time: it is not reported or logged, asks nobody and changes
// nothing, and its result is used only after the gate has decided about the complete call
// (found). Commands are not run ahead: they start when their arguments are complete
// (model.CallDone).

import (
	"context"
	"errors"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/partial"
	"codeagent/model"
	"codeagent/tools"
)

// guesses holds the calls of one answer that have begun and are not complete.
type guesses struct {
	batch *batch
	open  []*guess
}

// guess is what is known about a call.
type guess struct {
	id, name  string
	arguments partial.Object
	fields    int    // number of fields at the last look
	run       *ahead // for the fields so far; may be nil
}

func (g *guesses) begin(d model.CallStarted) {
	g.open = append(g.open, &guess{id: d.ID, name: d.Name})
}

// more adds arguments. A call does not run ahead of an earlier incomplete call that may be
// an edit.
func (g *guesses) more(d model.CallDelta) {
	behind := false
	for _, c := range g.open {
		reads := g.batch.turn.agent.cfg.Tools.Reads(c.name)
		if c.id == d.ID && reads {
			c.arguments.Write(d.Arguments)
			if n := c.arguments.Fields(); n != c.fields && !behind {
				c.fields = n
				g.look(c)
			}
			return
		}
		behind = behind || !reads
	}
}

// mostFields is more than any reading call has. Each field costs another look at all of them.
const mostFields = 16

// look runs ahead the call that c appears to be, unless it runs already.
func (g *guesses) look(c *guess) {
	var planned tools.Call
	if c.fields <= mostFields && len(g.batch.calls) < maxCalls {
		call := model.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.Soon()}
		planned, _ = g.batch.turn.agent.plan(call) // nil: not a call yet, or no longer
	}
	if c.run.reads(planned) {
		return
	}
	c.run.void()
	c.run = nil
	if planned != nil && planned.Reads() != "" {
		c.run = g.batch.runAhead(planned)
	}
}

// take returns the run ahead of a call that is now complete, or nil.
func (g *guesses) take(id string) *ahead {
	for i, c := range g.open {
		if c.id == id {
			g.open = append(g.open[:i:i], g.open[i+1:]...)
			return c.run
		}
	}
	return nil
}

// void cancels the runs that were not taken.
func (g *guesses) void() {
	for _, c := range g.open {
		c.run.void()
	}
	g.open = nil
}

// errNotAhead: the call must not run before it is complete.
var errNotAhead = errors.New("not run ahead")

// ahead is a run of a call before it was complete. It may be nil.
type ahead struct {
	planned tools.Call
	cancel  func()
	done    chan struct{} // closed when the fields below are set
	permit  approvals.Permit
	result  tools.Result
	err     error // set if there is no result
}

func (a *ahead) void() {
	if a != nil {
		a.cancel()
	}
}

// reads reports whether c would read the same.
func (a *ahead) reads(c tools.Call) bool {
	return a != nil && c != nil && c.Reads() == a.planned.Reads()
}

// runAhead runs a call that only reads before it is complete, after what may write before it.
// Nothing is reported or logged, nobody is asked, and the sandbox is that of any call. It
// ends when it is void, at the latest with ctx; wait joins it.
func (b *batch) runAhead(planned tools.Call) *ahead {
	ctx, cancel := context.WithCancel(b.ctx)
	a := &ahead{planned: planned, cancel: cancel, done: make(chan struct{})}
	earlier := b.calls
	b.group.Go(func() error {
		defer close(a.done)
		defer cancel()
		for _, before := range earlier {
			if before.shares {
				continue
			}
			select {
			case <-before.done:
			case <-ctx.Done():
			}
		}
		select {
		case b.slots <- struct{}{}:
			defer func() { <-b.slots }()
		case <-ctx.Done():
		}
		if a.err = ctx.Err(); a.err == nil {
			a.err = contain(func() error { return a.run(ctx, b.turn.agent.cfg) })
		}
		return nil
	})
	return a
}

// run is the path of a run ahead: it needs a permit without a question.
func (a *ahead) run(ctx context.Context, cfg Config) error {
	action := a.planned.Action()
	if action.Kind != word.KindRead {
		return errNotAhead
	}
	permit, question, err := cfg.Gate.Decide(action) // a read never asks
	switch {
	case err != nil:
		return err
	case question != nil:
		return errNotAhead
	}
	stage := cfg.stage()
	stage.Output, stage.Holder = nil, nil
	a.permit = permit
	a.result, err = a.planned.Run(ctx, permit, stage)
	return err
}

// found returns the result of the run ahead, if it did exactly what permit permits now, under
// the present policy, and was denied nothing.
func (c *toolCall) found(permit approvals.Permit) (tools.Result, bool) {
	a := c.ahead
	if a == nil || a.err != nil || a.result.Denied || !a.permit.Equal(permit) {
		return tools.Result{}, false
	}
	return a.result, true
}
