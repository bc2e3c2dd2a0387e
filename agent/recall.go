package agent

// An earlier session may have answered the first message of this one:
//
//	Turn -> recall -> Memory.Find
//	  |                 a miss: no such text in this scope, or a file behind the answer has changed
//	  | a hit             |
//	  v                   v
//	earlier answer,     the model works; each call: Looked, or Forget if it does more than read;
//	EarlierAnswer       if the turn ends well: Memory.Keep
//
// After a hit no tool runs, and nothing is granted.

import (
	"context"
	"encoding/json"

	"codeagent/answers"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

// Answers configures the use of answers from earlier sessions.
type Answers struct {
	Memory *answers.Memory
	// Scope returns the scope of a session with these instructions. If it has no Model, nothing is looked up or kept.
	Scope func(instructions string) answers.Scope
}

// recallable reports whether in may have an earlier answer: it is the session's first message, the user wrote it, and
// the model gets only its text, without images, notes or web search.
func (a *Agent) recallable(in Input, note string) bool {
	return a.cfg.Answers != nil && a.parent == nil && !a.cfg.Search && len(a.History()) == 0 && note == "" && len(in.Images)+len(in.Notes) == 0 && !in.Foreign
}

// recall answers in as an earlier session did. If it returns false, the model must answer; the turn then records what
// it reads, for keepAnswer.
func (t *turn) recall(ctx context.Context, in Input) bool {
	a := t.agent
	if a.cfg.Tools.Ready(ctx) != nil { // the instructions name the tools
		return false
	}
	r := a.newRequest(nil)
	r.CacheKey = "" // it differs between sessions
	instructions, err := json.Marshal(r)
	scope := a.cfg.Answers.Scope(string(instructions))
	if err != nil || scope.Model == "" {
		return false
	}
	hit, ok := a.cfg.Answers.Memory.Find(ctx, scope, in.Text, in.Again)
	if t.reads = a.cfg.Answers.Memory; !ok || ctx.Err() != nil {
		return false
	}
	t.reads, t.answer = nil, hit.Answer
	a.append(model.Item{Kind: model.Assistant, Text: hit.Answer})
	a.append(model.Item{Kind: model.Note, Text: "[That answer is from an earlier session. The files that were read for it are unchanged.]"})
	a.emit(event.MessageFinished{Text: hit.Answer})
	a.emit(event.EarlierAnswer{At: hit.At, Score: hit.Score, Files: hit.Files})
	return true
}

// keepAnswer keeps the turn's answer for later sessions, if the turn ended well and nothing was refused.
func (t *turn) keepAnswer(ctx context.Context, outcome word.TurnOutcome, refused []event.Refusal) {
	if outcome == word.TurnDone && len(refused) == 0 {
		t.reads.Keep(ctx, t.answer)
	} else {
		t.reads.Forget()
	}
}
