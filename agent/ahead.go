package agent

// While the model answers, the call that it probably makes next runs ahead, on a draft and at the lowest priority:
//
//	the last call of the answer before -> patterns.Step -> Memory.Next -> a call
//	  | Tools.Plan, Gate.Foresee    a question or a refusal would come, or a hook -> nothing runs
//	  v
//	Stage.RunAhead -> *tools.Trial
//	  |  the model's first call      another one, or no call --------------------> dropped
//	  v
//	its permit -> tools.Trial        another policy, something that it read changed,
//	  |                              something was refused it --------------------> dropped, and the call runs
//	  v
//	its result, and its changes kept by the file worker
//
// The call takes the path of every call (toolcall.go); what ran ahead replaces its run alone.

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

// Ahead configures what runs ahead.
type Ahead struct {
	Memory *patterns.Memory
	// After is how long the model has to take before a call begins to run ahead.
	After time.Duration
	// Writes: commands that may change files run ahead too.
	Writes bool
	// Skill returns the name of the skill that a call reads, or "".
	Skill func(approvals.Action) string
}

// before is what the next call follows.
type before struct {
	step  patterns.Step
	skill string
}

// ahead is one call that runs ahead. nil: no call does.
type ahead struct {
	preview
	turn  *turn
	call  model.ToolCall
	took  time.Duration
	group errgroup.Group
	done  chan struct{} // closed when the run has ended

	// since is when the call began to wait for the run, hidden what that saved, less than 0 if it was in vain. The call
	// sets them.
	since  time.Time
	hidden time.Duration
	used   bool

	// These are guarded by preview.mu.
	action   approvals.Action
	from, to time.Time // when it ran; zero: not yet
}

// begin starts the call that is expected next, if there is one. end joins it.
func (t *turn) begin(ctx context.Context) *ahead {
	a := t.agent
	if a.cfg.Ahead == nil || a.parent != nil || t.recalls != nil || a.before.step.Kind == "" || a.cfg.Hooks.Has(hooks.BeforeTool) {
		return nil
	}
	tool, arguments, took, most, ok := a.cfg.Ahead.Memory.Next(a.before.step, a.before.skill)
	if !ok {
		return nil
	}
	h := &ahead{turn: t, call: model.ToolCall{Name: tool, Arguments: arguments}, took: took, done: make(chan struct{})}
	ctx, h.stop = context.WithCancel(ctx)
	h.group.Go(func() error {
		defer close(h.done)
		_ = contain(func() error { return h.run(ctx, most) }) // as if nothing had been
		return nil
	})
	return h
}

var errNotAhead = errors.New("it cannot run ahead")

func (h *ahead) run(ctx context.Context, most time.Duration) error {
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
	known := action
	known.Independent = false
	policy, ok := cfg.Gate.Foresee(action)
	if !ok || !cfg.Ahead.Writes && !known.Shares() || !cfg.Stage.CanRunAhead(planned) {
		return errNotAhead
	}
	h.mu.Lock()
	if h.over { // the call came first
		h.mu.Unlock()
		return errNotAhead
	}
	h.action, h.from = action, time.Now()
	h.mu.Unlock()
	trial, err := cfg.stage().RunAhead(ctx, planned, policy, most)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.to = time.Now(); h.over {
		trial.Drop()
		return err
	}
	h.trial = trial
	return err
}

// meets compares the first call of the answer. Another one ends the run.
func (h *ahead) meets(c model.ToolCall) {
	if h != nil && (c.Name != h.call.Name || !patterns.Same(c.Arguments, h.call.Arguments)) {
		h.leave()
	}
}

// leave drops the run while other things go on.
func (h *ahead) leave() {
	h.group.Go(func() error {
		h.end(false)
		return nil
	})
}

// take returns what ran of c; nil if c has to run. It waits for the end of the run if that saves time.
func (h *ahead) take(ctx context.Context, c *toolCall) *tools.Trial {
	if h == nil || c.own || c.model.Name != h.call.Name || !patterns.Same(c.model.Arguments, h.call.Arguments) {
		return nil
	}
	h.mu.Lock()
	action, from := h.action, h.from
	h.mu.Unlock()
	if from.IsZero() {
		return h.end(false) // it does not begin any more
	}
	h.since = time.Now()
	left := h.took*5/4 - time.Since(from) // on a draft it takes a little longer
	if left >= h.took {
		left = 0
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

// kept notes that the call used the run.
func (h *ahead) kept() { h.used, h.hidden = true, h.took-time.Since(h.since) }

// learn ends what ran ahead of the calls of b, and learns from them. whole: the answer was complete.
func (b *batch) learn(whole bool) {
	a, h, wasted := b.turn.agent, b.ahead, time.Duration(0)
	if a.cfg.Ahead == nil || a.parent != nil {
		return
	}
	if h != nil {
		ended := time.Now()
		h.leave()
		_ = h.group.Wait() // it is stopped
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

// step describes c to the patterns.
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
