package agent

import (
	"context"
	"errors"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/prompts"
	"codeagent/sandbox"
	"codeagent/tools"
)

// What a tool call reports: events, and text for the model.

// Started returns the event for the start of a call.
func Started(a approvals.Action) event.ToolStarted {
	e := event.ToolStarted{CallID: a.CallID, Tool: a.Tool, Kind: a.Kind.Shown(), Title: a.Title, Folder: a.Folder, Paths: a.Paths}
	if a.Kind == word.KindCommand {
		e.Command, e.Backend = a.Command, a.Backend
	}
	if s := a.Server; s != nil {
		e.Server = &event.ServerCall{Server: s.Server, Tool: s.Tool, Arguments: s.Arguments}
	}
	return e
}

func requested(q *approvals.Request) event.PermissionRequested {
	e := event.PermissionRequested{
		ID: q.ID, CallID: q.CallID, Title: q.Title, Folder: q.Action.Folder,
		Justification: q.Justification, Denials: q.Denials, Wanted: q.Grant, Warnings: q.Warnings, Facts: q.Facts, Held: q.Held,
	}
	if q.Action.Kind == word.KindCommand { // for an edit it would be the patch
		e.Command = q.Action.Command
	}
	return e
}

func finished(a approvals.Action, res tools.Result) event.ToolFinished {
	return event.ToolFinished{
		CallID: a.CallID, Tool: a.Tool, Kind: a.Kind.Shown(), Title: a.Title,
		Outcome: res.Outcome, Exit: res.Exit, Signal: res.Signal, Output: res.Output, Duration: res.Duration,
		Limit: res.Limit, Verdict: res.Verdict, Message: res.Message, Job: res.Job, Running: res.Running, Spill: res.Spill,
		Changed: res.Changed, Changes: res.Changes, Diagnostics: res.Diagnostics, Structured: res.Structured, Helpers: res.Helpers,
	}
}

// retrying returns the event for a request that is sent again.
func retrying(d model.Retrying) event.Retrying {
	e := event.Retrying{Delay: d.Delay, Attempt: d.Attempt, Most: d.Most, Left: d.Left}
	if d.Err != nil {
		e.Message = d.Err.Error()
	}
	return e
}

// yesWords returns the user's note with a yes, for the model.
func yesWords(ans approvals.Answer) string {
	if !ans.Decision.Yes() {
		return ""
	}
	var b strings.Builder
	if g := ans.Grant; g != nil && !ans.Decision.Leaves() {
		// The grant of the answer may equal what was asked.
		b.WriteString("\n[approval] The user opened " + things(*g) + ".")
	}
	if reason := strings.TrimSpace(ans.Reason); reason != "" {
		b.WriteString("\n[approval] The user allowed it and says: " + reason)
	}
	return b.String()
}

// things lists what a grant names.
func things(g sandbox.Grant) string {
	list := append(append([]string{}, g.Write...), g.Read...)
	list = append(append(list, sandbox.HostsOf(g.Hosts)...), g.Sockets...)
	if len(list) == 0 {
		return "no extra permissions"
	}
	return strings.Join(list, ", ")
}

// endedBy says in words why ctx ended.
func endedBy(ctx context.Context) string {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrStopped):
		return "the user stopped the turn"
	case errors.Is(cause, ErrRefused):
		return "the turn ended at a refused permission"
	case bounded(cause):
		return "the turn " + cause.Error()
	case errors.Is(cause, errNoAnswer), errors.Is(cause, errNotWaiting), errors.Is(cause, errOpened), errors.Is(cause, errLike):
		return cause.Error()
	case errors.Is(cause, context.DeadlineExceeded):
		return "the time limit was reached"
	}
	return "interrupted by the user"
}

// denialWords returns the text for the model about what the sandbox denied a command. The
// results of file tools have their own.
func (c *toolCall) denialWords(res tools.Result) string {
	if res.Running || !c.aboutCommand() {
		return c.deniedWords(res)
	}
	words := c.turn.agent.denial(res.Verdict)
	if s := c.action.Server; s != nil {
		words = prompts.ServerDenial(res.Verdict, s.Server)
	}
	if words == "" {
		return ""
	}
	return "\n" + words
}

// deniedWords is denialWords without the hint how to ask.
func (c *toolCall) deniedWords(res tools.Result) string {
	words := prompts.Denied(res.Verdict)
	if res.Running {
		words = prompts.RefusedSoFar(res.Verdict)
	}
	if words == "" || !c.aboutCommand() {
		return ""
	}
	return "\n" + words
}

// denial returns the text of a verdict, and how to ask for what it suggests.
func (a *Agent) denial(v sandbox.Verdict) string {
	if a.cfg.Gate.Model().NoOutside && prompts.OnlyOutside(v) {
		return prompts.Denied(v)
	}
	return prompts.Denial(v, a.cfg.Attended && a.cfg.Gate.Asks(v.Suggest), string(a.cfg.Gate.Mode()))
}

// aboutCommand reports whether the call's verdict is about a command: its own, a background
// command whose end it reported, or an MCP server.
func (c *toolCall) aboutCommand() bool {
	switch c.action.Kind {
	case word.KindCommand, word.KindInput, word.KindWatch, word.KindServer:
		return true
	}
	return false
}

// notRun returns the outcome and the text for a call that did not run.
func notRun(ctx context.Context, err error) (outcome word.Outcome, text string) {
	refusal, refused := approvals.AsRefusal(err)
	switch {
	case refused && refusal.Hint != "":
		return word.Refused, "Not run: " + sentence(refusal.Error()) + "\nWhat would allow it, for the user to read: " + refusal.Hint
	case refused:
		return word.Refused, "Not run: " + sentence(refusal.Error())
	case ctx.Err() != nil:
		return word.Interrupted, "Not run: " + endedBy(ctx) + "."
	}
	var unstarted *sandbox.StartError
	if errors.As(err, &unstarted) {
		return word.NotStarted, "could not be started: " + unstarted.Error()
	}
	return word.Failed, "Not run: " + err.Error()
}

func sentence(s string) string { return strings.TrimRight(s, ". ") + "." }

// endedEarly says why a run ended early, or "".
func endedEarly(ctx context.Context, res tools.Result) string {
	if !res.Failed {
		return "" // it finished first
	}
	return "\n[Ended early: " + endedBy(ctx) + ".]"
}

// whyNot returns why a call was not permitted. The end of the turn takes precedence over the
// refusal that it caused, unless the answer itself ended the turn.
func whyNot(ctx context.Context, err error) error {
	if refusal, ok := approvals.AsRefusal(err); ok && refusal.Stop || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// news reports, before a request, which background commands have ended, so that the model
// need not ask.
func (t *turn) news() {
	a := t.agent
	a.noted()
	if a.cfg.News == nil {
		return
	}
	for _, e := range a.cfg.News() {
		a.append(model.Item{Kind: model.Note, Text: a.endedWords(e), Carried: kept(e)})
		a.emit(e)
	}
}

// endedWords returns the note for the model about a background command that has ended. Each
// line printed by the command is marked, because notes are codeagent's own words.
func (a *Agent) endedWords(e event.BackgroundEnded) string {
	var b strings.Builder
	b.WriteString("[" + e.Message + "]")
	if e.Output != "" {
		b.WriteString("\nThe last of its unread output:")
		for line := range strings.SplitSeq(strings.TrimRight(e.Output, "\n"), "\n") {
			b.WriteString("\n| " + line)
		}
	}
	if words := e.Changed.Undoable(); words != "" {
		b.WriteString("\n[undo] The command " + words + ".")
	}
	if words := a.denial(e.Verdict); words != "" {
		b.WriteString("\n" + strings.TrimRight(words, "\n"))
	}
	return b.String()
}

// output reports the output of one call as it arrives, limited by exec. If the command runs
// twice, the offsets of the second run continue those of the first.
type output struct {
	emit   func(event.Event)
	callID string
	stream string
	base   int64 // the offset where the run began
	end    int64 // the end of what was reported
}

// of is the sink of one stream.
func (o *output) of(stream string) func(offset int64, data []byte) {
	return (&output{emit: o.emit, callID: o.callID, stream: stream}).sink
}

// sink is an exec.Sink.
func (o *output) sink(offset int64, data []byte) {
	offset += o.base
	o.emit(event.ToolOutput{CallID: o.callID, Stream: o.stream, Offset: offset, Data: data, Skipped: offset - o.end})
	o.end = offset + int64(len(data))
}
