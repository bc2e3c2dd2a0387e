package agent

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

func results(items []model.Item) (out []string) {
	for _, i := range items {
		if i.Kind == model.Result {
			out = append(out, i.CallID+": "+i.Text)
		}
	}
	return out
}

// With speculation off nothing starts before the whole answer has come. An answer that breaks
// off has had no effect and can be requested again.
func TestWholeAnswers(t *testing.T) {
	var ran atomic.Bool
	box := toolbox{"shell": {run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		ran.Store(true)
		return tools.Result{Text: "fine", Outcome: word.OK}, nil
	}}}
	calls := []any{call("1", "shell"), call("2", "shell"), func() {
		if ran.Load() {
			t.Error("it ran before the answer was complete")
		}
	}}
	again := append(slices.Clone(calls), model.Retrying{Err: errors.New("gone"), Attempt: 2, Most: 3})
	for name, c := range map[string]struct {
		script []any
		want   []string
		err    error
	}{
		"whole":       {play(calls...), []string{"1: fine", "2: fine"}, nil},
		"asked again": {play(append(again, calls...)...), []string{"1: fine", "2: fine"}, nil},
		"dies":        {slices.Concat(play(calls...)[:len(play(calls...))-1], []any{context.DeadlineExceeded}), nil, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			ran.Store(false)
			r := newRig(approvals.OnRequest, box, c.script)
			r.cfg.WholeAnswers = true
			if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if got := results(r.check(t)); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
