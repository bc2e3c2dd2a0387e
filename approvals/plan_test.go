package approvals

import (
	"testing"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// TestPlanMode: in plan mode nothing is changed, whatever was answered or ruled before, and whatever would
// be asked about; the same actions run or are asked about before it and after it.
func TestPlanMode(t *testing.T) {
	typed := Action{CallID: "c", Tool: "t", Kind: word.KindInput, Folder: workspace, Input: "make\n", Running: Running{ID: 1, Command: "bash", Policy: confined()}}
	reads := serverCall("list")
	reads.Server.ReadOnly = true
	host := command("curl https://example.org", Wish{Hosts: []string{"example.org:443"}})
	for _, c := range []struct {
		name         string
		a            Action
		base         sandbox.Policy
		before, plan string
	}{
		{"an edit", edit("main.go"), confined(), "run", "refuse"},
		{"an edit outside", edit("/srv/data/y"), confined(), "ask", "refuse"},
		{"an edit without a sandbox", edit("main.go"), sandbox.FullAccess(), "run", "refuse"},
		{"a command without a sandbox", command("true", Wish{}), sandbox.FullAccess(), "run", "refuse"},
		{"a command", command("grep -r x .", Wish{}), confined(), "run", "run"},
		{"a command that wants to write", command("make", Wish{Write: []string{"~/.npm"}}), confined(), "run", "refuse"},
		{"a command that a rule lets write", command("make", Wish{Write: []string{"/srv/data/x"}}), confined(), "run", "refuse"},
		{"a command outside", command("date", Wish{Unsandboxed: true}), confined(), "run", "refuse"},
		{"a command that wants a socket", command("docker ps", Wish{Sockets: []string{"/run/docker.sock"}}), confined(), "ask", "refuse"},
		{"a command that wants a host", host, confined(), "ask", "ask"},
		{"input to a command of before", typed, confined(), "run", "refuse"},
		{"a read", Action{CallID: "c", Tool: "read_file", Kind: word.KindRead, Folder: workspace, Paths: []string{"a"}}, confined(), "run", "run"},
		{"a plan", Action{CallID: "c", Tool: "update_plan", Kind: word.KindPlan, Folder: workspace}, confined(), "run", "run"},
		{"a server's tool", serverCall("push"), confined(), "ask", "refuse"},
		{"a server's tool that reads", reads, confined(), "run", "run"},
	} {
		for _, mode := range []Mode{OnRequest, OnFailure} {
			g := newGate(mode, c.base, counted, withRules(t, "[[path]]\npaths = [\"/srv/data/x\"]\naccess = \"write\"\n"))
			if !c.base.Unconfined {
				sessionYes(t, g, command("npm i", Wish{Write: []string{"~/.npm"}}))
				if _, err := g.Settle(mustAsk(t, g, command("date", Wish{Unsandboxed: true})), Answer{Decision: OutsideSession}); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range []string{c.before, c.plan, c.before} {
				g.SetPlan(i == 1)
				p, r, err := g.Decide(c.a)
				if got := decided(p, r, err); got != want {
					t.Errorf("%s, %s, %d: %s (%v), want %s", c.name, mode, i, got, err, want)
				}
				if i == 1 && want == "run" && c.a.Kind == word.KindCommand {
					if pol := mustPolicy(t, p, err, c.a); pol.JudgeWrite(workspace+"/x").Allowed || pol.JudgeWrite("/home/u/.npm/x").Allowed {
						t.Errorf("%s: write roots %v", c.name, pol.Write)
					}
				}
			}
		}
	}
}

// TestNothingWidensAPlan: neither a held call nor a run that was refused something is asked about in plan
// mode, and an earlier answer lets no held call pass.
func TestNothingWidensAPlan(t *testing.T) {
	g := newGate(OnFailure, confined())
	sessionYes(t, g, command("npm i", Wish{Write: []string{"~/.npm"}}))
	g.SetPlan(true)
	for _, target := range []string{"/home/u/.npm/x", "/home/u/.cache/tool/x", workspace + "/x"} {
		d := sandbox.Denial{Kind: sandbox.KindWrite, Target: target}
		if grant, r, err := g.DecideHeld(command("npm i", Wish{}), d, HeldAnswers{}); err == nil {
			t.Errorf("%s: %+v %v", target, grant, r)
		}
		v := sandbox.Verdict{Denied: true, Denials: []sandbox.Denial{d}, Suggest: sandbox.Grant{Write: []string{target}}}
		if r := g.AfterDenial(command("npm i", Wish{}), v, nil); r != nil {
			t.Errorf("%s: %s", target, r.Title)
		}
	}
	if r := g.AfterDenial(command("npm i", Wish{}), sandbox.Verdict{Denied: true, Evidence: sandbox.EvidenceOutputOnly}, nil); r != nil {
		t.Errorf("%s", r.Title)
	}
}
