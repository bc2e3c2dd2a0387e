package agent

import (
	"fmt"
	"slices"

	"codeagent/event"
	"codeagent/event/word"
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
	a.budget.items += weighAll(items)
	if slices.ContainsFunc(items, hasImages) {
		a.items = withoutOldImages(a.items)
	}
}

// restart replaces the conversation by items, which an earlier process may have left.
func (a *Agent) restart(items []model.Item) {
	a.items = Repair(items)
	a.digest.resume(a.items)
	a.budget.items = weighAll(a.items)
}

// now returns the conversation and its budget.
func (a *Agent) now() ([]model.Item, budget) {
	a.measure()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.items[:len(a.items):len(a.items)], a.budget
}

// Choice is a model and what is known about it.
type Choice struct {
	Model Model
	// ModelName and Effort are as in model.Request.
	ModelName, Effort string
	// MaxOutputTokens is the model's output limit; 0: the provider's default.
	MaxOutputTokens int
	// ContextLimit is the model's context in tokens; 0: not known.
	ContextLimit int
	// Blind: it cannot see images.
	Blind bool
}

// Use makes c the model from the next turn on. The conversation stays as it is; what only
// the previous provider can read is not sent. The error is ErrBusy while a turn runs.
func (a *Agent) Use(c Choice) error {
	if !a.turning.TryLock() {
		return ErrBusy
	}
	defer a.turning.Unlock()
	a.mu.Lock()
	a.cfg.Model, a.cfg.ModelName, a.cfg.Effort = c.Model, c.ModelName, c.Effort
	a.cfg.MaxOutputTokens, a.cfg.ContextLimit, a.cfg.Blind = c.MaxOutputTokens, c.ContextLimit, c.Blind
	a.doubted = false
	b := newBudget(c.ContextLimit, c.MaxOutputTokens, a.cfg.CompactAt)
	b.fixed, b.items = a.budget.fixed, a.budget.items
	a.budget = b
	a.mu.Unlock()
	a.spent(model.Usage{}) // the limit has changed
	return nil
}

// Note adds a note that the model gets with the user's next message. It does nothing
// while a turn runs.
func (a *Agent) Note(text string) {
	if !a.turning.TryLock() {
		return
	}
	defer a.turning.Unlock()
	a.append(model.Item{Kind: model.Note, Text: text})
}

// Compacted reports whether a summary replaced the beginning of the conversation.
func (a *Agent) Compacted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.items, func(i model.Item) bool { return i.Kind == model.Summary })
}

// Restart replaces the conversation by what past returns. The error is past's, or ErrBusy; then nothing
// changes. The log does not change.
func (a *Agent) Restart(past func() ([]model.Item, error)) error {
	if !a.turning.TryLock() {
		return ErrBusy
	}
	defer a.turning.Unlock()
	items, err := past()
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.restart(items)
	a.mu.Unlock()
	a.spent(model.Usage{})
	return nil
}

// log adds item to the log. A failure does not end the turn; it is reported once a turn.
func (a *Agent) log(item model.Item) {
	if a.cfg.Log == nil {
		return
	}
	a.saved(a.cfg.Log.Append(item))
}

// saved reports an error of the log.
func (a *Agent) saved(err error) {
	if err == nil {
		return
	}
	a.mu.Lock()
	said := a.unsaved
	a.unsaved = true
	a.mu.Unlock()
	if !said {
		a.emit(event.Notice{Level: word.LevelError, Text: fmt.Sprintf("the conversation cannot be saved: %v", err)})
	}
}

// Repair returns items as a valid history: every call has exactly one result, directly
// after the calls of its message and in their order; thinking may be between those
// calls. A result that is missing, because the program ended first, is replaced by one
// that says so. Results without a call, and second ones, are dropped.
func Repair(items []model.Item) []model.Item {
	results, places := map[string]model.Item{}, map[string]int{}
	for i, item := range items {
		if _, seen := results[item.CallID]; item.Kind == model.Result && !seen {
			results[item.CallID] = item
			places[item.CallID] = i
		}
	}
	var out []model.Item
	var open []string // calls without a result so far
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
	// between reports whether the item at i comes before the results of all open calls, as part
	// of their message.
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
