package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/model"
)

// TestAnswerFitsTheSchema: an answer that does not fit goes back once. Messages beside calls are no
// answers, and a summary of the conversation has no schema.
func TestAnswerFitsTheSchema(t *testing.T) {
	for name, c := range map[string]struct {
		answers  [][]any
		want     error
		answer   string
		requests int
	}{
		"fits":        {[][]any{play("{}")}, nil, "{}", 1},
		"after calls": {[][]any{play("words", call("1", "shell")), play("{}")}, nil, "{}", 2},
		"repaired":    {[][]any{play("words"), play("{}")}, nil, "{}", 2},
		"by a call":   {[][]any{play("words"), play(call("1", "shell")), play("{}")}, nil, "{}", 3},
		"never":       {[][]any{play("words"), play("words"), play("{}")}, ErrUnfit, "", 2},
		"never, with calls between": {[][]any{play("words"), play(call("1", "shell")), play("words"), play("{}")},
			ErrUnfit, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})}, c.answers...)
			r.cfg.Schema = &Schema{JSON: json.RawMessage(`{"type":"object"}`), Check: func(_ context.Context, answer string) error {
				if answer != "{}" {
					return errors.New("not fitting: " + strings.Repeat(answer, 1000))
				}
				return nil
			}}
			if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, c.want) || err != nil && len(err.Error()) > 1000 {
				t.Fatal(err)
			}
			if end := r.face.last(t); end.Answer != c.answer {
				t.Errorf("the answer is %q", end.Answer)
			}
			if len(r.model.requests) != c.requests || slices.ContainsFunc(r.model.requests, func(q model.Request) bool { return len(q.Schema) == 0 }) {
				t.Errorf("%d requests, want %d, each with the schema", len(r.model.requests), c.requests)
			}
			if _, _, err := r.summarise(t.Context(), r.History(), compaction{}); err != nil {
				t.Fatal(err)
			}
			if last := r.model.requests[len(r.model.requests)-1]; last.Schema != nil {
				t.Error("a summary has the schema of answers")
			}
		})
	}
}
