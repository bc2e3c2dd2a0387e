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
		for _, want := range []string{"commands made the git directory " + u.work + "/.git", "this session changed what it can run or read: "} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("no %q:\n%v", want, r)
			}
		}
		if _, err := os.Lstat(u.home + "/owned"); err == nil {
			t.Error("the payload ran outside")
		}
	})
}

// TestAYesForAScriptOfTheWorkspace: a session answer about running a script outside covers the
// unchanged script. Once the session changes the script, the question comes back and says so.
func TestAYesForAScriptOfTheWorkspace(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{shellCall(`printf '#!/bin/sh\\necho x >> $HOME/ran\\n' > deploy.sh && chmod +x deploy.sh`)}},
			scripted.Reply{Calls: []scripted.Call{outsideCall("./deploy.sh")}},
			scripted.Reply{Calls: []scripted.Call{outsideCall("./deploy.sh")}},
			scripted.Reply{Calls: []scripted.Call{shellCall("echo 'echo y >> $HOME/ran' >> deploy.sh")}},
			scripted.Reply{Calls: []scripted.Call{outsideCall("./deploy.sh")}},
			scripted.Reply{Text: "That was it."})
		cmd := u.codeagent("--model", "test", "do it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "PATH=/usr/bin:/bin")
		term := golden.Start(t, cmd, 160, 50)
		term.WaitFor("this session changed what it can run or read: " + u.work + "/deploy.sh")
		term.Write("\x192")
		term.WaitFor("deploy.sh changed since your yes")
		if data, err := os.ReadFile(u.home + "/ran"); err != nil || string(data) != "x\nx\n" {
			t.Errorf("before the change it ran as %q, %v", data, err)
		}
		term.Write("\x19n")
		term.WaitFor("reason (optional)")
		term.Write("\r")
		term.WaitFor("That was it.")
		if data, _ := os.ReadFile(u.home + "/ran"); string(data) != "x\nx\n" {
			t.Errorf("the changed script ran: %q", data)
		}
	})
}
