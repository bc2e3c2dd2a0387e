package agent

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

// answer collects one streamed answer: text and thinking become items, and each call
// starts as soon as its arguments are complete.
type answer struct {
	turn  *turn
	batch *batch
	// calls counts the complete calls. waiting are those that have not started: with
	// WholeAnswers no call starts before the answer is complete.
	calls   int
	waiting []model.ToolCall
	// items are the runs of text and reasoning and the calls, see keep.
	items []model.Item
	// unlogged are the items that are not in the log yet, in the order they came.
	unlogged []model.Item
	// run is the open run of text or thinking; kind is its Kind.
	run    strings.Builder
	kind   model.Kind
	reason model.StopReason
	usage  model.Usage
	search model.Search // of no text yet
	// brokeOff: the provider wanted to send the answer again after calls of it had started.
	// Calls that ran cannot be undone, so the answer ends here and the next request
	// continues from their results.
	brokeOff error
}

// read reads the stream to its end.
func (a *answer) read(ctx context.Context, stream iter.Seq2[model.Delta, error]) error {
	for delta, err := range stream {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch d := delta.(type) {
		case model.TextDelta:
			a.open(model.Assistant)
			a.run.WriteString(d.Text)
			a.turn.agent.emit(event.TextDelta{Text: d.Text})
		case model.ReasoningDelta:
			a.open(model.Reasoning)
			a.run.WriteString(d.Text)
			a.turn.agent.emit(event.ReasoningDelta{Text: d.Text})
		case model.Sealed:
			a.open(d.Kind)
			a.seal(d.Opaque)
		case model.CallDone:
			if a.calls++; a.calls > mostCalls {
				a.endless()
				return nil
			}
			a.close()
			a.keep(model.Item{Kind: model.Call, Call: &d.Call, Opaque: d.Opaque})
			a.waiting = append(a.waiting, d.Call)
			if a.decoding() {
				a.start()
			}
		case model.Retrying:
			if !a.retry(ctx, d) {
				return nil
			}
		case model.Unseen:
			a.turn.agent.emit(event.Notice{Level: word.LevelWarning, Text: unseenWords(a.turn.agent.cfg.ModelName, d)})
		case model.Searched:
			a.search.Add(d.Search)
		case model.Unsearched:
			a.turn.agent.emit(event.Notice{Level: word.LevelWarning, Text: "web search is off for this session, the provider refused it: " + d.Err.Error()})
		case model.Finished:
			a.reason = d.Reason
			a.usage = d.Usage
			a.turn.agent.Learn(d.Window)
			a.turn.count(d.Usage)
			if !a.decoding() {
				a.start()
			}
		}
	}
	return nil
}

// decoding reports whether calls start while the answer is being decoded.
func (a *answer) decoding() bool { return !a.turn.agent.cfg.WholeAnswers }

// start logs and starts the waiting calls.
func (a *answer) start() {
	a.log()
	for _, call := range a.waiting {
		a.batch.start(call)
	}
	a.waiting = nil
}

// end drops the calls that had not started when the stream ended.
func (a *answer) end() {
	a.close()
	a.searched()
	never := func(i model.Item) bool {
		return i.Kind == model.Call && slices.Contains(a.waiting, *i.Call)
	}
	a.items = slices.DeleteFunc(a.items, never)
	a.unlogged = slices.DeleteFunc(a.unlogged, never)
	a.log()
}

// endless ends an answer with too many calls: the next request continues from the results
// of the calls that started.
func (a *answer) endless() {
	a.brokeOff = errEndlessCalls
	a.turn.agent.emit(event.Notice{Level: word.LevelWarning, Text: "the answer was ended: " + errEndlessCalls.Error()})
}

// retry drops the answer so far, and reports false when that is no longer possible.
func (a *answer) retry(ctx context.Context, d model.Retrying) bool {
	if len(a.batch.calls) > 0 {
		a.brokeOff = d.Err
		a.turn.agent.emit(event.Notice{Level: word.LevelWarning, Text: "the answer broke off after a tool call had started; continuing from its result"})
		select {
		case <-ctx.Done():
		case <-time.After(d.Delay):
		}
		return false
	}
	a.items, a.unlogged, a.waiting, a.calls, a.kind, a.search = nil, nil, nil, 0, "", model.Search{}
	a.run.Reset()
	a.turn.agent.emit(retrying(d))
	return true
}

// open begins a run of kind, closing another.
func (a *answer) open(kind model.Kind) {
	if a.kind != kind {
		a.close()
		a.kind = kind
	}
}

// close ends the open run.
func (a *answer) close() { a.seal(nil) }

// seal ends the open run and stores with it what the provider wants back.
func (a *answer) seal(opaque *model.Opaque) {
	text := a.run.String()
	kind := a.kind
	a.run.Reset()
	a.kind = ""
	blank := strings.TrimSpace(text) == ""
	if blank && (opaque == nil || kind != model.Reasoning) {
		return
	}
	item := model.Item{Kind: kind, Text: text, Opaque: opaque}
	if kind == model.Assistant && a.search.Used() {
		item.Search = new(a.search)
	}
	a.keep(item)
	switch {
	case blank:
	case kind == model.Reasoning:
		a.turn.agent.emit(event.ReasoningFinished{Text: text})
	default:
		a.turn.agent.emit(event.MessageFinished{Text: text})
		a.searched()
	}
}

// searched reports what the provider's web search did.
func (a *answer) searched() {
	if a.search.Used() {
		a.turn.agent.emit(event.Searched{Search: a.search})
		a.search = model.Search{}
	}
}

// keep adds an item in its order, except that text is put before the calls, since their
// results must follow them. Thinking stays before the call that it led to.
func (a *answer) keep(item model.Item) {
	at := len(a.items)
	if item.Kind == model.Assistant {
		if first := slices.IndexFunc(a.items, func(i model.Item) bool { return i.Kind == model.Call }); first >= 0 {
			at = first
		}
	}
	a.items = slices.Insert(a.items, at, item)
	a.unlogged = append(a.unlogged, item)
}

// log writes the unlogged items to the log: before a call runs, and when the answer ends.
func (a *answer) log() {
	for _, item := range a.unlogged {
		a.turn.agent.log(item)
	}
	a.unlogged = nil
}

// text returns all text of the answer, without the thinking.
func (a *answer) text() string {
	var said []string
	for _, item := range a.items {
		if item.Kind == model.Assistant {
			said = append(said, strings.TrimSpace(item.Text))
		}
	}
	return strings.Join(said, "\n\n")
}

// count adds the tokens of an answer.
func (t *turn) count(u model.Usage) {
	t.add(u)
	t.agent.count(u)
}

// add adds tokens to the turn, and to the turn that this is a helper of.
func (t *turn) add(u model.Usage) {
	a := t.agent
	a.mu.Lock()
	t.usage = t.usage.Add(u)
	a.mu.Unlock()
	if a.parent != nil {
		a.parent.add(u)
	}
}
