package agent

import (
	"context"
	"sync"

	"codeagent/approvals"
	"codeagent/tools"
)

// preview is what ran on a draft while one question was open.
type preview struct {
	mu    sync.Mutex
	trial *tools.Trial
	over  bool
	stop  context.CancelFunc
}

// offer lets the person try the call before they answer q, where that is possible.
func (c *toolCall) offer(ctx context.Context, q *approvals.Request) *preview {
	stage := c.turn.agent.cfg.Stage
	policy, ok := c.turn.agent.cfg.Gate.Preview(q)
	if !ok || !c.turn.agent.cfg.Attended || !stage.CanTry(c.planned) {
		return &preview{over: true}
	}
	ctx, stop := context.WithCancel(ctx)
	v := &preview{stop: stop}
	q.Preview = func() (approvals.Tried, error) {
		t, err := stage.Try(ctx, c.planned, policy)
		if err != nil {
			return approvals.Tried{}, err
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.over {
			t.Drop()
			return approvals.Tried{}, context.Canceled
		}
		v.trial.Drop()
		v.trial = t
		return t.Tried(), nil
	}
	return v
}

// end ends what runs, since the question is answered. It returns the last trial for a yes, and drops it after a no.
func (v *preview) end(yes bool) *tools.Trial {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over = true; v.stop != nil {
		v.stop()
	}
	if !yes {
		v.trial.Drop()
		return nil
	}
	return v.trial
}
