package tools

import (
	"context"
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

const updatePlanExample = `{"plan": [{"step": "Find the cause", "status": "completed"}, {"step": "Fix it", "status": "in_progress"}, {"step": "Test", "status": "pending"}]}`

type updatePlanArguments struct {
	Explanation string           `json:"explanation,omitempty" jsonschema:"One sentence on what changed in the plan."`
	Plan        []event.PlanStep `json:"plan" jsonschema:"All steps, in order."`
}

// Bounds of a plan: a longer one gives no overview.
const (
	maxSteps = 100
	maxStep  = 1000
)

func planSteps(a updatePlanArguments) (*call, error) {
	steps, err := a.steps()
	if err != nil {
		return nil, err
	}
	completed := 0
	for _, s := range steps {
		if s.Status == word.StepCompleted {
			completed++
		}
	}
	action := approvals.Action{Tool: "update_plan", Kind: word.KindPlan, Title: fmt.Sprintf("plan: %d of %s done", completed, short.Count(len(steps), "step"))}
	return &call{action: action, run: func(context.Context, sandbox.Policy, Stage) (Result, error) {
		r := done("The plan is shown to the user.", action.Title)
		r.Plan, r.Explanation = steps, short.Head(strings.TrimSpace(a.Explanation), maxStep)
		return r, nil
	}}, nil
}

func (a *updatePlanArguments) steps() ([]event.PlanStep, error) {
	if len(a.Plan) == 0 || len(a.Plan) > maxSteps {
		return nil, fmt.Errorf("the plan has %d steps; it must have 1 to %d", len(a.Plan), maxSteps)
	}
	var steps []event.PlanStep
	working := 0
	for i, p := range a.Plan {
		text := strings.TrimSpace(p.Step)
		switch {
		case text == "" || len(text) > maxStep:
			return nil, fmt.Errorf("plan[%d].step must have 1 to %d characters", i, maxStep)
		case !p.Status.Known():
			return nil, fmt.Errorf("plan[%d].status must be one of pending, in_progress, completed, not %s", i, show(string(p.Status)))
		}
		if p.Status == word.StepInProgress {
			if working++; working > 1 {
				return nil, fmt.Errorf("plan[%d] is the second step in_progress; at most one step can be", i)
			}
		}
		steps = append(steps, event.PlanStep{Step: text, Status: p.Status})
	}
	return steps, nil
}
