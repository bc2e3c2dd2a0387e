package conversation

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"codeagent/agent"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/model"
	"codeagent/tools"
)

// Past is how much of the earlier conversation a face is shown.
type Past int

const (
	// PastRecent is as far back as a person is likely to scroll; nothing if nobody attends.
	PastRecent Past = iota
	PastNone
	// PastAll is everything, also what summaries have replaced for the model.
	PastAll
)

// showPast shows the earlier conversation to a face, and says how long it is.
func (r *record) showPast(emit func(event.Event), set *tools.Set, o Options) {
	if r == nil || len(r.before.Items) == 0 {
		return
	}
	items := r.before.Items
	switch {
	case o.Past == PastAll:
		r.replayAll(emit, set)
	case o.Past == PastRecent && o.Attended: // the other faces print only what happens now
		older := max(0, len(items)-replayed)
		for _, i := range slices.Backward(items[:older]) {
			if plan, ok := planned(i); ok {
				emit(plan)
				break
			}
		}
		replay(emit, set, slices.Values(items[older:]))
	}
	name, from := r.Log.ID(), "session"
	if o.Attended {
		name = "“" + visible.Line(r.Log.Name()) + "”"
	}
	text := "resumed session " + name
	if o.From != nil && o.From.Fork {
		if !o.Attended {
			from += " " + o.From.ID
		}
		text = "forked " + from + ": this copy is " + name
	}
	if r.before.Omitted {
		text += "; its beginning is too long for the model"
	}
	emit(event.Notice{Level: word.LevelInfo, Text: text})
	if n := r.before.Damaged; n > 0 {
		emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("%d damaged records of the session were skipped", n)})
	}
}

// replayAll shows the whole conversation from the disk.
func (r *record) replayAll(emit func(event.Event), set *tools.Set) {
	var failed error
	replay(emit, set, func(yield func(model.Item) bool) {
		for item, err := range r.Log.All() {
			if failed = err; err != nil || !yield(item) {
				return
			}
		}
	})
	if failed != nil {
		emit(event.Notice{Level: word.LevelWarning, Text: "not the whole conversation could be read: " + failed.Error()})
	}
}

// planned returns the plan that a call of the model's wrote.
func planned(i model.Item) (event.PlanUpdated, bool) {
	var p struct {
		Explanation string
		Plan        []event.PlanStep
	}
	ok := i.Kind == model.Call && i.Call.Name == "update_plan" && json.Unmarshal([]byte(i.Call.Arguments), &p) == nil && len(p.Plan) > 0
	return event.PlanUpdated{Explanation: p.Explanation, Steps: p.Plan}, ok
}

// replayed is how many earlier items PastRecent shows.
const replayed = 400

// replay sends items as events, as if they happened now. A call without a result was cut off
// by the end of the process.
func replay(emit func(event.Event), set *tools.Set, items iter.Seq[model.Item]) {
	calls := map[string]event.ToolStarted{}
	var open []string
	end := func(call event.ToolStarted, i model.Item, text string) {
		for _, e := range agent.Ended(call, i, text) {
			emit(e)
		}
	}
	n := -1
	for i := range items {
		n++
		switch i.Kind {
		case model.User:
			emit(event.TurnStarted{Text: i.Said(), Images: agent.Input{Images: i.Images}.Shown()})
		case model.Note:
			if command, report, ok := agent.UserCommand(i); ok {
				begun := event.ToolStarted{CallID: fmt.Sprintf("user-%d", n), Tool: "shell", Kind: word.KindCommand, Title: "$ " + command, Command: command, Own: true}
				emit(begun)
				end(begun, i, report)
			}
		case model.Summary:
			emit(event.Compacted{Summary: i.Text})
		case model.Assistant:
			emit(event.MessageFinished{Text: i.Text})
			if i.Search != nil {
				emit(event.Searched{Search: *i.Search})
			}
		case model.Reasoning:
			emit(event.ReasoningFinished{Text: i.Text})
		case model.Call:
			if plan, ok := planned(i); ok {
				emit(plan)
			}
			e := event.ToolStarted{CallID: i.Call.ID, Tool: i.Call.Name, Title: "call of " + short.Cut(i.Call.Name, 64)}
			if planned, err := set.Plan(*i.Call); err == nil {
				e = agent.Started(planned.Action())
			} else if server, tool, ok := strings.Cut(i.Call.Name, "__"); ok { // it does not run yet, or no more
				e.Kind, e.Title = word.KindServer, visible.Line(server+": "+tool)
				e.Server = &event.ServerCall{Server: server, Tool: tool, Arguments: i.Call.Arguments}
			}
			calls[e.CallID] = e
			open = append(open, e.CallID)
			if e.Kind != "" {
				emit(e)
			}
		case model.Result:
			open = slices.DeleteFunc(open, func(id string) bool { return id == i.CallID })
			end(calls[i.CallID], i, i.Text)
		}
	}
	for _, id := range open {
		end(calls[id], model.Item{}, "")
	}
}
