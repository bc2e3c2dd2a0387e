package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/prompts"
)

// Schema is the form that the answer of a turn must have.
type Schema struct {
	JSON json.RawMessage
	// Check returns what is wrong with an answer, whatever the provider promised about it.
	Check func(ctx context.Context, answer string) error
}

// ErrUnfit: the answer does not fit the schema, and neither did the one before it.
var ErrUnfit = errors.New("the answer does not fit the schema")

// maxUnfit bounds what is shown of a validator's words, which quote the answer.
const maxUnfit = 500

func (s *Schema) json() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.JSON
}

// checkAnswer checks the answer of the turn by the schema. The first that does not fit is sent back
// to the model; the second is no answer.
func (t *turn) checkAnswer(ctx context.Context) (more bool, err error) {
	s := t.agent.cfg.Schema
	if s == nil {
		return false, nil
	}
	wrong := s.Check(ctx, t.answer)
	switch {
	case wrong == nil:
		t.unfit = 0
		return false, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	t.answer = ""
	if t.unfit++; t.unfit > 1 {
		return false, fmt.Errorf("%w: %s", ErrUnfit, short.Cut(wrong.Error(), maxUnfit))
	}
	t.agent.append(model.Item{Kind: model.Note, Text: prompts.Unfit(wrong)})
	t.agent.emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("%v, and the model is asked once more: %s", ErrUnfit, short.Cut(wrong.Error(), maxUnfit))})
	return true, nil
}
