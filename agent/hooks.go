package agent

// Hooks are commands of the user's. They run in the sandbox and can only tighten:
//
//	session start, prompt  words with the message; a deny, and the message is not sent
//	before a tool call     deny -> the call does not run; ask -> Gate.Decide asks; words with the result
//	question               deny -> the answer is no, and nobody is asked; words are shown with it
//	after a tool call      words with the result
//	end of the turn        deny -> the model gets the reason and continues, a few times at most
//
// An allow has no effect: no permit, no answer and no denial depends on it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/hooks"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/tools"
)

// ErrHooked: a hook refused the user's message.
var ErrHooked = errors.New("the message was not sent")

// maxContinued is how often hooks can make one turn continue.
const maxContinued = 5

// fire runs the hooks for in and reports their warnings.
func fire(ctx context.Context, a *Agent, in hooks.Input) (answer hooks.Answer) {
	if !a.cfg.Hooks.Has(in.Event) {
		return answer
	}
	in.Policy = a.cfg.Gate.Ungranted() // a helper's lets nothing be written, whatever the hook makes of the call
	if err := contain(func() error {
		answer = a.cfg.Hooks.Fire(ctx, in)
		return nil
	}); err != nil {
		answer = hooks.Answer{Denied: true, Reason: "the hooks: " + err.Error()}
	}
	for _, text := range answer.Warnings {
		a.emit(event.Notice{Level: word.LevelWarning, Text: text})
	}
	return answer
}

// prompted runs the hooks for a message of the user's. note is their words.
func prompted(ctx context.Context, a *Agent, in Input) (note string, err error) {
	if a.parent != nil {
		return "", nil // the task of a helper is no message of the user's
	}
	var words []string
	if !a.begun {
		a.begun = true
		words = fire(ctx, a, hooks.Input{Event: hooks.SessionStart, Resumed: len(a.History()) > 0}).Words
	}
	answer := fire(ctx, a, hooks.Input{Event: hooks.Prompt, Prompt: in.Text})
	switch {
	case a.cfg.Hooks.Has(hooks.Prompt) && ctx.Err() != nil:
		return "", context.Cause(ctx) // the hooks have not answered
	case answer.Denied:
		return "", fmt.Errorf("%w: %s", ErrHooked, answer.Reason)
	}
	return strings.Join(append(words, answer.Words...), "\n"), nil
}

// hooked adds the words of hooks to the conversation.
func hooked(a *Agent, note string) {
	if note != "" {
		a.append(model.Item{Kind: model.Note, Text: note})
	}
}

// continued reports whether a hook wants the turn to continue, and gives the model its reason.
func (t *turn) continued(ctx context.Context) bool {
	if t.agent.parent != nil || !t.agent.cfg.Hooks.Has(hooks.TurnEnd) || ctx.Err() != nil {
		return false
	}
	answer := fire(ctx, t.agent, hooks.Input{Event: hooks.TurnEnd, Continued: t.held > 0})
	hooked(t.agent, strings.Join(answer.Words, "\n"))
	switch {
	case !answer.Denied:
		return false
	case t.held == maxContinued:
		t.agent.emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("hooks have made this turn continue %d times; it ends now although: %s", maxContinued, answer.Reason)})
		return false
	}
	t.held++
	hooked(t.agent, "[Continue: a hook of the user's does not let the turn end yet.]\n| "+answer.Reason)
	return true
}

// about describes the call to a hook.
func (c *toolCall) about() *hooks.Call {
	a := c.action
	out := &hooks.Call{
		ID: a.CallID, Tool: a.Tool, Kind: a.Kind, Title: a.Title, Arguments: json.RawMessage(c.model.Arguments),
		Command: a.Command, Typed: a.Input, Folder: a.Folder, Outside: a.Wish.Unsandboxed,
	}
	if a.Kind == word.KindEdit {
		out.Paths = a.Paths
	}
	return out
}

// before runs the hooks before the call. asks are why they want a question, words are for the model.
func (c *toolCall) before(ctx context.Context) (asks []string, words string, err error) {
	a := c.turn.agent
	if !a.cfg.Hooks.Has(hooks.BeforeTool) {
		return nil, "", nil
	}
	answer := fire(ctx, a, hooks.Input{Event: hooks.BeforeTool, Call: c.about()})
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case answer.Denied:
		return nil, "", &approvals.Refusal{Reason: answer.Reason}
	}
	return answer.Asks, strings.Join(answer.Words, "\n"), nil
}

// followed adds to res what the hooks before and after the call say to the model.
func (c *toolCall) followed(ctx context.Context, res tools.Result, words string) tools.Result {
	all := []string{words}
	if c.turn.agent.cfg.Hooks.Has(hooks.AfterTool) && ctx.Err() == nil {
		answer := fire(ctx, c.turn.agent, hooks.Input{Event: hooks.AfterTool, Call: c.about(), Result: ended(res)})
		all = append(all, answer.Words...)
		if answer.Denied {
			all = append(all, "[A hook objects to what this call did:]\n| "+answer.Reason)
		}
	}
	added := ""
	for _, text := range all {
		if text != "" {
			added += "\n" + text
		}
	}
	if added == "" {
		return res
	}
	return res.With(added)
}

// ended describes a result to a hook.
func ended(res tools.Result) *hooks.Result {
	out := &hooks.Result{Outcome: res.Outcome, Exit: res.Exit, Signal: res.Signal, Output: res.Output, Verdict: res.Verdict}
	for _, ch := range res.Changes {
		out.Changed = append(out.Changed, ch.Path)
	}
	for _, ch := range res.Changed.List {
		out.Changed = append(out.Changed, ch.Path)
	}
	return out
}

// questioned runs the hooks for q. It returns the reason of a deny, or "". q then has their words.
func (c *toolCall) questioned(ctx context.Context, q *approvals.Request) string {
	a := c.turn.agent
	if !a.cfg.Hooks.Has(hooks.Question) {
		return ""
	}
	answer := fire(ctx, a, hooks.Input{Event: hooks.Question, Call: c.about(), Asked: &hooks.QuestionInput{
		Title: q.Title, Wanted: q.Grant, Denials: q.Denials, Justification: q.Justification, Held: q.Held,
	}})
	for _, text := range answer.Words {
		q.Facts = append(q.Facts, short.Cut(strings.ReplaceAll(text, "\n| ", " "), 300))
	}
	if answer.Denied {
		return answer.Reason
	}
	return ""
}
