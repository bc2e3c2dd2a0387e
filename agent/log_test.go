package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// watched is a log that reports each item.
type watched struct {
	*logged
	on func(model.Item)
}

func (w watched) Append(i model.Item) error {
	err := w.logged.Append(i)
	w.on(i)
	return err
}

// The program may die at any moment: a running call is in the log already, and a finished one
// does not wait for calls that run in parallel.
func TestLogHoldsACallBeforeItRunsAndItsResultAtOnce(t *testing.T) {
	other := make(chan struct{}) // closed when the result of the other call is in the log
	var atStart string
	var r rig
	slow := func(ctx context.Context, _ sandbox.Policy, _ tools.Stage) (tools.Result, error) {
		r.log.mu.Lock()
		atStart = dump(r.log.items)
		r.log.mu.Unlock()
		select {
		case <-other:
			return tools.Result{Text: "slow result", Outcome: word.OK}, nil
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		}
	}
	r = newRig(approvals.OnRequest, toolbox{"slow": {run: slow}, "quick": {}},
		play("I do both.", call("1", "slow"), "And the other.", call("2", "quick"), "That was it."))
	r.cfg.Log = watched{r.log, func(i model.Item) {
		if i.CallID == "2" {
			close(other)
		}
	}}
	if err := r.Turn(context.Background(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`user "go"`, `assistant "I do both."`, "call 1 slow"} {
		if !strings.Contains(atStart, line+"\n") {
			t.Errorf("when the call ran the log did not hold %s:\n%s", line, atStart)
		}
	}
	r.check(t)
}

func TestRestartBeforeTheLastMessage(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"quick": {}}, play("first answer"), play(call("1", "quick")), play("second answer"), play("third answer"))
	back := func() error {
		items := r.History()
		return r.Restart(func() ([]model.Item, error) { return items[:2], nil })
	}
	for _, text := range []string{"one", "two"} {
		if err := r.Turn(context.Background(), Input{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	before := r.model.requests[len(r.model.requests)-1].Items
	told := dump(before)
	if err := back(); err != nil {
		t.Error(err)
	}
	if err := r.Turn(context.Background(), Input{Text: "two, better"}); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(r.History()), "user \"one\"\nassistant \"first answer\"\nuser \"two, better\"\nassistant \"third answer\"\n"; got != want {
		t.Errorf("%s", got)
	}
	if dump(before) != told {
		t.Error("what a request was given changed afterwards")
	}
	r.face.on = func(e event.Event) {
		if _, ok := e.(event.TurnStarted); ok {
			if err := back(); !errors.Is(err, ErrBusy) {
				t.Errorf("taken back while a turn runs: %v", err)
			}
		}
	}
	if err := r.Turn(context.Background(), Input{Text: "three"}); err != nil {
		t.Fatal(err)
	}
}
