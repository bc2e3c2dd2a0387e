package agent

import (
	"strings"

	"codeagent/event/word"
	"codeagent/model"
	"codeagent/prompts"
)

// Fill is what the next request has, in tokens. The parts are estimated from their bytes, and corrected by the
// provider's last count.
type Fill struct {
	// System is codeagent's own text, Instructions that of the instruction files.
	System, Instructions int
	// Tools are the descriptions of codeagent's tools, Servers those of the MCP servers'.
	Tools, Servers int
	// Results are what tools returned, Conversation everything else that was said.
	Results, Conversation int
	// Limit is the model's context, Reserve the part of it that is kept for the answer. Assumed: the limit is
	// not known.
	Limit, Reserve int
	Assumed        bool
	// Gain is what a summary would replace.
	Gain int
}

// Fill returns what the next request has. It reads what the system text is made of. The error is ErrBusy while a
// turn runs.
func (a *Agent) Fill() (Fill, error) {
	if !a.turning.TryLock() {
		return Fill{}, ErrBusy
	}
	defer a.turning.Unlock()
	items, b := a.now()
	r := a.newRequest(items)
	f := Fill{Limit: b.limit, Reserve: b.reserve, Assumed: b.known == 0}
	ours, theirs := prompts.Parts(r.Instructions)
	f.System, f.Instructions = weighText(ours), weighText(theirs)
	for _, t := range r.Tools {
		n := weighText(len(t.Name) + len(t.Description) + len(t.Schema))
		if strings.Contains(t.Name, "__") {
			f.Servers += n
		} else {
			f.Tools += n
		}
	}
	for _, i := range items {
		if i.Kind == model.Result {
			f.Results += weigh(i)
		} else {
			f.Conversation += weigh(i)
		}
	}
	if from := (compaction{reason: word.CompactAsked}).tailStart(items, b); from > 1 {
		f.Gain = weighAll(items[:from])
	}
	for _, n := range []*int{&f.System, &f.Instructions, &f.Tools, &f.Servers, &f.Results, &f.Conversation, &f.Gain} {
		*n = b.tokens(*n)
	}
	return f, nil
}
