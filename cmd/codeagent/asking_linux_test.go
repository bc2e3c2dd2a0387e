package main

import (
	"fmt"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// wishCall asks to write a file outside the workspace.
func wishCall(file, reason string) scripted.Call {
	return scripted.Call{Name: "shell", Arguments: fmt.Sprintf(
		`{"command":"echo x > %[1]s","sandbox_permissions":"with_additional_permissions","additional_permissions":{"write":["%[1]s"]},"justification":"%[2]s"}`, file, reason)}
}

// results returns the results of calls that the model read, in order.
func results(srv *scripted.Server) []string {
	var out []string
	requests := srv.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		if m.CallID != "" {
			out = append(out, m.Text)
		}
	}
	return out
}

// TestAskedOnceAndWithAReason: a request without a valid reason returns to the model before the
// person sees it. After a no, the same request is refused with the person's words until the person
// sends a new message.
func TestAskedOnceAndWithAReason(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		file := u.home + "/report.txt"
		const reason = "the report.txt that you asked for belongs into your home"
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{wishCall(file, "I need this to continue")}},
			scripted.Reply{Calls: []scripted.Call{wishCall(file, reason)}},
			scripted.Reply{Calls: []scripted.Call{wishCall(file, reason)}},
			scripted.Reply{Text: "I give up."},
			scripted.Reply{Calls: []scripted.Call{wishCall(file, reason)}},
			scripted.Reply{Text: "That was it."})
		cmd := u.codeagent("--model", "test", "report")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 160, 40)
		term.WaitFor("the model says:")
		term.Write("\x19n")
		term.WaitFor("reason (optional)")
		term.Write("the work folder will do\r")
		term.WaitFor("I give up.")
		got := results(srv)
		if len(got) != 3 || !strings.Contains(got[0], "the user was not asked") || !strings.Contains(got[1], "the user said no: the work folder will do") ||
			!strings.Contains(got[2], "has said no") || !strings.Contains(got[2], "the work folder will do") {
			t.Fatalf("the model read %q", got)
		}
		for i, advice := range []string{"Make the same call again", "", "Do it differently"} { // for the model alone
			if !strings.Contains(got[i], advice) || advice != "" && strings.Contains(term.Screen(), advice) {
				t.Errorf("%q in %q, and on the screen:\n%s", advice, got[i], term.Screen())
			}
		}
		term.WaitFor("was not asked again")
		term.Write("ask again\r")
		term.WaitFor("the model says:")
		term.Write("\x191")
		term.WaitFor("That was it.")
		if got := results(srv); !strings.Contains(got[3], "exit status 0") {
			t.Errorf("the model read %q", got)
		}
	})
}

// TestRulesOfAModel: a model's settings apply to the tools that it is offered and to its calls.
func TestRulesOfAModel(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		run := func(file string, rules ...string) (*scripted.Server, result) {
			srv := serve(t, scripted.Reply{Calls: []scripted.Call{outsideCall("id -u"), shellCall("echo x > " + file)}}, scripted.Reply{Text: "done"})
			args := []string{"exec", "--model", "small-1b"}
			for _, r := range rules {
				args = append(args, "-c", r)
			}
			cmd := u.codeagent(append(args, "go")...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			return srv, run1(t, cmd)
		}
		offers := func(srv *scripted.Server) bool {
			return strings.Contains(string(srv.Requests()[0].Body), "require_escalated")
		}
		// The default, for comparison. In a run without a person only the tool mentions asking, and the
		// prompt does not.
		srv, _ := run("here")
		if got := results(srv); !offers(srv) || !strings.Contains(got[0], "nobody could be asked") || !strings.Contains(got[1], "exit status 0") {
			t.Errorf("by default: offered %v, read %q", offers(srv), got)
		}
		srv, r := run("there", `models."small-*".may_ask_outside=false`, `models."small-*".sandbox="read-only"`)
		got := results(srv)
		if offers(srv) || !strings.Contains(got[0], "may not ask to run anything outside") || strings.Contains(got[1], "exit status 0") || !strings.Contains(got[1], u.work+"/there") || !strings.Contains(r.stderr, "read-only, approval") || strings.Contains(r.stderr, "--add-file") {
			t.Errorf("offered %v, read %q\n%v", offers(srv), got, r)
		}
		if _, r := run("x", `models."*".sandbox="read-only"`, `sandbox.mode="danger-full-access"`); r.code != 2 || !strings.Contains(r.stderr, "read-only") {
			t.Errorf("read-only without a sandbox: %v", r)
		}
	})
}
