package agent

// The whole path of a tool call. Nothing runs any other way.
//
//	model.ToolCall
//	  | plan    Tools.Plan           bad arguments, unknown tool ------> words, not run
//	  v
//	Action -> decide  Gate.Decide    refused: policy, impossible wish -> words, not run
//	  | permit   | question
//	  |          v
//	  |     ask     Frontend.Ask     no, stop, nobody, interrupted ----> words, not run
//	  |          v
//	  |     settle  Gate.Settle      more than was shown, stale -------> words, not run
//	  v          v permit
//	run     Call.Run(permit)         refuses a permit for anything else
//	  | output -> ToolOutput, thinned
//	  | a refused system call that waits -> held.go: decide, ask, settle -> grant or no
//	  v
//	Verdict -> on-failure and denied: ask, settle, run once more
//	  v
//	report  result text for the model (with what was refused), ToolFinished
//
// Calls of one message run at the same time, each from the moment its arguments
// are complete; a call that changes files runs alone, in its place. One that only
// reads may have run ahead of that (runAhead): its result then takes the place of
// run, and of nothing before it.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/prompts"
	"codeagent/tools"
)

// errNotAhead: this call is not one that runs before it is complete.
var errNotAhead = errors.New("not run ahead")

// maxParallel is how many calls of a message run at once at most; the rest waits.
const maxParallel = 8

// maxCalls is how many calls of one answer run; the rest is refused in words, and
// the answer ended at mostCalls.
const (
	maxCalls  = 128
	mostCalls = 1000
)

var (
	errTooManyCalls = fmt.Errorf("only the first %d calls of an answer run; make this call again in your next answer if it is still needed", maxCalls)
	errEndlessCalls = fmt.Errorf("it made more than %d tool calls", mostCalls)
)

// batch is the calls of one answer.
type batch struct {
	ctx   context.Context
	turn  *turn
	group errgroup.Group
	slots chan struct{}
	calls []*toolCall
}

func newBatch(ctx context.Context, t *turn) *batch {
	parallel := maxParallel
	if f := t.agent.cfg.Parallel; f != nil {
		parallel = f(parallel)
	}
	return &batch{ctx: ctx, turn: t, slots: make(chan struct{}, parallel)}
}

// toolCall is one call on its way.
type toolCall struct {
	turn    *turn
	model   model.ToolCall
	planned tools.Call // nil when it could not be planned
	action  approvals.Action
	err     error         // why not
	ahead   *ahead        // a run of the same before it was complete; nil without
	done    chan struct{} // closed when the result stands
	result  model.Item
	less    func(most int) string // of the result's text, see tools.Result; may be nil
	output  string                // see tools.Result
}

// start plans a call and sets it going; early is what ran ahead of it, nil
// without. The goroutine ends with the call, at the latest when ctx does; wait
// joins it.
func (b *batch) start(mc model.ToolCall, early *ahead) {
	c := &toolCall{turn: b.turn, model: mc, done: make(chan struct{})}
	earlier := b.calls
	b.calls = append(b.calls, c)
	if len(b.calls) > maxCalls {
		c.err = errTooManyCalls
	}
	c.plan()
	if early.reads(c.planned) {
		c.ahead = early
	} else {
		early.void() // the whole call is another
	}
	b.group.Go(func() error {
		defer close(c.done)
		for _, before := range earlier {
			if c.alone() || before.alone() {
				<-before.done
			}
		}
		if c.ahead != nil {
			<-c.ahead.done // before a slot is taken: it may wait for one itself
		}
		b.slots <- struct{}{}
		defer func() { <-b.slots }()
		res, err := c.contained(b.ctx)
		c.result, c.less, c.output = c.finish(b.ctx, res, err), res.Less, res.Output
		return nil
	})
}

// runAhead runs a call that only reads before it is complete, after the edits
// before it. Nothing is told or logged, nobody is asked, and the sandbox is that
// of any call. It ends when it is void, at the latest with ctx; wait joins it.
func (b *batch) runAhead(planned tools.Reading) *ahead {
	ctx, cancel := context.WithCancel(b.ctx)
	a := &ahead{planned: planned, cancel: cancel, done: make(chan struct{})}
	earlier := b.calls
	b.group.Go(func() error {
		defer close(a.done)
		defer cancel()
		for _, before := range earlier {
			if !before.alone() {
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

// run is the path of a run ahead: no permit without a question, no run.
func (a *ahead) run(ctx context.Context, cfg Config) error {
	action := a.planned.Action()
	if action.Kind != approvals.KindRead {
		return errNotAhead
	}
	permit, question, err := cfg.Gate.Decide(action) // of a read it never asks
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

// found is the result of the run ahead, if there was one that did exactly what
// permit permits now, under the policy that holds now, and was refused nothing.
func (c *toolCall) found(permit approvals.Permit) (tools.Result, bool) {
	a := c.ahead
	if a == nil || a.err != nil || a.result.Denied || !a.permit.Equal(permit) {
		return tools.Result{}, false
	}
	return a.result, true
}

// wait returns the results in the order of the calls.
func (b *batch) wait() []model.Item {
	_ = b.group.Wait() // its functions return nil
	results := make([]model.Item, len(b.calls))
	for i, c := range b.calls {
		results[i] = c.result
	}
	b.fit(results)
	b.nameFailures(results)
	return results
}

// fingerprint identifies a round of calls by name, arguments and result, to notice
// repetition; "" without calls. How long a command took is not part of it.
func (b *batch) fingerprint() string {
	if len(b.calls) == 0 {
		return ""
	}
	h := sha256.New()
	for _, c := range b.calls {
		given := c.output
		if given == "" {
			given = c.result.Text
		}
		fmt.Fprintf(h, "%q %q %q\n", c.model.Name, c.model.Arguments, given)
	}
	return string(h.Sum(nil))
}

// alone: the call changes files, or types, so those before it end first and those
// after it see what it did.
func (c *toolCall) alone() bool {
	return c.action.Kind == approvals.KindEdit || c.action.Kind == approvals.KindInput
}

// plan finds out what the call would do, unless it is refused already.
func (c *toolCall) plan() {
	if c.err == nil {
		c.err = contain(func() (err error) {
			c.planned, err = c.turn.agent.cfg.Tools.Plan(c.model)
			return err
		})
	}
	if c.err == nil {
		c.action = c.planned.Action()
	} else {
		c.planned = nil
		name := short.Cut(c.model.Name, 64)
		c.action = approvals.Action{CallID: c.model.ID, Tool: name, Kind: approvals.KindRead, Title: "call of " + name}
	}
	c.turn.agent.emit(started(c.action))
}

// contained is perform for which a panic is a failed call like any other: a bug
// in one tool must neither end the session nor leave the terminal raw.
func (c *toolCall) contained(ctx context.Context) (res tools.Result, err error) {
	var broken *bugError
	perr := contain(func() error {
		res, err = c.perform(ctx)
		return nil
	})
	if errors.As(perr, &broken) {
		// It may have been done in part, so this is a result and not a "not run".
		return tools.Result{Failed: true, Outcome: tools.Failed, Message: broken.Error(),
			Text: broken.Error() + "\nThe call may have been done in part."}, nil
	}
	return res, err
}

// perform is the path from the plan to the result. An error means: not run.
func (c *toolCall) perform(ctx context.Context) (tools.Result, error) {
	if c.err != nil {
		return tools.Result{}, c.err
	}
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	gate := c.turn.agent.cfg.Gate
	permit, question, err := gate.Decide(c.action)
	var said string
	switch {
	case question != nil:
		permit, said, err = c.askPermit(ctx, question)
	case err != nil:
		c.refusedAtOnce(err)
	}
	if err != nil {
		return tools.Result{}, whyNot(ctx, err)
	}
	if res, ok := c.found(permit); ok && question == nil {
		return res, nil
	}
	out := newOutput(c.turn.agent.emit, c.model.ID)
	held := c.holder(ctx)
	res, err := c.run(ctx, permit, out, held)
	switch {
	case err != nil:
		return res, err
	case ctx.Err() != nil:
		res.Text += endedEarly(ctx, res) + held.words()
	case held.saidNo():
		// The person has decided: nothing asks for the same again.
		res.Text += c.toldWords(res) + held.words()
	default:
		if question = gate.AfterDenial(c.action, res.Verdict); question != nil {
			res = c.again(ctx, question, res, out)
		} else {
			res.Text += c.denialWords(res)
		}
		res.Text += held.words()
	}
	res.Text += said
	return res, err
}

// stage is what a call runs on, as things stand now.
func (cfg Config) stage() tools.Stage {
	s := cfg.Stage
	s.Mode, s.Blind = cfg.Gate.Mode(), cfg.Blind
	s.Asking = cfg.Attended && s.Mode != approvals.Never
	return s
}

// run runs the planned call under permit, telling its output as it comes. The
// teller ends when the run does, after the last piece was told. held may be nil.
func (c *toolCall) run(ctx context.Context, permit approvals.Permit, out *output, held *holder) (res tools.Result, err error) {
	cfg := c.turn.agent.cfg
	stage := cfg.stage()
	stage.Output = out.sink
	if held != nil {
		stage.Holder = held
	}
	var teller errgroup.Group
	out.open()
	teller.Go(func() error { out.tell(); return nil })
	defer func() {
		out.close()
		_ = teller.Wait() // its function returns nil
	}()
	return c.planned.Run(ctx, permit, stage)
}

// again asks whether a command that the sandbox refused may run with more, and
// on yes runs it once more. Whatever comes of that, the first run did happen.
func (c *toolCall) again(ctx context.Context, question *approvals.Request, first tools.Result, out *output) tools.Result {
	permit, said, err := c.askPermit(ctx, question)
	if err != nil {
		first.Text += "\n" + prompts.Denied(first.Verdict) + "[approval] Whether to run it again with more was asked: " + sentence(err.Error())
		return first
	}
	held := c.holder(ctx)
	second, err := c.run(ctx, permit, out, held)
	if err != nil {
		first.Text += "\n" + prompts.Denied(first.Verdict) + "[approval] It was allowed to run again with more. " + sentence(notRunWords(ctx, err))
		return first
	}
	first.Changed.Join(second.Changed)
	second.Changed = first.Changed
	second.Text = "[approval] The sandbox refused the first run; it was allowed to run again with more. The second run:\n" + second.Text
	switch {
	case ctx.Err() != nil:
		second.Text += endedEarly(ctx, second)
	case held.saidNo():
		second.Text += c.toldWords(second)
	default:
		second.Text += c.denialWords(second)
	}
	second.Text += held.words() + said
	return second
}

// askPermit puts the question and settles the answer. What the person said with
// a yes comes back in words for the model.
func (c *toolCall) askPermit(ctx context.Context, question *approvals.Request) (permit approvals.Permit, said string, err error) {
	ans := c.put(ctx, question)
	permit, err = c.turn.agent.cfg.Gate.Settle(question, ans)
	c.answered(ctx, question, ans, err)
	return permit, yesWords(ans), err
}

// put tells of a question and asks it. Whoever cannot ask is told no.
func (c *toolCall) put(ctx context.Context, q *approvals.Request) approvals.Answer {
	c.turn.agent.emit(requested(q))
	ans, err := c.turn.agent.cfg.Frontend.Ask(ctx, *q)
	switch {
	case ctx.Err() != nil:
		return approvals.Answer{Decision: approvals.Unanswered, Reason: endedBy(ctx)}
	case err != nil:
		return approvals.Answer{Decision: approvals.Unanswered, Reason: "the question could not be put: " + err.Error()}
	}
	return ans
}

// answered tells how a question ended, and stops the turn if that was the answer.
func (c *toolCall) answered(ctx context.Context, q *approvals.Request, ans approvals.Answer, err error) {
	a := c.turn.agent
	e := event.PermissionAnswered{ID: q.ID, CallID: q.CallID, Reason: ans.Reason}
	refusal, refused := approvals.AsRefusal(err)
	switch {
	case !refused:
		e.Decision = "once"
		if ans.Decision == approvals.Session || ans.Decision == approvals.OutsideSession {
			e.Decision = "session"
		}
	case refusal.Stop:
		e.Decision = "stopped"
	case ans.Decision == approvals.Unattended:
		e.Decision, e.Reason, e.Hint = "refused", refusal.Reason, refusal.Hint
		a.refuse(event.Refusal{Title: q.Title, Grant: q.Grant, Hint: refusal.Hint})
	default:
		e.Decision, e.Reason = "denied", refusal.Reason
	}
	a.emit(e)
	if refused && refusal.Stop {
		c.turn.stop(ErrStopped)
	}
}

// refusedAtOnce tells of a question that the policy answered by itself. A wish
// that nobody could grant was no question.
func (c *toolCall) refusedAtOnce(err error) {
	refusal, ok := approvals.AsRefusal(err)
	if !ok || refusal.Request == nil {
		return
	}
	q, a := refusal.Request, c.turn.agent
	a.emit(requested(q))
	a.emit(event.PermissionAnswered{ID: q.ID, CallID: q.CallID, Decision: "refused", Reason: refusal.Reason, Hint: refusal.Hint})
	a.refuse(event.Refusal{Title: q.Title, Grant: q.Grant, Hint: refusal.Hint})
}

// finish makes the result that the model gets, logs it, and tells it: what has
// been told is not lost.
func (c *toolCall) finish(ctx context.Context, res tools.Result, err error) model.Item {
	if err != nil {
		res.Failed = true
		res.Outcome, res.Text = notRun(ctx, err)
		if res.Message == "" {
			res.Message, _, _ = strings.Cut(res.Text, "\n")
		}
	}
	text := strings.TrimRight(res.Text, "\n")
	if text == "" {
		text = "(no output)"
	}
	item := model.Item{Kind: model.Result, CallID: c.model.ID, Text: text, Images: res.Images, Failed: res.Failed, Carried: changedBy(res.Changed)}
	c.turn.agent.log(item)
	if res.Plan != nil {
		e := event.PlanUpdated{Explanation: res.Explanation}
		for _, s := range res.Plan {
			e.Steps = append(e.Steps, event.PlanStep(s))
		}
		c.turn.agent.emit(e)
	}
	c.turn.agent.emit(finished(c.action, res))
	if res.Warning != "" {
		c.turn.agent.emit(event.Notice{Level: "warning", Text: res.Warning})
	}
	return item
}
