package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/scripted"
)

const projectRules = `
[[command]]
words    = ["npm", "publish"]
decision = "forbid"
reason   = "releases are made by CI"

[[command]]
words    = ["touch"]
decision = "allow"

[[path]]
paths  = ["~/notes"]
access = "write"
`

// TestProjectRules: what a project's file forbids holds, and what it would allow does not. No
// command can change it. If it is broken, the session starts and says so, with line and column.
func TestProjectRules(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		file := filepath.Join(u.work, ".codeagent", "rules.toml")
		write := func(text string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		// The model runs a command; told is its result.
		exec := func(command, arguments string) (r result, told string) {
			t.Helper()
			call := shellCall(command)
			if arguments != "" {
				call.Arguments = arguments
			}
			srv := serve(t, scripted.Reply{Calls: []scripted.Call{call}}, scripted.Reply{Text: "done"})
			cmd := u.codeagent("exec", "--model", "test", "do it")
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			r = run1(t, cmd)
			requests := srv.Requests()
			messages := requests[len(requests)-1].Messages
			return r, messages[len(messages)-1].Text
		}
		write(projectRules)
		if r, told := exec("cd . && env npm publish --tag x", ""); !strings.Contains(told, "releases are made by CI") || strings.Contains(told, "exit status") {
			t.Errorf("%v\n%s", r, told)
		}
		if r, told := exec("echo > "+file+" || mv .codeagent x || mkdir sub/.codeagent || echo refused", ""); !strings.Contains(told, "refused") {
			t.Errorf("%v\n%s", r, told)
		}
		wish := `{"command":"touch ~/notes/x","additional_permissions":{"write":["~/notes"]},"justification":"to write a note"}`
		if r, told := exec("", wish); strings.Contains(told, "exit status 0") {
			t.Errorf("a rule of the project opened a path: %v\n%s", r, told)
		}
		for args, want := range map[string]string{
			"list":                 "not adopted 2: allow write " + u.home + "/notes (project, " + file + ":11)",
			"check -- npm publish": "forbid\n",
			"check -- touch x":     "no rule decides",
		} {
			if r := run1(t, u.codeagent(append([]string{"rules"}, strings.Split(args, " ")...)...)); !strings.Contains(r.stdout, want) {
				t.Errorf("rules %s: want %q: %v", args, want, r)
			}
		}
		write(projectRules + "[[command]]\nwords = 3\n")
		if r, told := exec("echo it runs", ""); !strings.Contains(r.stderr, file+":15:9:") || !strings.Contains(told, "it runs") {
			t.Errorf("%v\n%s", r, told)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(u.home+"/else", file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(u.home+"/else", []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run1(t, u.codeagent("rules", "list")); !strings.Contains(r.stdout, file) || !strings.Contains(r.stdout, "symbolic link") {
			t.Errorf("a link: %v", r)
		}
	})
}
