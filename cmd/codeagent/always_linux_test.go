package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestAlways: after the answer always, neither this process nor the next one asks again. rules.toml
// shows the rule, and keeps what a person writes there.
func TestAlways(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		file := filepath.Join(u.home, ".config/codeagent/rules.toml")
		appendTo := func(name string) scripted.Reply {
			return scripted.Reply{Calls: []scripted.Call{shellCall("echo x >> " + filepath.Join(u.home, name))}}
		}
		start := func(replies ...scripted.Reply) *golden.Terminal {
			srv := serve(t, append(replies, scripted.Reply{Text: "That was it."})...)
			cmd := u.codeagent("--model", "test", "run it")
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			return golden.Start(t, cmd, 160, 40)
		}
		quit := func(term *golden.Terminal) {
			term.WaitFor("That was it.")
			term.WaitGone("Working")
			term.Write("\x04")
			_ = term.WaitExit() // however it ends
		}
		always := func(term *golden.Terminal, name string) {
			t.Helper()
			term.WaitFor("wants to write ~/" + name)
			var key string
			term.WaitUntil("the answer always", func(screen string) bool {
				m := regexp.MustCompile(`\[?(\d)\]? always`).FindStringSubmatch(screen)
				if m != nil {
					key = m[1]
				}
				return m != nil
			})
			term.Write("\x19" + key)
			term.WaitFor("From now on commands and edits may read and write ~/" + name + ", in the project ")
			term.WaitFor("until you remove the rule.")
			if strings.Contains(term.Raw(), "paths = ") {
				t.Error("the text of the rule is shown before it is wanted")
			}
			term.Write("\x0f")
			term.WaitFor("paths = ['" + filepath.Join(u.home, name) + "']")
			term.WaitFor("Enter saves")
			term.Write("\r")
		}
		saved := func(wants ...string) {
			t.Helper()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range wants {
				if !strings.Contains(string(data), want) {
					t.Errorf("no %q in\n%s", want, data)
				}
			}
		}

		term := start(appendTo("a"), appendTo("a"))
		always(term, "a")
		quit(term)
		saved("[[path]]\n", "paths = ['"+u.home+"/a']", "project = '"+u.work+"'")

		// The next answer keeps what a person writes by hand.
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("# mine\n"+string(data)+"# the last line, without an end"), 0o600); err != nil {
			t.Fatal(err)
		}
		term = start(appendTo("a"), appendTo("b"))
		always(term, "b")
		quit(term)
		if strings.Contains(term.Raw(), "wants to write ~/a") {
			t.Error("the next process asked again")
		}
		saved("# mine\n", "# the last line, without an end\n", "paths = ['"+u.home+"/a']", "paths = ['"+u.home+"/b']")
		for name, want := range map[string]string{"a": "x\nx\nx\n", "b": "x\n"} {
			if data, err := os.ReadFile(filepath.Join(u.home, name)); err != nil || string(data) != want {
				t.Errorf("%s holds %q, %v", name, data, err)
			}
		}
		if r := run1(t, u.codeagent("rules", "list")); r.code != 0 || !strings.Contains(r.stdout, "allow write "+u.home+"/a in "+u.work) {
			t.Errorf("rules list: %v", r)
		}

		// In another project the rule has no effect.
		srv := serve(t, appendTo("a"), scripted.Reply{Text: "That was it."})
		cmd := u.codeagent("exec", "--model", "test", "--cd", u.out, "run it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		run1(t, cmd)
		if data, err := os.ReadFile(filepath.Join(u.home, "a")); err != nil || string(data) != "x\nx\nx\n" {
			t.Errorf("in another project: a holds %q, %v", data, err)
		}

		if err := os.WriteFile(file, []byte("# mine\n[[path]]\npaths = ['"+u.home+"/a']\n  accces = 'write'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"rules", "list"}, {"exec", "--model", "test", "run it"}} {
			cmd := u.codeagent(args...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			if r := run1(t, cmd); r.code == 0 || !strings.Contains(r.stderr, file+":4:3: unknown key") {
				t.Errorf("%q with a broken rule: %v", args, r)
			}
		}
	})
}

// TestAlwaysForACommand: under untrusted the rule is for exactly the command.
func TestAlwaysForACommand(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	for i, asks := range []bool{true, false} {
		srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("touch made")}}, scripted.Reply{Calls: []scripted.Call{shellCall("touch made other")}}, scripted.Reply{Text: "That was it."})
		cmd := u.codeagent("--model", "test", "--ask-for-approval", "untrusted", "run it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 160, 40)
		if asks {
			term.WaitFor("touch wants to run")
			term.Write("\x193")
			term.WaitFor(`From now on the command "touch made", with no further words, may run in the sandbox without a question`)
			term.Write("\x0f")
			term.WaitFor("words = ['touch', 'made']")
			term.WaitFor("exact = true")
			term.WaitFor("Enter saves")
			term.Write("\r")
		}
		term.WaitFor("touch made other")
		term.WaitFor("touch wants to run")
		term.Write("\x19n")
		term.WaitFor("no, because:")
		term.Write("\r")
		term.WaitFor("That was it.")
		if _, err := os.Lstat(filepath.Join(u.work, "made")); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		if err := os.Remove(filepath.Join(u.work, "made")); err != nil {
			t.Fatal(err)
		}
		term.WaitGone("Working")
		term.Write("\x04")
		_ = term.WaitExit() // however it ends
	}
	if r := run1(t, u.codeagent("rules", "check", "touch made && cd sub")); r.code != 0 || !strings.HasPrefix(r.stdout, "allow\n") {
		t.Errorf("rules check: %v", r)
	}
}

// TestAlwaysIntoABrokenFile: if the file was broken by hand meanwhile, it stays unchanged. The
// person reads the reason, and the yes counts for the session.
func TestAlwaysIntoABrokenFile(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	file := filepath.Join(u.home, ".config/codeagent/rules.toml")
	a := scripted.Reply{Calls: []scripted.Call{shellCall("echo x >> " + filepath.Join(u.home, "a"))}}
	srv := serve(t, a, a, scripted.Reply{Text: "That was it."})
	cmd := u.codeagent("--model", "test", "run it")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 200, 40)
	term.WaitFor("always in this project")
	const broken = "# mine\n[[path]\n"
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	term.Write("\x193")
	term.WaitFor("Enter saves")
	term.Write("\r")
	term.WaitFor("for this session")
	term.WaitFor("the rule could not be saved: " + file + ":2:")
	term.WaitFor("That was it.")
	if data, err := os.ReadFile(file); err != nil || string(data) != broken {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(u.home, "a")); err != nil || string(data) != "x\nx\n" {
		t.Errorf("a holds %q, %v", data, err)
	}
}
