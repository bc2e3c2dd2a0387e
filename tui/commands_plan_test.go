package tui

import (
	"context"
	"testing"

	"codeagent/approvals"
	"codeagent/prompts"
)

// TestPlanWithoutATask: where there is no plan, /plan alone is how one gets to plan mode.
func TestPlanWithoutATask(t *testing.T) {
	r, p := modeRig(t, 100, 30, approvals.OnRequest)
	r.app.offers.Extras.Review = func(context.Context, string) (prompts.Prompt, error) { return prompts.Prompt{}, nil }
	r.slash("/plan")
	r.has("plan mode: your next message asks for a plan")
	if !p.plan {
		t.Error("it is not plan mode")
	}
}
