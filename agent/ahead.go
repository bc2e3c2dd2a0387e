package agent

// While the model answers, the agent predicts its next call and runs that ahead, on a draft and at the lowest priority:
//
//	last call of the previous answer -> patterns.Step -> Memory.Next -> predicted call
//	  | Tools.Plan, Gate.Foresee     it needs a question, is refused, or a hook is set -> nothing runs
//	  v
//	Stage.RunAhead -> *tools.Trial
//	  | first call of the answer     a different call, or none -----------------------> the trial is dropped
//	  v
//	its permit -> tools.Trial        the policy is different, a file that the trial read has changed,
//	  |                              or the sandbox refused the trial something ------> dropped, and the call runs
//	  v
//	the trial's result; the file worker keeps its changes
//
// The model's call takes the same path as any other call (toolcall.go). The trial only saves running it.

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/hooks"
	"codeagent/model"
	"codeagent/patterns"
	"codeagent/tools"
)

// Ahead configures running calls ahead.
type Ahead struct {
	Memory *patterns.Memory
	// After is how long the model must take to answer before a call runs ahead.
	After time.Duration
	// Writes: commands that may change files also run ahead.
	Writes bool
	// Skill returns the name of the skill that a call reads, or "".
	Skill func(approvals.Action) string
}

// before is what happened before the next call: the basis of the prediction.
type before struct {
	step  patterns.Step // the last call of the previous answer
	skill string        // the last skill that was read
}

// ahead is one call that runs ahead; nil: none does.
type ahead struct {
	preview
	turn  *turn
	call  model.ToolCall
	took  time.Duration // how long the call usually takes
	group errgroup.Group
	done  chan struct{} // closed when the run has ended

	// The model's call sets these three. since is when it began to wait for the run. hidden is the time that the run
	// saved, or, below 0, the time that the call waited in vain. used: the call used the trial.
	since  time.Time
	hidden time.Duration
	used   bool

	// Guarded by preview.mu:
	action   approvals.Action
	from, to time.Time // when the run began and ended; zero: not yet
}

// begin predicts the next call and starts to run it ahead; nil: nothing is predicted. learn waits for its end.
func (t *turn) begin(ctx context.Context) *ahead {
	a := t.agent
	if a.cfg.Ahead == nil || a.parent != nil || t.reads != nil || a.before.step.Kind == "" || a.cfg.Hooks.Has(hooks.BeforeTool) {
		return nil
	}
	tool, arguments, took, allowed, ok := a.cfg.Ahead.Memory.Next(a.before.step, a.before.skill)
	if !ok {
		return nil
	}
	h := &ahead{turn: t, call: model.ToolCall{Name: tool, Arguments: arguments}, took: took, done: make(chan struct{})}
	ctx, h.stop = context.WithCancel(ctx)
	h.group.Go(func() error {
		defer close(h.done)
		_ = contain(func() error { return h.run(ctx, allowed) }) // after an error or a panic, the call runs as usual
		return nil
	})
	return h
}

var errNotAhead = errors.New("it cannot run ahead")

// run waits for Ahead.After, then runs the call on a draft, for no longer than allowed.
func (h *ahead) run(ctx context.Context, allowed time.Duration) error {
	cfg := h.turn.agent.cfg
	select {
	case <-time.After(cfg.Ahead.After):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	planned, err := cfg.Tools.Plan(h.call)
	if err != nil {
		return err
	}
	action := planned.Action()
	unclaimed := action
	unclaimed.Independent = false // for Shares, which would believe the model's claim
	policy, ok := cfg.Gate.Foresee(action)
	if !ok || !cfg.Ahead.Writes && !unclaimed.Shares() || !cfg.Stage.CanRunAhead(planned) {
		return errNotAhead
	}
	h.mu.Lock()
	if h.over { // the model's call came first
		h.mu.Unlock()
		return errNotAhead
	}
	h.action, h.from = action, time.Now()
	h.mu.Unlock()
	trial, err := cfg.stage().RunAhead(ctx, planned, policy, allowed)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.to = time.Now(); h.over {
		trial.Drop()
		return err
	}
	h.trial = trial
	return err
}

// compare ends the run if c, the first call of the answer, is a different call.
func (h *ahead) compare(c model.ToolCall) {
	if h != nil && (c.Name != h.call.Name || !patterns.Same(c.Arguments, h.call.Arguments)) {
		h.drop()
	}
}

// drop ends the run and drops its trial, without waiting for that.
func (h *ahead) drop() {
	h.group.Go(func() error {
		h.end(false)
		return nil
	})
}

// claim returns the trial for c, or nil if c has to run. It waits for the end of the run if that saves time.
func (h *ahead) claim(ctx context.Context, c *toolCall) *tools.Trial {
	if h == nil || c.own || c.model.Name != h.call.Name || !patterns.Same(c.model.Arguments, h.call.Arguments) {
		return nil
	}
	h.mu.Lock()
	action, from := h.action, h.from
	h.mu.Unlock()
	if from.IsZero() {
		return h.end(false) // the run has not begun, and now it will not
	}
	h.since = time.Now()
	left := h.took*5/4 - time.Since(from) // a run on a draft takes a little longer
	if left >= h.took {
		left = 0 // running c is as fast
	}
	left = max(left, h.took/10)
	late := time.NewTimer(left)
	defer late.Stop()
	select {
	case <-h.done:
	case <-late.C:
	case <-ctx.Done():
	}
	action.CallID = c.action.CallID
	trial := h.end(ctx.Err() == nil && reflect.DeepEqual(action, c.action))
	h.hidden = -time.Since(h.since)
	return trial
}

// markUsed records that the call used the trial.
func (h *ahead) markUsed() { h.used, h.hidden = true, h.took-time.Since(h.since) }

// learn ends the run ahead of b, and records which call followed the previous answer. whole: the answer of b was
// complete; otherwise nothing is learned from it.
func (b *batch) learn(whole bool) {
	a, h, wasted := b.turn.agent, b.ahead, time.Duration(0)
	if a.cfg.Ahead == nil || a.parent != nil {
		return
	}
	if h != nil {
		ended := time.Now()
		h.drop()
		_ = h.group.Wait() // soon, since the run is stopped
		use := &b.turn.ahead
		use.Hidden += h.hidden - time.Since(ended)
		switch {
		case h.used:
			use.Hits++
		case !h.from.IsZero():
			wasted = h.to.Sub(h.from)
			use.Misses++
			use.Wasted += wasted
		}
	}
	if !whole {
		a.before.step = patterns.Step{}
		return
	}
	f := patterns.Followed{Wasted: wasted}
	for i, c := range b.calls {
		took := c.ran.Duration
		if h != nil && h.used && i == 0 {
			took = h.took
		}
		if f.Tools += took; i == 0 && a.cfg.Stage.CanRunAhead(c.planned) {
			f.Tool, f.Arguments, f.Took = c.model.Name, c.model.Arguments, took
		}
	}
	a.cfg.Ahead.Memory.Saw(a.before.step, a.before.skill, f)
	a.before.step = patterns.Step{}
	for _, c := range b.calls {
		a.before.step = c.step()
		if skill := a.cfg.Ahead.Skill(c.action); skill != "" {
			a.before.skill = skill
		}
	}
}

// step describes c for package patterns.
func (c *toolCall) step() patterns.Step {
	r := patterns.Ran{Tool: c.model.Name, Arguments: c.model.Arguments, Failed: c.result.Failed, Text: c.ran.Text}
	if c.action.Kind == word.KindCommand {
		r.Command = c.action.Command
	}
	for _, changed := range c.ran.Changes {
		r.Changed = append(r.Changed, strings.TrimPrefix(changed.Path, c.action.Folder+"/"))
	}
	return patterns.StepOf(r)
}
