package agent

import (
	"context"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/tools"
)

// TestUnmetNeeds covers the needs of a turn's commands in a run without a person. A refused need
// counts whether the command failed or hid the refusal. It no longer counts when the command itself
// or a later one achieved the same in another way.
func TestUnmetNeeds(t *testing.T) {
	// One command: its refusals, and how it ended.
	type one struct {
		text    string
		refused string
		status  int
	}
	ran := func(o one) deed {
		return deed{action: approvals.Action{Command: o.text}, run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			res := tools.Result{Text: "x", Outcome: word.OK, Exit: o.status, Failed: o.status != 0}
			if o.refused != "" {
				res.Verdict.Denials = []sandbox.Denial{{Kind: sandbox.KindWrite, Operation: "openat", Target: o.refused, Executable: "/bin/x", Evidence: sandbox.EvidenceKernel, Named: true, Count: 1}}
				res.Verdict.Evidence, res.Verdict.Confidence, res.Verdict.Suggest.Write = sandbox.EvidenceFull, sandbox.Likely, []string{o.refused}
			}
			res.Verdict.Failed, res.Verdict.Denied = res.Failed, res.Failed && o.refused != ""
			return res, nil
		}}
	}
	for name, row := range map[string]struct {
		calls []one
		want  int
	}{
		"failed, given up":             {[]one{{"mkdir /srv/x", "/srv/x", 1}}, 1},
		"failed, then something else":  {[]one{{"mkdir /srv/x", "/srv/x", 1}, {"ls", "", 0}}, 1},
		"failed, then done otherwise":  {[]one{{"mkdir /srv/x", "/srv/x", 1}, {"mkdir ./x", "", 0}}, 0},
		"failed, then failed again":    {[]one{{"mkdir /srv/x", "/srv/x", 1}, {"mkdir ./x", "", 1}}, 1},
		"failed, then hidden":          {[]one{{"mkdir /srv/x", "/srv/x", 1}, {"mkdir /srv/x || true", "/srv/x", 0}}, 1},
		"failed otherwise":             {[]one{{"mkdir ./x", "", 1}}, 0},
		"hidden":                       {[]one{{"mkdir /srv/x || true", "/srv/x", 0}}, 1},
		"hidden, then done otherwise":  {[]one{{"mkdir /srv/x || true", "/srv/x", 0}, {"mkdir x", "", 0}}, 0},
		"handled by the command":       {[]one{{"mkdir /srv/x || mkdir ./x", "/srv/x", 0}}, 0},
		"handled, and failed":          {[]one{{"mkdir /srv/x || mkdir ./x", "/srv/x", 1}}, 1},
		"two needs, one done":          {[]one{{"mkdir /srv/x", "/srv/x", 1}, {"touch /srv/y", "/srv/y", 1}, {"mkdir x", "", 0}}, 1},
		"done before it was refused":   {[]one{{"mkdir x", "", 0}, {"mkdir /srv/x", "/srv/x", 1}}, 1},
		"the same twice is one":        {[]one{{"mkdir /srv/x", "/srv/x", 1}, {"mkdir -p /srv/x", "/srv/x", 1}}, 1},
		"nobody can grant it":          {[]one{{"touch /w/a", "/w/a", 1}}, 0},
		"asked for, and refused there": {[]one{{"mkdir /srv/x", "/srv/x", 1}, {"", "/srv/x", 0}}, 1},
	} {
		box, list := toolbox{}, [][]any{}
		for i, c := range row.calls {
			id := string(rune('a' + i))
			box[id] = ran(c)
			if c.text == "" {
				box[id] = npm(writes(c.refused))
			}
			list = append(list, play(call(id, id)))
		}
		r := newRig(approvals.OnRequest, box, append(list, play("done"))...)
		r.cfg.Attended = false
		r.face.ask = answer1(approvals.Answer{Decision: approvals.Unattended}, nil)
		if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
			t.Fatal(name, err)
		}
		if end := told[event.TurnFinished](r.face)[0]; len(end.Refused) != row.want {
			t.Errorf("%s: refused %+v", name, end.Refused)
		}
	}
}
