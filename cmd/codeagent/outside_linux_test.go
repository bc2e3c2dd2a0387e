//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

func outsideCall(command string) scripted.Call {
	return scripted.Call{Name: "shell", Arguments: `{"command":"` + command + `","sandbox_permissions":"require_escalated","justification":"only outside can ` + command + ` do this"}`}
}

// payload is a session that plants what the next git outside would run, and a script.
var payload = []scripted.Reply{
	{Calls: []scripted.Call{shellCall(`git init -q . && printf '#!/bin/sh\\ntouch $HOME/owned\\n' > watch && chmod +x watch && git config core.fsmonitor ./watch && cp watch deploy.sh`)}},
	{Calls: []scripted.Call{outsideCall("git status")}},
	{Calls: []scripted.Call{outsideCall("./deploy.sh")}},
	{Text: "That was it."},
}

// TestOutsideQuestionsShowWhatTheSessionMade to a person who reads a log.
func TestOutsideQuestionsShowWhatTheSessionMade(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		need(t, "git")
		r := u.play(t, "do it", payload...)
		for _, want := range []string{"this session made the git directory " + u.work + "/.git", "commands in the sandbox can change " + u.work + "/deploy.sh"} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("no %q:\n%v", want, r)
			}
		}
		if _, err := os.Lstat(u.home + "/owned"); err == nil {
			t.Error("the payload ran outside")
		}
	})
}

// TestNoLastingYesForAScriptOfTheWorkspace: on the screen an answer for the session is not
// accepted, and the question is asked each time.
func TestNoLastingYesForAScriptOfTheWorkspace(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		need(t, "git")
		srv := serve(t, payload...)
		cmd := u.codeagent("--model", "test", "do it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 160, 50)
		term.WaitFor("this session made the git directory")
		term.WaitFor("which commands can") // change: its folder, or one of PATH
		term.Write("\x192")                // no second yes: it is typed
		term.WaitFor("› 2")
		term.Write("\x7f\x19n")
		term.WaitFor("reason (optional)")
		term.Write("\r")
		term.WaitFor("commands in the sandbox can change")
	})
}
