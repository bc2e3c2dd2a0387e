package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestModesOnTheScreen: an answer for all edits covers the next edit but no command. Shift+Tab
// makes the policy wider after a yes, and stricter at once. The next call is judged by the new
// policy.
func TestModesOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		edit := func(name string) scripted.Reply {
			return scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: arguments("patch", "*** Begin Patch\n*** Add File: "+name+"\n+one\n*** End Patch\n")}}}
		}
		outside := filepath.Join(u.home, "outside")
		srv := serve(t,
			edit("a"), edit("b"), scripted.Reply{Calls: []scripted.Call{shellCall("echo x > c")}},
			scripted.Reply{Calls: []scripted.Call{shellCall("echo x > d")}}, scripted.Reply{Text: "First turn over."},
			scripted.Reply{Calls: []scripted.Call{shellCall("echo x > " + outside)}}, scripted.Reply{Text: "Second turn over."})
		cmd := u.codeagent("--model", "test", "--ask-for-approval", "untrusted", "do it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 120, 40)
		term.WaitFor("apply_patch wants to edit")
		term.WaitFor("│  1 + one") // what the edit does, with line numbers
		term.WaitFor("3 this session, all edits in the workspace")
		term.Write("\x193")
		term.WaitFor("wants to run") // b was edited without a question
		term.Write("\x1b[Z")
		term.WaitFor("from untrusted to on-request?")
		term.Write("\x191")
		term.WaitGone("from untrusted to on-request?")
		term.WaitFor("accept edits")
		term.Write("\x191")
		term.WaitFor("First turn over.") // and d was written without a question
		for _, name := range []string{"a", "b", "c", "d"} {
			if _, err := os.Lstat(filepath.Join(u.work, name)); err != nil {
				t.Error(err)
			}
		}
		term.Write("\x1b[Z")
		term.WaitFor("read-only · plan")
		term.Write("\x1b[Z")
		term.WaitFor("workspace-write · ask ")
		term.Write("/permissions never\r")
		term.WaitFor("from untrusted to never?")
		term.Write("\x191")
		term.WaitFor("never ask")
		term.Write("again\r")
		term.WaitFor("Second turn over.")
		if _, err := os.Lstat(outside); err == nil {
			t.Error("a command wrote outside the workspace under never")
		}
		term.WaitGone("Working")
		term.Write("\x04")
		_ = term.WaitExit() // however it ends
	})
}

// TestReadOnlyOnTheScreen: /permissions closes the workspace at once, and opens it again after a
// yes. The next command runs under the new policy, and the model is informed.
func TestReadOnlyOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{shellCall("echo x > a")}}, scripted.Reply{Text: "First turn over."},
			scripted.Reply{Calls: []scripted.Call{shellCall("echo x > b")}}, scripted.Reply{Text: "Second turn over."})
		cmd := u.codeagent("--model", "test", "--ask-for-approval", "never")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 120, 40)
		term.WaitFor("never ask")
		term.Write("/permissions read-only\r")
		term.WaitFor("read-only · never ask")
		term.Write("one\r")
		term.WaitFor("First turn over.")
		if _, err := os.Lstat(filepath.Join(u.work, "a")); err == nil {
			t.Error("a command wrote in the workspace")
		}
		if system := srv.Requests()[0].Instructions; !strings.Contains(system, "(read-only)") {
			t.Errorf("the model is not told: %.400s", system)
		}
		term.Write("/permissions workspace-write\r")
		term.WaitFor("open the sandbox from read-only to workspace-write?")
		term.Write("\x191")
		term.WaitFor("workspace-write · never ask")
		term.Write("two\r")
		term.WaitFor("Second turn over.")
		if _, err := os.Lstat(filepath.Join(u.work, "b")); err != nil {
			t.Error(err)
		}
		term.WaitGone("Working")
		term.Write("\x04")
		_ = term.WaitExit() // however it ends
	})
}

// TestPlanOnTheScreen: after /plan neither an edit nor a command of the model's changes the workspace,
// until the person accepts the plan; then the next call does.
func TestPlanOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		edit := scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: arguments("patch", "*** Begin Patch\n*** Add File: a\n+one\n*** End Patch\n")}}}
		srv := serve(t, edit, scripted.Reply{Calls: []scripted.Call{shellCall("echo x > b")}},
			scripted.Reply{Calls: []scripted.Call{{Name: "update_plan", Arguments: `{"plan":[{"step":"write a","status":"pending"}]}`}}},
			scripted.Reply{Text: "First turn over."}, edit, scripted.Reply{Text: "Second turn over."})
		cmd := u.codeagent("--model", "test")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 80, 24)
		term.WaitFor("accept edits")
		term.Write("/plan add a\r")
		term.WaitFor("accept the plan above and leave plan mode?")
		for _, name := range []string{"a", "b"} {
			if _, err := os.Lstat(filepath.Join(u.work, name)); err == nil {
				t.Error(name, "was made in plan mode")
			}
		}
		term.Write("\x191")
		term.WaitFor("Second turn over.")
		if _, err := os.Lstat(filepath.Join(u.work, "a")); err != nil {
			t.Error(err)
		}
		term.WaitGone("Working")
		term.Write("\x04")
		_ = term.WaitExit() // however it ends
	})
}

// TestPlanByKeyOnTheScreen: Shift+Tab to plan mode; a turn that plans changes nothing; after the person accepts
// the plan the model goes on, now in accept edits: an edit in the folder is not asked about, a write outside is.
func TestPlanByKeyOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		edit := scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: arguments("patch", "*** Begin Patch\n*** Add File: a\n+one\n*** End Patch\n")}}}
		outside := filepath.Join(u.home, "outside")
		srv := serve(t, edit,
			scripted.Reply{Calls: []scripted.Call{{Name: "update_plan", Arguments: `{"plan":[{"step":"write a","status":"pending"}]}`}}},
			scripted.Reply{Text: "This is the plan."},
			edit, scripted.Reply{Calls: []scripted.Call{shellCall("echo x > b; echo x > " + outside)}}, scripted.Reply{Text: "Second turn over."})
		cmd := u.codeagent("--model", "test")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 120, 40)
		term.WaitFor("workspace-write · accept edits")
		term.Write("\x1b[Z")
		term.WaitFor("read-only · plan")
		term.Write("add a\r")
		term.WaitFor("accept the plan above and leave plan mode?")
		if _, err := os.Lstat(filepath.Join(u.work, "a")); err == nil {
			t.Error("a was made in plan mode")
		}
		if got := results(srv); len(got) == 0 || !strings.Contains(got[0], "plan mode: nothing is changed") {
			t.Errorf("the model read %q", got)
		}
		term.Write("\x191")
		term.WaitFor("to write ~/outside") // the edit and b came before it, unasked
		for _, name := range []string{"a", "b"} {
			if _, err := os.Lstat(filepath.Join(u.work, name)); err != nil {
				t.Error(err)
			}
		}
		term.WaitFor("workspace-write · accept edits")
		term.Write("\x19n")
		term.WaitFor("reason (optional)")
		term.Write("\r")
		term.WaitFor("Second turn over.")
		if _, err := os.Lstat(outside); err == nil {
			t.Error("it wrote outside after a no")
		}
		term.WaitGone("Working")
		term.Write("\x04")
		_ = term.WaitExit() // however it ends
	})
}
