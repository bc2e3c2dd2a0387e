package agent

// A call of delegate starts helpers. A helper is an ordinary agent with one turn:
//
//	conversation  its own: the task, and nothing of the parent's
//	gate          a view of the parent's (approvals.Gate.Helper): it reads, whatever tools it has, or works on a draft
//	tools         those that read, on a draft those that edit too; no delegate, no servers, no jobs
//	hooks         those of the parent, before and after each call and before each question
//	questions     through the parent's face, under the helper's name
//	bounds        its own, and those of the parent's turn: requests, tokens, cost, time
//	events        the parent's stream, each as an event.HelperEvent
//
// The end of the parent's turn, also at its bounds, ends them with their commands. What ends one of them ends no other.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/tools"
)

// Bounds of a helper. Fifty rounds of calls are a long search; a helper that has not found it by then does
// not know what it looks for. Each request repeats the conversation, so that fifty of 30,000 tokens are
// 1.5 million.
const (
	helperRequests = 50
	helperTokens   = 1_500_000
)

// Helper is what a helper has of its own.
type Helper struct {
	Tools        Tools
	Gate         *approvals.Gate
	Stage        tools.Stage
	Instructions func() string
	// Close releases it when the helper has ended, and adds its draft to the report.
	Close func(*tools.Report)
}

// delegate has a helper work on each task, all at the same time, and waits for all.
func (c *toolCall) delegate(ctx context.Context, tasks []tools.Task, check string) []tools.Report {
	reports := make([]tools.Report, len(tasks))
	var group errgroup.Group
	for i, task := range tasks {
		group.Go(func() error {
			begun := time.Now()
			h := &helper{call: c, number: i + 1, report: tools.Report{HelperEnd: event.HelperEnd{Kind: task.Kind, Task: task.Task, Outcome: word.TurnFailed}}}
			if task.Kind == tools.Change {
				h.check = check
			}
			if err := contain(func() error { return h.work(ctx, task) }); err != nil {
				if h.report.Failure = short.Cut(err.Error(), 1<<10); ctx.Err() != nil {
					h.report.Failure = endedBy(ctx)
				}
			}
			h.report.Duration = time.Since(begun)
			reports[i] = h.report
			return nil
		})
	}
	_ = group.Wait()                  // its functions return nil
	c.turn.agent.spent(model.Usage{}) // the totals have changed
	return reports
}

// work is the turn of a helper.
func (h *helper) work(ctx context.Context, task tools.Task) error {
	c := h.call
	cfg := c.turn.agent.cfg
	own, err := cfg.Helper(ctx, h.number, task.Kind)
	if err != nil {
		return fmt.Errorf("it could not be set up: %w", err)
	}
	defer own.Close(&h.report)
	cfg.Tools, cfg.Gate, cfg.Instructions = own.Tools, own.Gate, own.Instructions
	cfg.Stage = own.Stage
	cfg.Frontend, cfg.CacheKey = h, fmt.Sprintf("%s-%d", cfg.CacheKey, h.number)
	cfg.Log, cfg.History, cfg.Schema, cfg.Hold, cfg.Without, cfg.News, cfg.Helper = nil, nil, nil, nil, nil, nil, nil
	cfg.Diagnostics = nil // it reads the files, not a draft
	cfg.Before, cfg.Bounds = model.Usage{}, Bounds{Requests: helperRequests, Tokens: helperTokens}
	a := New(cfg)
	a.parent = c.turn
	err = a.Turn(ctx, Input{Text: task.Task, Foreign: true})
	if errors.Is(err, ErrStopped) {
		c.turn.stop(ErrStopped)
	}
	h.checkDraft(ctx, a)
	return err
}

// checkDraft runs the check on the draft as a call of the helper a, and then reports its end.
func (h *helper) checkDraft(ctx context.Context, a *Agent) {
	if h.check != "" && ctx.Err() == nil {
		arguments, err := json.Marshal(map[string]any{"command": h.check, "timeout_ms": commandMS})
		var res model.Item
		if err == nil {
			res, _, err = a.Call(ctx, model.ToolCall{ID: "check", Name: "shell", Arguments: string(arguments)})
		}
		h.report.Check = &tools.Checked{Passed: err == nil && !res.Failed, Text: res.Text}
	}
	if h.last != nil {
		h.pass(h.last)
	}
}

// keep has the draft of a helper kept, as a call of its own that hooks and the gate judge.
func (c *toolCall) keep(ctx context.Context, id string) tools.Result {
	arguments, err := json.Marshal(map[string]string{"draft": id})
	edit := &toolCall{turn: c.turn, model: model.ToolCall{ID: c.model.ID, Name: "keep_draft", Arguments: string(arguments)}, err: err}
	if err == nil {
		edit.planned, edit.err = c.turn.agent.plan(edit.model)
	}
	if edit.err == nil {
		edit.action = edit.planned.Action()
	}
	res, err := edit.contained(ctx)
	c.asked.add(edit.asked.all()...)
	if err != nil {
		return tools.Result{Failed: true, Text: "not kept: " + sentence(err.Error())}
	}
	return res
}

// helper is the face of one helper: it passes everything to the face of the parent, under its name. Its
// methods may be called at the same time, as those of any face; only TurnFinished, the last, reads and
// writes report.
type helper struct {
	call   *toolCall
	number int
	report tools.Report
	check  string      // or ""
	last   event.Event // the end of the turn, until the check has run
}

// Emit passes e to the face of the parent, and keeps what the report needs.
func (h *helper) Emit(e event.Event) {
	switch e := e.(type) {
	case event.TextDelta, event.ReasoningDelta: // their ends have the whole texts
		return
	case event.ToolStarted:
		h.call.turn.agent.mu.Lock()
		h.report.Calls++
		h.call.turn.agent.mu.Unlock()
	case event.TurnFinished:
		h.report.Outcome, h.report.Text = e.Outcome, e.Answer
		h.report.Tokens = e.Usage.Input + e.Usage.Output
		if h.check != "" {
			h.last = e
			return
		}
	}
	h.pass(e)
}

// pass passes e to the face of the parent.
func (h *helper) pass(e event.Event) {
	h.call.turn.agent.cfg.Frontend.Emit(event.HelperEvent{CallID: h.call.model.ID, Number: h.number, Kind: h.report.Kind, Event: h.renamed(e)})
}

// Ask asks through the face of the parent. The gate has put the helper's name in the title.
func (h *helper) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	r.CallID = h.id(r.CallID)
	return h.call.turn.agent.cfg.Frontend.Ask(ctx, r)
}

// Steer returns nothing: what the person types is for the parent.
func (h *helper) Steer() (Input, bool) { return Input{}, false }

// id makes the ID of a call unique in the session: models begin to count anew in each conversation.
func (h *helper) id(call string) string {
	return fmt.Sprintf("%s/%d/%s", h.call.model.ID, h.number, call)
}

// renamed is e, its field CallID, if it has one, unique in the session.
func (h *helper) renamed(e event.Event) event.Event {
	out := reflect.New(reflect.TypeOf(e)).Elem()
	out.Set(reflect.ValueOf(e))
	if call := out.FieldByName("CallID"); call.IsValid() {
		call.SetString(h.id(call.String()))
	}
	return out.Interface().(event.Event)
}
