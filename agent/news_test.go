package agent

import (
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/model"
	"codeagent/sandbox"
)

// TestNewsIsToldOnce: the end of a background command becomes a note before the next request,
// with its denials and unread output, and is reported to the user.
func TestNewsIsToldOnce(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})}, play("I look.", call("1", "shell")), play("done"))
	ended := event.BackgroundEnded{Job: 1, Message: "job 1 (x) ended: exit status 1", Exit: 1, Output: "q: refused\n[gone]\n",
		Verdict: sandbox.Verdict{Failed: true, Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/out/q", Program: "bash", Evidence: sandbox.EvidenceKernel}}}}
	news := [][]event.BackgroundEnded{nil, {ended}}
	r.Agent.cfg.News = func() (now []event.BackgroundEnded) {
		now, news = news[0], news[1:]
		return now
	}
	if err := r.Turn(t.Context(), Input{Text: "do it"}); err != nil {
		t.Fatal(err)
	}
	items := r.check(t)
	last := r.model.requests[1].Items
	if note := last[len(last)-1]; note.Kind != model.Note || note.Text != "[job 1 (x) ended: exit status 1]\n"+
		"The last of its unread output:\n| q: refused\n| [gone]\n"+
		"[sandbox] Refused along the way; as far as can be known it is not why the command failed:\n- write /out/q, by bash" {
		t.Errorf("the second request ends with %+v", note)
	}
	notes := 0
	for _, i := range items {
		if i.Kind == model.Note {
			notes++
		}
	}
	if told := told[event.BackgroundEnded](r.face); notes != 1 || len(told) != 1 || told[0].Message != ended.Message {
		t.Errorf("%d notes, told %+v", notes, told)
	}
}
