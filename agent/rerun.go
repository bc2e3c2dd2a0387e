package agent

import (
	"context"
	"slices"
	"time"

	"codeagent/approvals"
	"codeagent/internal/short"
	"codeagent/prompts"
	"codeagent/sandbox"
	"codeagent/tools"
)

// mostRuns bounds the runs of one call: a command can make up names for ever.
const mostRuns = 6

// rerun is a command that the sandbox denied something and that runs again with more permissions, until
// it lacks nothing more. What was granted once stays granted until the call ends.
type rerun struct {
	call *toolCall
	out  *output
	last tools.Result
	held *holder // of the last run
	runs int
	// connections are those of all runs.
	connections sandbox.Connections
	// changed is what all runs changed. cleared says what of it was removed.
	changed sandbox.Changes
	cleared string
	said    string // the user's notes with the answers
}

// runAgain asks whether a command may run again with more permissions, and runs it on a yes. The result
// always reports the first run too.
func (c *toolCall) runAgain(ctx context.Context, question *approvals.Request, first tools.Result, out *output) tools.Result {
	r := rerun{call: c, out: out, last: first, runs: 1, changed: first.Changed, connections: first.Verdict.Connections.Clone()}
	for question != nil {
		if why := r.next(ctx, question); why != "" {
			r.last.Text += "\n" + prompts.Denied(r.last.Verdict) + "[approval] " + why
			return r.last
		}
		question = nil
		if r.mayAsk(ctx) && r.runs < mostRuns {
			question = c.turn.agent.cfg.Gate.AfterDenial(c.action, r.last.Verdict, r.held.offers(r.last.Verdict))
		}
	}
	which := "second"
	if r.runs > 2 {
		which = "last"
	}
	r.last.Text = "[approval] The sandbox refused the first run; it was allowed to run again with more. " + r.cleared + "The " + which + " run:\n" + r.last.Text
	r.last.Text += c.after(ctx, r.last, r.held) + r.held.words() + r.said
	return r.last
}

// next asks, and runs the command once more. why is set if it did not run.
func (r *rerun) next(ctx context.Context, question *approvals.Request) (why string) {
	question.Warnings = append(question.Warnings, leftBehind(r.changed)...)
	permit, words, err := r.call.askPermit(ctx, question)
	if err != nil {
		return "Whether to run it again with more was asked: " + sentence(err.Error())
	}
	res, err := r.run(ctx, permit)
	r.changed.Join(res.Changed)
	if err == nil && res.Failed && r.mayAsk(ctx) && !lacks(res) {
		res, err = r.clear(ctx, permit, res)
	}
	if err != nil {
		_, why := notRun(ctx, err)
		return "It was allowed to run again with more. " + r.cleared + sentence(why)
	}
	r.remember(res)
	res.Changed = r.changed
	r.last, r.said = res, r.said+words
	return ""
}

// run is one run under a permit.
func (r *rerun) run(ctx context.Context, permit approvals.Permit) (tools.Result, error) {
	r.runs++
	r.held = r.call.holder(ctx)
	r.held.keep(permit.Given())
	res, err := r.call.run(ctx, permit, r.out, r.held)
	r.connections.Join(res.Verdict.Connections)
	res.Verdict.Connections = r.connections.Clone()
	return res, err
}

// mayAsk reports whether a person is there who has not said no.
func (r *rerun) mayAsk(ctx context.Context) bool {
	return ctx.Err() == nil && r.held != nil && !r.held.saidNo()
}

// clear removes what the runs before have left, on which res failed although nothing was refused, and
// runs the command once more; res itself if it cannot be removed.
func (r *rerun) clear(ctx context.Context, permit approvals.Permit, res tools.Result) (tools.Result, error) {
	done, err := tools.TakeBack(ctx, r.call.planned, permit, r.call.turn.agent.cfg.stage(), r.changed)
	if err != nil && !done {
		res.Text += "\n[approval] What the runs before had left was to be removed, and is still there in part: " + sentence(err.Error())
	}
	if !done {
		return res, nil
	}
	r.cleared = "The run after the yes failed on what the run before had left, so codeagent removed that: " + short.List(added(r.changed), mostLeft) + ". "
	res, err = r.run(ctx, permit)
	r.changed = res.Changed
	return res, err
}

// remember records what a run taught about the refusals of the last one, which it was granted.
func (r *rerun) remember(res tools.Result) {
	switch {
	case !res.Failed:
		r.call.learn(r.held, r.last, true)
	case r.held != nil && !lacks(res):
		r.call.unlearned(r.held.run.Vain(time.Now(), r.last.Verdict.Denials))
	}
}

// lacks reports whether the sandbox refused something to a run.
func lacks(res tools.Result) bool {
	return slices.ContainsFunc(res.Verdict.Denials, func(d sandbox.Denial) bool { return !d.Moot })
}

// leftBehind says what the runs before left, which the next one finds.
func leftBehind(changed sandbox.Changes) []string {
	made := added(changed)
	if len(made) == 0 {
		return nil
	}
	says := "the run before left what the next one finds: " + short.List(made, mostLeft)
	if len(made) == len(changed.List) {
		says += "; if the next one fails on that, it is removed and the command runs once more"
	}
	return []string{says}
}

func added(changed sandbox.Changes) (paths []string) {
	for _, ch := range changed.List {
		if ch.Kind == sandbox.Added {
			paths = append(paths, ch.Path)
		}
	}
	return paths
}
