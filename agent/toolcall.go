package agent

// The whole path of a tool call. Nothing runs any other way.
//
//	model.ToolCall
//	  | plan    Tools.Plan           bad arguments, unknown tool ------> words, not run
//	  v
//	Action -> before  Hooks.Fire     a hook denies, or fails ----------> words, not run
//	  | a hook may want a question
//	  v
//	decide  Gate.Decide              refused: policy, impossible wish -> words, not run
//	  | permit   | question
//	  |          v
//	  |          |  (the person may try the call on a draft first: preview.go)
//	  |     ask     Frontend.Ask     no, stop, nobody, interrupted ----> words, not run
//	  |          v
//	  |     settle  Gate.Settle      more than was shown --------------> words, not run
//	  |          | permit            something changed ----------------> decide, ask
//	  v          v
//	run     Call.Run(permit)         refuses a permit for anything else
//	  |                              keeps what was tried, if nothing changed since
//	  |                              something changed ----------------> decide, ask
//	  | output -> ToolOutput, thinned
//	  | a refused system call that waits -> held.go: decide, ask, settle -> grant or no
//	  v
//	Verdict -> denied, and on-failure or calls are held: ask, settle, run once more
//	  v
//	diagnosed  Diagnostics.After     adds errors in changed files
//	  v
//	after   Hooks.Fire               adds words
//	  v
//	report  result text for the model (with what was refused), ToolFinished
//
// The calls of one message start in its order, each as soon as its arguments are
// complete. Calls that only read, or are declared independent, run at the same time.
// Any other call runs alone (Action.Shares).

import (
	"context"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/prompts"
	"codeagent/tools"
)

// toolCall is one tool call during its execution.
type toolCall struct {
	turn    *turn
	model   model.ToolCall
	planned tools.Call // nil if planning failed
	action  approvals.Action
	shares  bool          // action.Shares(), kept because it parses the command
	err     error         // why planning failed
	done    chan struct{} // closed when the result is set
	result  model.Item
	ran     tools.Result
	asked   callQuestions // every question about it
	own     bool          // the user runs it
	facts   []string      // what codeagent states in its questions
	trial   *tools.Trial  // what ran on a draft before the yes; mostly nil
	ahead   *ahead        // what runs ahead, of the first call of an answer; mostly nil
}

// alone reports whether no other call may run at the same time, whoever makes it: the call changes files,
// types input or asks to run outside the sandbox. Otherwise another call could change files that a command
// outside the sandbox uses, between the person's answer and the run.
func (c *toolCall) alone() bool {
	return c.action.Kind == word.KindEdit || c.action.Kind == word.KindInput || c.action.Wish.Unsandboxed
}

// plan computes what the call would do, unless it is refused already.
func (c *toolCall) plan() {
	if c.err == nil {
		c.planned, c.err = c.turn.agent.plan(c.model)
	}
	if c.err == nil {
		c.action = c.planned.Action()
		c.turn.wish(c.action.Wish)
	} else {
		name := short.Cut(c.model.Name, 64)
		c.action = approvals.Action{CallID: c.model.ID, Tool: name, Kind: word.KindRead, Title: "call of " + name}
	}
	c.shares = c.action.Shares()
	e := Started(c.action)
	e.Own = c.own
	c.turn.agent.emit(e)
}

// plan is Tools.Plan, but a panic becomes an error.
func (a *Agent) plan(c model.ToolCall) (planned tools.Call, err error) {
	err = contain(func() (err error) {
		planned, err = a.cfg.Tools.Plan(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return planned, nil
}

// contained is perform, but a panic becomes a failed call: a bug in one tool must not end the
// session or leave the terminal in raw mode.
func (c *toolCall) contained(ctx context.Context) (res tools.Result, err error) {
	bug := contain(func() error {
		res, err = c.perform(ctx)
		return nil
	})
	if bug != nil {
		// Part of the call may have been done, so this is a result and not a "not run".
		return tools.Result{Failed: true, Outcome: word.Failed, Message: bug.Error(), Text: bug.Error() + "\nThe call may have been done in part."}, nil
	}
	return res, err
}

// perform goes from the plan to the result. An error means that the call did not run.
func (c *toolCall) perform(ctx context.Context) (tools.Result, error) {
	if c.err != nil {
		return tools.Result{}, c.err
	}
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	asks, words, err := c.before(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	res, err := c.decided(ctx, asks)
	if err != nil {
		return res, err
	}
	return c.followed(ctx, c.diagnosed(ctx, res), words), nil
}

// decided goes from the decision to the result. asks are why hooks want a question.
func (c *toolCall) decided(ctx context.Context, asks []string) (tools.Result, error) {
	gate := c.turn.agent.cfg.Gate
	out := &output{emit: c.turn.agent.emit, callID: c.model.ID}
	var held *holder
	var said string
	var res tools.Result
	permit, question, err := gate.Decide(c.action, asks...)
	for {
		switch {
		case question != nil:
			question.Facts = append(question.Facts, c.facts...)
			permit, said, err = c.askPermit(ctx, question)
		case err != nil:
			c.refusedAtOnce(err)
		}
		if err == nil {
			if question == nil {
				c.trial = c.ahead.claim(ctx, c)
			}
			held = c.holder(ctx)
			if res, err = c.run(ctx, permit, out, held); res.Kept && question == nil {
				c.ahead.markUsed()
			}
		}
		refusal, refused := approvals.AsRefusal(err)
		if !refused || refusal.Again == nil || ctx.Err() != nil {
			break
		}
		question, err = refusal.Again() // something changed since it was shown
	}
	if err != nil {
		return res, whyNot(ctx, err)
	}
	question = nil
	if ctx.Err() == nil && !held.saidNo() && len(res.Verdict.Unwritten()) == 0 {
		question = gate.AfterDenial(c.action, res.Verdict, held.offers(res.Verdict))
	}
	if question != nil {
		res = c.runAgain(ctx, question, res, out)
	} else {
		res.Text += c.after(ctx, res, held)
	}
	res.Text += held.words() + said
	if !c.action.Background {
		c.note(res)
	}
	return res, nil
}

// after returns the text for the model about why a run ended early, or what it was denied.
func (c *toolCall) after(ctx context.Context, res tools.Result, held *holder) string {
	switch {
	case ctx.Err() != nil:
		return endedEarly(ctx, res)
	case held.saidNo(), held.knows(res.Verdict): // the user has decided, so the text does not suggest asking again
		return c.deniedWords(res)
	}
	return c.denialWords(res)
}

// stage returns the environment of a call, under the present mode.
func (cfg Config) stage() tools.Stage {
	s := cfg.Stage
	s.Mode, s.Blind = cfg.Gate.Mode(), cfg.Blind
	s.Asking = cfg.Attended && s.Mode != approvals.Never && !cfg.Gate.ForHelper()
	return s
}

// run runs the planned call under permit and reports its output as it comes. held may
// be nil.
func (c *toolCall) run(ctx context.Context, permit approvals.Permit, out *output, held *holder) (tools.Result, error) {
	cfg := c.turn.agent.cfg
	stage := cfg.stage()
	out.base = out.end
	stage.Output, stage.Stream, stage.Looked = out.sink, out.of, c.turn.reads.Looked
	stage.Trial, c.trial = c.trial, nil
	defer stage.Trial.Drop()
	if held != nil {
		stage.Holder = held
	}
	if cfg.Helper != nil {
		stage.Delegate, stage.Keep = c.delegate, c.keep
	}
	stage.Listens = c.publish
	stage.Ended = func(res tools.Result) { // of a background command
		c.learn(held, res, false)
		c.note(res)
	}
	res, err := c.planned.Run(ctx, permit, stage)
	if c.action.Kind == word.KindServer {
		res.Text = prompts.Foreign(res.Text)
	}
	if !c.action.Background {
		c.learn(held, res, false)
		res = c.checkedOut(ctx, res, held)
	}
	return res, err
}

// askPermit asks the question and settles the answer. said is the user's note with a yes, for
// the model.
func (c *toolCall) askPermit(ctx context.Context, question *approvals.Request) (permit approvals.Permit, said string, err error) {
	gate := c.turn.agent.cfg.Gate
	if permit, ok := gate.Ruled(question); ok {
		return permit, "", nil
	}
	tried := c.offer(ctx, question)
	ans := c.put(ctx, question)
	permit, err = gate.Settle(question, ans)
	c.trial = tried.end(err == nil)
	c.answered(question, ans, err)
	return permit, yesWords(ans), err
}

// put reports a question and asks it. A face that cannot ask counts as a no.
func (c *toolCall) put(ctx context.Context, q *approvals.Request) approvals.Answer {
	hooked := c.questioned(ctx, q)
	c.turn.agent.emit(requested(q))
	if hooked != "" {
		return approvals.Answer{Decision: approvals.Hooked, Reason: hooked}
	}
	ans, err := c.turn.agent.cfg.Frontend.Ask(ctx, *q)
	switch {
	case ctx.Err() != nil:
		return approvals.Answer{Decision: approvals.Unanswered, Reason: endedBy(ctx)}
	case err != nil:
		return approvals.Answer{Decision: approvals.Unanswered, Reason: "the question could not be put: " + err.Error()}
	}
	return ans
}

// became returns the decision that an answer counts as: saving a rule may have failed.
func became(q *approvals.Request, ans approvals.Answer) approvals.Decision {
	if q.Unsaved != "" {
		return q.Instead
	}
	return ans.Decision
}

// answered reports how a question ended, and stops the turn if the answer says so.
func (c *toolCall) answered(q *approvals.Request, ans approvals.Answer, err error) {
	a := c.turn.agent
	e := event.PermissionAnswered{ID: q.ID, CallID: q.CallID, Reason: ans.Reason}
	refusal, refused := approvals.AsRefusal(err)
	switch {
	case !refused:
		e.Answer, e.Unsaved = word.AnswerOnce, q.Unsaved
		d := became(q, ans)
		if d.Lasts() {
			e.Answer = word.AnswerSession
		}
		if d == approvals.Always {
			e.Answer = word.AnswerAlways
		}
	case refusal.Stop:
		e.Answer = word.AnswerStopped
	case ans.Decision == approvals.Unattended:
		e.Answer, e.Reason, e.Hint = word.AnswerRefused, refusal.Reason, refusal.Hint
		defer c.turn.refused(event.Refusal{Title: q.Title, Grant: q.Grant, Hint: refusal.Hint})
	default:
		e.Answer, e.Reason = word.AnswerDenied, refusal.Reason
	}
	c.asked.add(callQuestion{requested(q), e})
	a.answered(q, e)
	if refused && refusal.Stop {
		c.turn.stop(ErrStopped)
	}
}

// refusedAtOnce reports a question that the approval policy answered by itself. A wish
// that nobody could grant is not a question.
func (c *toolCall) refusedAtOnce(err error) {
	refusal, ok := approvals.AsRefusal(err)
	if !ok || refusal.Request == nil {
		return
	}
	c.turn.agent.emit(requested(refusal.Request))
	c.answered(refusal.Request, approvals.Answer{Decision: approvals.Unattended}, err)
}

// finish makes the result for the model, logs it, and then reports it, so that nothing that
// was reported can be lost.
func (c *toolCall) finish(ctx context.Context, res tools.Result, err error) model.Item {
	if err != nil || !tools.OnlyReads(c.planned) {
		c.turn.reads.Forget()
	}
	text, events := c.report(ctx, res, err)
	item := model.Item{Kind: model.Result, CallID: c.model.ID, Text: text, Images: res.Images, Failed: res.Failed || err != nil, Carried: c.carried(text, events)}
	c.turn.agent.log(item)
	for _, e := range events {
		c.turn.agent.emit(e)
	}
	return item
}

// report is the text for the model about how the call ended, and the events about it.
func (c *toolCall) report(ctx context.Context, res tools.Result, err error) (text string, events []event.Event) {
	if err != nil {
		res.Failed = true
		res.Outcome, res.Text = notRun(ctx, err)
		if refusal, ok := approvals.AsRefusal(err); ok && res.Message == "" {
			res.Message = "Not run: " + sentence(refusal.Reason) // without what the model could do instead
		} else if res.Message == "" {
			res.Message, _, _ = strings.Cut(res.Text, "\n")
		}
	}
	if text = strings.TrimRight(res.Text, "\n"); text == "" {
		text = "(no output)"
	}
	if res.Plan != nil {
		events = append(events, event.PlanUpdated{Explanation: res.Explanation, Steps: res.Plan})
	}
	events = append(events, finished(c.action, res))
	if res.Warning != "" {
		events = append(events, event.Notice{Level: word.LevelWarning, Text: res.Warning})
	}
	return text, events
}
