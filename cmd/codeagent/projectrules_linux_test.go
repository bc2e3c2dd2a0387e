package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/sandbox/protect/protecttest"
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

// TestProjectRules: a project's file can forbid but not allow. No command can change it. If it is
// broken, the session starts and reports the fault with line and column.
func TestProjectRules(t *testing.T) {
	t.Parallel()
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
		// The model runs a command. told is the result that it reads.
		run := func(command, arguments string) (r result, told string) {
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
		if r, told := run("cd . && env npm publish --tag x", ""); !strings.Contains(told, "releases are made by CI") || strings.Contains(told, "exit status") {
			t.Errorf("%v\n%s", r, told)
		}
		if r, told := run(protecttest.In("echo > {agent}/rules.toml || mv {agent} x || mkdir sub/{agent} || echo refused"), ""); !strings.Contains(told, "refused") {
			t.Errorf("%v\n%s", r, told)
		}
		wish := `{"command":"touch ~/notes/x","additional_permissions":{"write":["~/notes"]},"justification":"to write a note"}`
		if r, told := run("", wish); strings.Contains(told, "exit status 0") {
			t.Errorf("a rule of the project opened a path: %v\n%s", r, told)
		}
		for args, want := range map[string]string{
			"list":                 ": allow write " + u.home + "/notes (project, " + file + ":11)",
			"check -- npm publish": "forbid\n",
			"check -- touch x":     "no rule decides",
		} {
			if r := run1(t, u.codeagent(append([]string{"rules"}, strings.Split(args, " ")...)...)); !strings.Contains(r.stdout, want) {
				t.Errorf("rules %s: want %q: %v", args, want, r)
			}
		}
		adoptRule(t, u, write, run)
		write(projectRules + "[[command]]\nwords = 3\n")
		if r, told := run("echo it runs", ""); !strings.Contains(r.stderr, file+":15:9:") || !strings.Contains(told, "it runs") {
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

// adoptRule: an adopted rule applies only in its project and as it was adopted, whatever the file
// says later.
func adoptRule(t *testing.T, u user, write func(text string), run func(command, arguments string) (result, string)) {
	t.Helper()
	rulesOf := func(args ...string) result { return run1(t, u.codeagent(append([]string{"rules"}, args...)...)) }
	wish := func(folder string) string {
		return `{"command":"touch ~/` + folder + `/x","additional_permissions":{"write":["~/` + folder + `"]},"justification":"to write a note"}`
	}
	for _, folder := range []string{"notes", "secrets"} {
		if r := run1(t, u.asUser("mkdir", u.home+"/"+folder)); r.code != 0 {
			t.Fatal(r)
		}
	}
	// id is the ID that list shows for a rule of the project.
	id := func(state, rule string) string {
		t.Helper()
		before, _, found := strings.Cut(rulesOf("list").stdout, ": "+rule)
		line := before[strings.LastIndex(before, "\n")+1:]
		id, of := strings.CutPrefix(line, state+" ")
		if !found || !of {
			t.Fatalf("%s is not listed as %s: %v", rule, state, rulesOf("list"))
		}
		return id
	}
	touch := id("not adopted", "allow touch")
	// A rule that changed since it was listed is not adopted, even if its position changed too.
	write(strings.ReplaceAll(projectRules, `["touch"]`, `["touch", "x"]`))
	for _, name := range []string{touch, touch[:4], "1", "2", ""} {
		if r := rulesOf("adopt", name); r.code == 0 || !strings.Contains(r.stderr, "has changed") {
			t.Errorf("adopt %q: %v", name, r)
		}
	}
	write("[[path]]\npaths = [\"~/notes\"]\naccess = \"write\"\n" + projectRules)
	notes := id("not adopted", "allow write "+u.home+"/notes")
	write(projectRules)
	if r := rulesOf("adopt", notes); r.code != 0 || !strings.Contains(r.stdout, u.home+"/notes") {
		t.Errorf("adopt: %v", r)
	}
	if r := rulesOf("adopt", notes); r.code == 0 || !strings.Contains(r.stderr, "adopted already") {
		t.Errorf("adopt again: %v", r)
	}
	if r := rulesOf("list"); !strings.Contains(r.stdout, "\nadopted "+notes+": ") || !strings.Contains(r.stdout, "in "+u.work+" (") {
		t.Errorf("list: %v", r)
	}
	if r, told := run("", wish("notes")); !strings.Contains(told, "exit status 0") {
		t.Errorf("adopted: %v\n%s", r, told)
	}
	write(strings.ReplaceAll(projectRules, "~/notes", "~/secrets"))
	if r, told := run("", wish("secrets")); strings.Contains(told, "exit status 0") {
		t.Errorf("the project's file opened more: %v\n%s", r, told)
	}
	if r, told := run("", wish("notes")); !strings.Contains(told, "exit status 0") {
		t.Errorf("what was adopted is gone: %v\n%s", r, told)
	}
	if r := rulesOf("list"); !strings.Contains(r.stdout, ": allow write "+u.home+"/secrets") || strings.Contains(r.stdout, "\nadopted") {
		t.Errorf("list after the change: %v", r)
	}
	if r := rulesOf("adopt", touch); r.code != 0 {
		t.Errorf("adopt: %v", r)
	}
	if r := rulesOf("check", "--", "touch x"); r.code != 0 {
		t.Errorf("in the project: %v", r)
	}
	if r := rulesOf("--cd", u.out, "check", "--", "touch x"); r.code == 0 {
		t.Errorf("elsewhere: %v", r)
	}
}

// asUser prepares a program that runs as u, outside codeagent.
func (u user) asUser(name string, args ...string) *exec.Cmd {
	cmd := u.codeagent()
	as := exec.Command(name, args...)
	as.Dir, as.Env, as.SysProcAttr = cmd.Dir, cmd.Env, cmd.SysProcAttr
	return as
}
