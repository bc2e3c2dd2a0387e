package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestHookAsks: a call that would have run is asked about because a hook wants that, on the screen and
// with its reason; a yes holds for that call alone. /skills names the hook.
func TestHookAsks(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{shellCall("echo first")}},
			scripted.Reply{Calls: []scripted.Call{shellCall("echo first")}},
			scripted.Reply{Text: "That was it."})
		cmd := u.codeagent("--model", "test", "-c", `hooks.before_tool=[{match="shell", timeout_s=120, command='''echo '{"decision": "ask", "reason": "is that needed?"}' '''}]`, "go on")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 160, 40)
		term.WaitFor("is that needed?")
		if screen := term.Screen(); strings.Contains(screen, "this session") {
			t.Errorf("an answer that lasts is offered:\n%s", screen)
		}
		term.Write("\x191")
		term.WaitFor("allowed once")
		term.WaitFor("Ctrl+Y to answer") // about the second call: the first has its answer
		term.Write("\x19n")
		term.WaitFor("reason (optional)")
		term.Write("\r")
		term.WaitFor("That was it.")
		if got := results(srv); len(got) != 2 || !strings.Contains(got[0], "exit status 0") || !strings.Contains(got[1], "the user said no") {
			t.Errorf("the model read %q", got)
		}
		term.Write("/skills\r")
		term.WaitFor("before_tool shell")
		if _, err := os.Stat(filepath.Join(u.home, ".claude")); err == nil {
			t.Error("codeagent made ~/.claude")
		}
	})
}
