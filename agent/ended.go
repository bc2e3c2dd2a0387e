package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

// mostEnded bounds what an item stores of the end of its call, in bytes. Diffs are stored whole or not
// at all.
const mostEnded = 64 << 10

// callEnd is the end of a call as its item stores it. The output is mostly a part of the item's text:
// then Before and After count the bytes around it. They hold also where that text is cut in its middle.
type callEnd struct {
	event.ToolFinished
	Before, After uint32         `json:",omitzero"`
	Asked         []callQuestion `json:",omitzero"`
}

// callQuestion is a question about a call, with its answer.
type callQuestion struct {
	Request event.PermissionRequested
	Answer  event.PermissionAnswered
}

// callQuestions holds the questions about one call. Several held calls of it may be answered at the same time.
type callQuestions struct {
	mu   sync.Mutex
	list []callQuestion // guarded by mu
}

func (a *callQuestions) add(asked ...callQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, asked...)
}

func (a *callQuestions) all() []callQuestion {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list
}

// carried returns what the item of the call stores beside its text.
func (c *toolCall) carried(text string, events []event.Event) json.RawMessage {
	var d digest
	for _, e := range events {
		if e, ok := e.(event.ToolFinished); ok {
			d.Done = endOf(e, text, c.asked.all())
		}
	}
	return d.keep(events)
}

func endOf(e event.ToolFinished, text string, asked []callQuestion) json.RawMessage {
	d := callEnd{ToolFinished: e, Asked: asked}
	output := strings.TrimRight(e.Output, "\n")
	if at := strings.Index(text, output); at >= 0 {
		d.Output, d.Before, d.After = "", uint32(at), uint32(len(text)-at-len(output))
	}
	d.Changes = slices.Clone(e.Changes)
	left := mostEnded - len(d.Output)
	for i := range d.Changes {
		if ch := &d.Changes[i]; len(ch.Diff) > left {
			ch.Diff = ""
		} else {
			left -= len(ch.Diff)
		}
	}
	data, err := json.Marshal(d)
	if err != nil || len(data) > 2*mostEnded { // escaped, or names without measure
		return nil
	}
	return data
}

// Ended returns the events with which a call ended that has this result, or this note where it is a command of
// the user's; without one it was cut off. text is its report. What an earlier codeagent stored says only whether
// it failed. A call without a kind could not be planned again: its start is the first event.
func Ended(call event.ToolStarted, i model.Item, text string) (out []event.Event) {
	var c digest
	var d callEnd
	if json.Unmarshal(i.Carried, &c) != nil || json.Unmarshal(c.Done, &d) != nil {
		d = callEnd{ToolFinished: event.ToolFinished{Outcome: word.OK}}
		switch {
		case i.Kind == "":
			d.Outcome = word.Interrupted
		case i.Failed:
			d.Outcome = word.Failed
		}
	}
	if call.Kind == "" {
		call.Kind, call.Title = cmp.Or(d.Kind, word.KindRead), cmp.Or(d.Title, call.Title)
		out = append(out, call)
	}
	if d.Output == "" {
		from := min(int(d.Before), len(text))
		d.Output = text[from:max(from, len(text)-int(d.After))]
	}
	for _, a := range d.Asked {
		a.Request.CallID, a.Request.Command, a.Answer.CallID = call.CallID, call.Command, call.CallID
		out = append(out, a.Request, a.Answer)
	}
	d.CallID, d.Tool, d.Kind, d.Title = call.CallID, call.Tool, call.Kind, call.Title
	return append(out, d.ToolFinished)
}
