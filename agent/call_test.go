package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// TestCallOfAnotherProgram: it passes the gate, is logged as a call with its result, and no model
// gets it.
func TestCallOfAnotherProgram(t *testing.T) {
	r := newRig(approvals.Untrusted, toolbox{"shell": {}})
	r.face.ask = func(context.Context, approvals.Request) (approvals.Answer, error) {
		return approvals.Answer{Decision: approvals.Once}, nil
	}
	result, refused, err := r.Call(t.Context(), call("c1", "shell"))
	if err != nil || result.Failed || result.Text != "fine" || len(refused) != 0 {
		t.Errorf("%+v, %v, %v", result, refused, err)
	}
	if len(r.face.asked) != 1 || r.face.asked[0].CallID != "c1" {
		t.Errorf("asked %+v", r.face.asked)
	}
	kinds := []model.Kind{}
	for _, i := range r.log.items {
		kinds = append(kinds, i.Kind)
	}
	if !slices.Equal(kinds, []model.Kind{model.Call, model.Result}) || len(r.History()) != 0 {
		t.Errorf("logged %v, history %v", kinds, r.History())
	}
	if result, _, _ := r.Call(t.Context(), call("c2", "other")); !result.Failed || !strings.Contains(result.Text, "no tool") {
		t.Errorf("%+v", result)
	}
}

// TestCallsNeed: what a call needed and nobody could grant is returned with that call alone.
func TestCallsNeed(t *testing.T) {
	r := newRig(approvals.Never, toolbox{"shell": {run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		return refusedWrite(sandbox.Certain), nil
	}}, "fine": {}})
	r.cfg.Attended = false
	r.cfg.Gate.SetCommand("", func(g sandbox.Grant) []string { return g.Write })
	_, refused, err := r.Call(t.Context(), call("c1", "shell"))
	if err != nil || len(refused) != 1 || !strings.Contains(refused[0].Hint, "exec /home/u/.npm") {
		t.Errorf("%+v, %v", refused, err)
	}
	if _, refused, _ = r.Call(t.Context(), call("c2", "fine")); len(refused) != 0 {
		t.Errorf("the next call reports %+v", refused)
	}
}

// TestCallsAtOnce: commands run at the same time, an edit alone; no turn runs beside them.
func TestCallsAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	release := make(chan struct{})
	edited := false
	r := newRig(approvals.OnRequest, toolbox{
		"shell": {run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			both.Done()
			both.Wait()
			<-release
			if edited {
				t.Error("the edit ran beside a command")
			}
			return tools.Result{Text: "fine", Outcome: word.OK}, nil
		}},
		"edit": {action: approvals.Action{Kind: word.KindEdit, Paths: []string{"/w/a"}}, run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			edited = true
			return tools.Result{Text: "done", Outcome: word.OK}, nil
		}},
	})
	var calls sync.WaitGroup
	for _, id := range []string{"a", "b"} {
		calls.Go(func() {
			if _, _, err := r.Call(t.Context(), call(id, "shell")); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	calls.Go(func() {
		if item, _, err := r.Call(t.Context(), call("c", "edit")); err != nil || item.Failed {
			t.Error(item, err)
		}
	})
	if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, ErrBusy) {
		t.Errorf("a turn beside calls: %v", err)
	}
	close(release)
	calls.Wait()
	if !edited {
		t.Error("the edit did not run")
	}
}
