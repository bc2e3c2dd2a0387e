package agent

import (
	"context"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
)

// starting are tools that get ready only when the wait for them ends.
type starting struct {
	toolbox
	waits chan struct{}
}

func (s starting) Ready(ctx context.Context) error {
	close(s.waits)
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestTurnWaitsForTools: the message is shown and kept before the wait, nothing is asked of the model
// meanwhile, and an interrupt ends the wait with the turn.
func TestTurnWaitsForTools(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{}, play("never asked"))
	tools := starting{toolbox{}, make(chan struct{})}
	r.cfg.Tools = tools
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Turn(ctx, Input{Text: "hello"}) }()
	<-tools.waits
	if e := told[event.TurnStarted](r.face); len(e) != 1 || e[0].Text != "hello" {
		t.Errorf("shown before the wait: %+v", e)
	}
	interrupt()
	if err := <-done; err == nil {
		t.Error("the turn did not end with an error")
	}
	if end := r.face.last(t); end.Outcome != word.TurnInterrupted {
		t.Errorf("the turn ended as %s", end.Outcome)
	}
	if e := told[event.RequestStarted](r.face); len(e) != 0 {
		t.Error("the model was asked")
	}
	if got := dump(r.check(t)); got != "user \"hello\"\n" {
		t.Errorf("history:\n%s", got)
	}
}
