package agent

// The first message of a session may have been answered before:
//
//	Turn -> recall -> Memory.Find      another scope or text, something that was read has changed -> the model works
//	  | a hit                            | each call: Looked, or Forget if it does more than read
//	  v                                  v
//	the answer, event.EarlierAnswer    the turn ended well -> Memory.Keep
//
// No tool runs for a hit, and it grants nothing.

import (
	"context"
	"encoding/json"

	"codeagent/answers"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

// Answers are those of earlier sessions.
type Answers struct {
	Memory *answers.Memory
	// Scope returns that of the session with these instructions; without a Model nothing is kept.
	Scope func(instructions string) answers.Scope
}

// recallable reports whether in is a first message that says all that the model gets.
func (a *Agent) recallable(in Input, note string) bool {
	return a.cfg.Answers != nil && a.parent == nil && !a.cfg.Search && len(a.History()) == 0 && note == "" && len(in.Images)+len(in.Notes) == 0 && !in.Foreign
}

// recall answers in as an earlier session did, or has the turn record what it reads; false: the model has to answer.
func (t *turn) recall(ctx context.Context, in Input) bool {
	a := t.agent
	if a.cfg.Tools.Ready(ctx) != nil { // the instructions name them
		return false
	}
	r := a.about(nil)
	r.CacheKey = "" // of this session
	instructions, err := json.Marshal(r)
	scope := a.cfg.Answers.Scope(string(instructions))
	if err != nil || scope.Model == "" {
		return false
	}
	hit, ok := a.cfg.Answers.Memory.Find(ctx, scope, in.Text, in.Again)
	if t.recalls = a.cfg.Answers.Memory; !ok || ctx.Err() != nil {
		return false
	}
	t.recalls, t.answer = nil, hit.Answer
	a.append(model.Item{Kind: model.Assistant, Text: hit.Answer})
	a.append(model.Item{Kind: model.Note, Text: "[That answer is from an earlier session. The files that were read for it are unchanged.]"})
	a.emit(event.MessageFinished{Text: hit.Answer})
	a.emit(event.EarlierAnswer{At: hit.At, Score: hit.Score, Files: hit.Files})
	return true
}

// keepAnswer keeps the answer of a turn that ended well.
func (t *turn) keepAnswer(ctx context.Context, outcome word.TurnOutcome, refused []event.Refusal) {
	if outcome == word.TurnDone && len(refused) == 0 {
		t.recalls.Keep(ctx, t.answer)
	} else {
		t.recalls.Forget()
	}
}
