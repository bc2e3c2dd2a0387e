package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/mcp/inquiry"
	"codeagent/model"
)

// everyCall has a valid call of each tool.
var everyCall = map[string]args{
	"shell":       {"command": "echo x > made"},
	"apply_patch": addOf("made", "x"),
	"read_file":   {"path": "a.txt"},
	"view_image":  {"path": "a.png"},
	"list_files":  {},
	"search":      {"pattern": "a"},
	"update_plan": {"plan": []args{{"step": "s", "status": "pending"}}},
	"ask_user":    {"question": "Which?", "choices": []args{{"label": "a"}}},
	"fetch_url":   {"url": "http://docs.example/"},
	"write_stdin": {"session_id": 1, "chars": "x\n"},
	"background":  {"action": "list"},

	"report_findings": {"findings": []args{{"file": "a.txt", "severity": "low", "message": "m"}}},
}

// A call runs with the permit minted for its own action and with no other: not
// the zero one, not one for the same tool with other arguments, not one for
// the same arguments under another call.
func TestNoCallWithoutItsOwnPermit(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "a\n", "a.png": pngOf(t, 1, 1)})
	p.stage.Fetch = web{"http://docs.example/": {Type: "text/plain", Body: []byte("manual")}}
	p.stage.Inquire = func(context.Context, inquiry.Question) (inquiry.Reply, error) {
		return inquiry.Reply{Action: inquiry.Declined}, nil
	}
	p.answer = approvals.Answer{Decision: approvals.Once}
	p.withJobs()
	p.ok("shell", args{"command": "cat", "background": true, "yield_time_ms": 1})
	if len(everyCall) != len(All(p.options).Names()) {
		t.Fatal("a tool has no call here")
	}
	for tool, a := range everyCall {
		c, err := p.plan(tool, a)
		if err != nil {
			t.Fatal(err)
		}
		other := c.Action()
		other.CallID = "c2"
		wider := c.Action()
		if wider.Wish.Write = append(wider.Wish.Write, p.ws); tool == "fetch_url" {
			wider.Wish = approvals.Wish{Hosts: []string{"other.example:80"}} // it is refused all the rest
		}
		foreign := c.Action()
		foreign.Title += " "
		for name, act := range map[string]approvals.Action{"another call": other, "another wish": wider, "another action": foreign, "nothing": {}} {
			permit := approvals.Permit{}
			if name != "nothing" {
				if permit, err = p.permit(act); err != nil {
					t.Fatal(err)
				}
			}
			r, err := c.Run(context.Background(), permit, p.stage)
			if !errors.Is(err, approvals.ErrNoPermit) {
				t.Errorf("%s ran with the permit of %s: %+v, %v", tool, name, r, err)
			}
		}
		if got := p.read("made"); got != "(absent)" {
			t.Fatalf("%s acted without a permit: %q", tool, got)
		}
		permit, err := p.permit(c.Action())
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.Run(context.Background(), permit, p.stage); err != nil || r.Failed {
			t.Errorf("%s with its permit: %+v, %v", tool, r, err)
		}
		if tool == "shell" || tool == "apply_patch" {
			p.remove("made")
		}
	}
}

func TestEveryToolRefusesUnknownArguments(t *testing.T) {
	p := newPlace(t, nil)
	for tool, a := range everyCall {
		b := args{"dangerouslyDisableSandbox": true}
		for k, v := range a {
			b[k] = v
		}
		if _, err := p.plan(tool, b); err == nil || !strings.Contains(err.Error(), `there is no argument "dangerouslyDisableSandbox"`) {
			t.Errorf("%s: %v", tool, err)
		}
		if _, err := p.plan(tool, `{"a"`); err == nil || !strings.HasPrefix(err.Error(), tool+": ") || !strings.Contains(err.Error(), "Example: {") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

// The examples in the errors are accepted calls.
func TestExamplesAreGood(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	p.ok("shell", args{"command": "cat", "background": true, "yield_time_ms": 1})
	for tool, example := range map[string]string{"shell": shellExample, "apply_patch": applyPatchExample, "read_file": readFileExample,
		"list_files": listFilesExample, "search": searchExample, "update_plan": updatePlanExample, "ask_user": askUserExample, "fetch_url": fetchURLExample,
		"write_stdin": writeStdinExample, "background": backgroundExample} {
		if _, err := p.plan(tool, example); err != nil {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestUnknownAndDisabledTools(t *testing.T) {
	set := All(Options{Disabled: map[string]bool{"shell": true}})
	for _, s := range set.Specs() {
		if s.Name == "shell" {
			t.Error("a tool that is switched off is offered")
		}
	}
	names := strings.Join(set.Names(), ", ")
	for _, tt := range []struct{ name, want string }{
		{"shell", "the tool shell is switched off in the user's settings; do without it: the tools are " + names},
		{"aply_patch", "there is no tool \"aply_patch\"; the tools are " + names + ". Did you mean apply_patch?"},
		{"list", "Did you mean list_files?"},
		{"", `there is no tool ""`},
		{"x\x1b[31m\n", `there is no tool "x\x1b[31m\n"`},
		{strings.Repeat("x", 100_000), "…; the tools are"},
		{"shel", "there is no tool \"shel\"; the tools are " + names + "."},
	} {
		_, err := set.Plan(model.ToolCall{ID: "1", Name: tt.name, Arguments: "{}"})
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 500 {
			t.Errorf("%s: %v", short.Cut(tt.name, 20), err)
		}
		if tt.name == "shel" && strings.Contains(err.Error(), "Did you mean") {
			t.Errorf("a tool that is switched off is suggested: %v", err)
		}
	}
}

func TestUpdatePlan(t *testing.T) {
	p := newPlace(t, nil)
	r := p.ok("update_plan", args{"explanation": " why ", "plan": []args{
		{"step": " a ", "status": "completed"}, {"step": "b", "status": "in_progress"}, {"step": "c", "status": "pending"}}})
	if r.Explanation != "why" || len(r.Plan) != 3 || r.Plan[0] != (event.PlanStep{Step: "a", Status: word.StepCompleted}) || r.Message != "plan: 1 of 3 steps done" {
		t.Errorf("%+v", r)
	}
	for _, tt := range []struct {
		plan any
		want string
	}{
		{[]args{}, "has 0 steps"},
		{[]args{{"step": "a", "status": "in_progress"}, {"step": "b", "status": "in_progress"}}, "plan[1] is the second step in_progress"},
		{[]args{{"step": "a", "status": "done"}}, `plan[0].status must be one of pending, in_progress, completed, not "done"`},
		{[]args{{"step": " ", "status": "pending"}}, "plan[0].step must have 1 to 1000 characters"},
		{[]args{{"status": "pending"}}, `"plan[0].step" is missing`},
		{"a, b", `"plan" must be a list`},
	} {
		if _, err := p.plan("update_plan", args{"plan": tt.plan}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.plan, err)
		}
	}
}
