package footer

import (
	"fmt"
	"slices"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/paint"
)

// PlanLines is the plan above the message, in at most that many rows, while a step of it is left: the present
// step, or with AllPlan the steps around it. key shows the others.
func (f *Footer) PlanLines(t *paint.Theme, w, most int, key string) (out []string) {
	left := func(s event.PlanStep) bool { return s.Status != word.StepCompleted }
	at := slices.IndexFunc(f.Plan, func(s event.PlanStep) bool { return s.Status == word.StepInProgress })
	if at < 0 {
		at = slices.IndexFunc(f.Plan, left)
	}
	if at < 0 || most <= 0 {
		return nil
	}
	row := func(spans ...paint.Span) { out = append(out, "  "+t.Row(w-3, spans...)) }
	of := paint.Dim.Span(fmt.Sprintf("plan %d of %d", at+1, len(f.Plan)))
	if !f.AllPlan || most == 1 {
		row(of, paint.Faint.Span(" · "), paint.Text.Span(f.Plan[at].Step))
		return out
	}
	row(of, paint.Faint.Span("  "+key+" folds it"))
	top := max(min(at-(most-1)/2, len(f.Plan)-(most-1)), 0)
	for _, s := range f.Plan[top:min(top+most-1, len(f.Plan))] {
		mark, style := paint.Step(s.Status == word.StepCompleted, s.Status == word.StepInProgress)
		row(mark, style.Span(s.Step))
	}
	return out
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
