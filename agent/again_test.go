package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/tools"
)

// TestRunsAgainUntilNothingIsLacked: after each yes the command runs again with all that was granted in this call. The questions
// show what is new. The next call begins without it.
func TestRunsAgainUntilNothingIsLacked(t *testing.T) {
	for name, c := range map[string]struct {
		lacks []string // one after the other
		ends  string   // how a run ends that lacks nothing; "" is success
		no    int      // the person says no to this question
		asked []string
		text  string
	}{
		"three folders":         {lacks: []string{"/home/u/a/1", "/home/u/b/1", "/srv/c"}, asked: []string{"/home/u/a/1", "/home/u/b/1", "/srv/c"}, text: "The last run:\ndone"},
		"one":                   {lacks: []string{"/home/u/a/1"}, asked: []string{"/home/u/a/1"}, text: "The second run:\ndone"},
		"siblings":              {lacks: []string{"/home/u/a/1", "/home/u/a/2", "/home/u/a/3", "/home/u/a/4"}, asked: []string{"/home/u/a/1", "/home/u/a"}, text: "done"},
		"a no to the second":    {lacks: []string{"/home/u/a/1", "/srv/b"}, no: 2, asked: []string{"/home/u/a/1", "/srv/b"}, text: "was asked: the user said no"},
		"names without an end":  {lacks: []string{"/srv/1/x", "/srv/2/x", "/srv/3/x", "/srv/4/x", "/srv/5/x", "/srv/6/x", "/srv/7/x"}, asked: []string{"/srv/1/x", "/srv/2/x", "/srv/3/x", "/srv/4/x", "/srv/5/x"}, text: "refused this"},
		"it fails all the same": {lacks: []string{"/home/u/a/1"}, ends: "not found", asked: []string{"/home/u/a/1"}, text: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			d := npm(approvals.Wish{})
			d.run = func(_ context.Context, p sandbox.Policy, _ tools.Stage) (tools.Result, error) {
				for _, path := range c.lacks {
					if !p.JudgeWrite(path).Allowed {
						v := sandbox.Verdict{Denied: true, Failed: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{waitingWrite(path)}}
						v.Suggest.Write = []string{path}
						return tools.Result{Text: "EACCES", Failed: true, Outcome: word.Failed, Exit: 1, Verdict: v,
							Changed: sandbox.Changes{List: []sandbox.Change{{Path: "/w/half", Kind: sandbox.Added}}}}, nil
					}
				}
				if c.ends != "" {
					return tools.Result{Text: c.ends, Failed: true, Outcome: word.Failed, Exit: 1}, nil
				}
				return tools.Result{Text: "done", Outcome: word.OK}, nil
			}
			r := newRig(approvals.OnRequest, toolbox{"npm": d}, play(call("1", "npm")), play(call("2", "npm")))
			r.cfg.Hold = always
			var asked []string
			r.face.ask = func(_ context.Context, q approvals.Request) (approvals.Answer, error) {
				asked = append(asked, strings.Join(q.Grant.Write, " "))
				if !strings.Contains(fmt.Sprint(q.Warnings), "the run before left what the next one finds: /w/half") {
					t.Errorf("warnings: %q", q.Warnings)
				}
				if len(asked) == c.no {
					return approvals.Answer{}, nil
				}
				return approvals.Answer{Decision: approvals.Once}, nil
			}
			if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
				t.Fatal(err)
			}
			if n := len(c.asked); c.no == 0 && !slices.Equal(asked, append(slices.Clone(c.asked), c.asked...)) || len(asked) < n || !slices.Equal(asked[:n], c.asked) {
				t.Errorf("asked for %q", asked)
			}
			if text := r.check(t)[2].Text; !strings.Contains(text, c.text) {
				t.Errorf("%q is not in %q", c.text, text)
			}
		})
	}
}

// TestHeldBeside: what is refused beside something that was granted in this call is held, so that the run need not be repeated.
func TestHeldBeside(t *testing.T) {
	given := []sandbox.Grant{{Write: []string{"/home/u/.ssh/key"}}}
	probe := waitingWrite("/home/u/.ssh/config")
	probe.Probe = true
	for name, c := range map[string]struct {
		given []sandbox.Grant
		d     sandbox.Denial
		no    string
		want  bool
	}{
		"beside it":             {given, waitingWrite("/home/u/.ssh/key.pub"), "", true},
		"nothing was granted":   {nil, waitingWrite("/home/u/.ssh/key.pub"), "", false},
		"in another folder":     {given, waitingWrite("/home/u/.x/key.pub"), "", false},
		"below it":              {given, waitingWrite("/home/u/.ssh/d/key.pub"), "", false},
		"after a no":            {given, waitingWrite("/home/u/.ssh/key.pub"), "/etc/x", false},
		"a probe for writing":   {given, probe, "", false},
		"another kind of thing": {given, sandbox.Denial{Kind: sandbox.KindNetwork, Target: "x.example:443"}, "", false},
	} {
		h := &holder{run: begin("ssh-keygen")}
		h.keep(c.given)
		if c.no != "" {
			h.run.Deny(waitingWrite(c.no))
		}
		if got := h.Asks(c.d); got != c.want {
			t.Errorf("%s: held %v", name, got)
		}
	}
}
