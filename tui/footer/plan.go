package footer

import (
	"fmt"
	"slices"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/paint"
)

// PlanLines is the present step of the plan above the message, while a step of it is left.
func (f *Footer) PlanLines(t *paint.Theme, w int) []string {
	at := slices.IndexFunc(f.Plan, func(s event.PlanStep) bool { return s.Status == word.StepInProgress })
	if at < 0 {
		at = slices.IndexFunc(f.Plan, func(s event.PlanStep) bool { return s.Status != word.StepCompleted })
	}
	if at < 0 {
		return nil
	}
	return paint.Indent([]string{t.Row(w-3, paint.Dim.Span(fmt.Sprintf("plan %d of %d", at+1, len(f.Plan))), paint.Faint.Span(" · "), paint.Text.Span(f.Plan[at].Step))})
}

// PlanPage draws the plan that the model wrote last.
func (f *Footer) PlanPage() func(t *paint.Theme, w int) []string {
	steps := f.Plan
	return func(t *paint.Theme, w int) (out []string) {
		for _, s := range steps {
			mark, style := paint.Step(s.Status == word.StepCompleted, s.Status == word.StepInProgress)
			out = append(out, t.Hang(w, mark, style.Span(s.Step))...)
		}
		return out
	}
}
