//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
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
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		need(t, "git")
		r := u.play(t, "do it", payload...)
		for _, want := range []string{"commands made the repository " + u.work + "/.git", "this session changed "} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("no %q:\n%v", want, r)
			}
		}
		if _, err := os.Lstat(u.home + "/owned"); err == nil {
			t.Error("the payload ran outside")
		}
		u.put(t, map[string]string{"home/.config/codeagent/config.toml": "[sandbox]\nbackend = \"bwrap\"\n"})
		u = u.apart(t)
		if r := u.play(t, "do it", payload[1], payload[3]); !strings.Contains(r.stderr, "commands made the repository "+u.work+"/.git") {
			t.Errorf("a later session in another backend: %v", r)
		}
	})
}

// TestAYesForAScriptOfTheWorkspace: a session answer about running a script outside covers the
// unchanged script. Once the session changes the script, the question comes back and says so.
func TestAYesForAScriptOfTheWorkspace(t *testing.T) {
	t.Parallel()
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
		term.WaitFor("this session changed what the command names: " + u.work + "/deploy.sh")
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

// whileAsked are changes that a background command makes while a question about ./deploy.sh outside
// is open. The script is in the folder sub and reads the file next to it.
var whileAsked = []struct{ name, change string }{
	{"the script rewritten", `printf '#!/bin/sh\necho owned >> $HOME/ran\n' > sub/deploy.sh`},
	{"the script replaced", `printf '#!/bin/sh\necho owned >> $HOME/ran\n' > x && chmod +x x && mv x sub/deploy.sh`},
	{"what the script reads", `echo 'echo owned >> $HOME/ran' > sub/settings`},
	{"the folder replaced by a link", `cp -r sub evil && echo 'echo owned >> $HOME/ran' > evil/settings && mv sub old && ln -s evil sub`},
	{"the folder exchanged", `cp -r sub evil && echo 'echo owned >> $HOME/ran' > evil/settings && mv sub old && mv evil sub`},
	{"a link to what it reads", `echo 'echo owned >> $HOME/ran' > e && rm sub/settings && ln -s ../e sub/settings`},
}

// TestChangedWhileAsked: a yes to run a script outside applies to nothing that a background command
// changed while the question was open. The question comes back and names the change.
func TestChangedWhileAsked(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		for _, row := range machine.Pick(t, "changes", 1, len(whileAsked), whileAsked) {
			t.Run(row.name, func(t *testing.T) {
				if err := os.RemoveAll(u.work + "/go"); err != nil {
					t.Fatal(err)
				}
				prepare := u.asUser("sh", "-ec", `rm -rf sub evil old e x changed $HOME/ran; mkdir sub; printf '#!/bin/sh\necho fine >> $HOME/ran\n. ./settings\n' > sub/deploy.sh; chmod +x sub/deploy.sh; echo : > sub/settings`)
				if out, err := prepare.CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
				job := "echo started; until test -e go; do sleep 0.02; done; " + row.change + "; echo > changed; sleep 600"
				srv := serve(t,
					scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: fmt.Sprintf(`{"command":%q,"background":true,"wait_for":"started","yield_time_ms":60000}`, job)}}},
					scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: `{"command":"./deploy.sh","workdir":"sub","sandbox_permissions":"require_escalated","justification":"only outside can ./deploy.sh do this"}`}}},
					scripted.Reply{Text: "That was it."})
				cmd := u.codeagent("--model", "test", "do it")
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "PATH=/usr/bin:/bin")
				term := golden.Start(t, cmd, 160, 50)
				term.WaitFor("job 1")
				term.WaitFor("outside the sandbox, once")
				if err := u.asUser("touch", "go").Run(); err != nil {
					t.Fatal(err)
				}
				for _, err := os.Lstat(u.work + "/changed"); err != nil; _, err = os.Lstat(u.work + "/changed") {
					time.Sleep(time.Millisecond) // ends with the test
				}
				term.Write("\x191")
				term.WaitFor("(by job 1")
				for !strings.Contains(term.Screen(), "That was it.") { // a folder that is a link now is refused at once
					if strings.Contains(term.Screen(), "Ctrl+Y to answer") {
						term.Write("\x19n")
						term.WaitFor("reason (optional)")
						term.Write("\r")
						term.WaitFor("That was it.")
					}
					time.Sleep(time.Millisecond)
				}
				if data, err := os.ReadFile(u.home + "/ran"); err == nil {
					t.Errorf("it ran: %q", data)
				}
			})
		}
	})
}
