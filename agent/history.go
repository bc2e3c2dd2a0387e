package agent

import (
	"fmt"
	"slices"

	"codeagent/event"
	"codeagent/model"
)

// append adds item to the conversation and to the log.
func (a *Agent) append(item model.Item) {
	a.remember(item)
	a.log(item)
}

// remember adds items to the conversation.
func (a *Agent) remember(items ...model.Item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items = append(a.items, items...)
}

// Back takes back the person's last message and all that came after it, and
// returns it. There is nothing to take back while a turn runs, or in a
// conversation without one. The log is not told.
func (a *Agent) Back() (Input, bool) {
	if !a.turning.TryLock() {
		return Input{}, false
	}
	defer a.turning.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, item := range slices.Backward(a.items) {
		if item.Kind == model.User {
			a.items = a.items[:i:i] // what was handed out stays as it was
			return Input{Text: item.Text, Images: item.Images}, true
		}
	}
	return Input{}, false
}

// log adds item to the log. A log that fails costs the record and not the turn:
// it is said once a turn.
func (a *Agent) log(item model.Item) {
	if a.cfg.Log == nil {
		return
	}
	err := a.cfg.Log.Append(item)
	if err == nil {
		return
	}
	a.mu.Lock()
	said := a.unsaved
	a.unsaved = true
	a.mu.Unlock()
	if !said {
		a.emit(event.Notice{Level: "error", Text: fmt.Sprintf("the conversation cannot be saved: %v", err)})
	}
}

// Repair returns items as a valid history: every call has exactly one result,
// directly after the calls of its message and in their order; thinking may stand
// between those calls. A result that is
// missing, because the program ended first, is said to be lost; results without
// a call, and second ones, are dropped.
func Repair(items []model.Item) []model.Item {
	results, places := map[string]model.Item{}, map[string]int{}
	for i, item := range items {
		if _, seen := results[item.CallID]; item.Kind == model.Result && !seen {
			results[item.CallID] = item
			places[item.CallID] = i
		}
	}
	var out []model.Item
	var open []string // calls whose results are due
	settle := func() {
		for _, id := range open {
			r, ok := results[id]
			if !ok {
				r = model.Item{Kind: model.Result, CallID: id, Failed: true, Text: "The result was lost: codeagent ended before the call did. It may have run, wholly or in part."}
			}
			out = append(out, r)
		}
		open = nil
	}
	// between reports that the item at i stands before the results of all open
	// calls, as part of their message.
	between := func(i int) bool {
		return !slices.ContainsFunc(open, func(id string) bool { return places[id] < i })
	}
	known := map[string]bool{}
	for i, item := range items {
		switch {
		case item.Kind == model.Reasoning && between(i):
			out = append(out, item)
		case item.Kind == model.Result:
		case item.Kind == model.Call && (item.Call == nil || known[item.Call.ID]):
		case item.Kind == model.Call:
			known[item.Call.ID] = true
			open = append(open, item.Call.ID)
			out = append(out, item)
		default:
			settle()
			out = append(out, item)
		}
	}
	settle()
	return out
}
