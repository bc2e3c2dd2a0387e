package agent

import (
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/model"
)

// TestNewsIsToldOnce: what happened beside the conversation is a note before the
// next request, and a notice for the person.
func TestNewsIsToldOnce(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})}, play("I look.", call("1", "shell")), play("done"))
	news := [][]string{nil, {"background session 1 (x) ended: exit status 1"}}
	r.Agent.cfg.News = func() (lines []string) {
		lines, news = news[0], news[1:]
		return lines
	}
	if err := r.Turn(t.Context(), Input{Text: "do it"}); err != nil {
		t.Fatal(err)
	}
	items := r.check(t)
	last := r.model.requests[1].Items
	if note := last[len(last)-1]; note.Kind != model.Note || note.Text != "[background session 1 (x) ended: exit status 1]" {
		t.Errorf("the second request ends with %+v", note)
	}
	notes := 0
	for _, i := range items {
		if i.Kind == model.Note {
			notes++
		}
	}
	if told := told[event.Notice](r.face); notes != 1 || len(told) != 1 || told[0].Text != "background session 1 (x) ended: exit status 1" {
		t.Errorf("%d notes, notices %+v", notes, told)
	}
}
