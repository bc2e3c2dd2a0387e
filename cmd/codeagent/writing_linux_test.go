package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// TestWritingOnTheScreen: ! runs a command in the sandbox and the model gets its report with
// the next message, @ names a file that .gitignore does not hide, Ctrl+G opens the editor,
// the next run recalls what was sent, where an ephemeral one keeps nothing; the commands of
// the person and of the project are sent, and a session is exported, forked and left for a new one.
func TestWritingOnTheScreen(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var said []string // by the person and about what they did, in the last request
	srv := answering(t, func(r scripted.Request) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		said = nil
		for _, m := range r.Messages {
			said = append(said, m.Text)
		}
		return scripted.Reply{Text: "I see."}
	})
	u := newUser(t, "self", -1)
	outside := filepath.Join(u.home, "outside.txt")
	editor := filepath.Join(u.home, "editor.sh")
	for name, data := range map[string]string{
		u.work + "/.gitignore": "*.log\n", u.work + "/needle.log": "", u.work + "/src/needle.go": "",
		u.home + "/.config/codeagent/commands/fix.md": "---\ndescription: fix an issue\n---\nFix issue $1.\n", u.work + "/.codeagent/commands/ship.md": "Ship it.\n",
		editor: "#!/bin/sh\nprintf ' and edited' >>\"$1\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := machine.WriteProgram(name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	start := func(args ...string) *golden.Terminal {
		cmd := u.codeagent(append([]string{"--model", "first", "--ask-for-approval", "never"}, args...)...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "EDITOR="+editor)
		term := golden.Start(t, cmd, 100, 30)
		term.WaitFor("Ask codeagent")
		return term
	}
	quit := func(term *golden.Terminal) {
		term.Write("/quit\r")
		if err := term.WaitExit(); err != nil {
			t.Error(err)
		}
	}
	term := start()
	term.Write("!echo here; echo x > " + outside + "\r")
	term.WaitFor("exit 1 ·")
	term.WaitGone("Running")
	if _, err := os.Lstat(outside); err == nil {
		t.Error("the command wrote outside the workspace")
	}
	term.Write("see @needl")
	term.WaitFor("› src/needle.go")
	if strings.Contains(term.Screen(), "needle.log") {
		t.Error("a file that .gitignore names is offered")
	}
	term.Write("\t")
	term.WaitFor("see @src/needle.go")
	term.Write("\x07") // Ctrl+G
	term.WaitFor("see @src/needle.go  and edited")
	term.Write("\r")
	term.WaitFor("I see.")
	mu.Lock()
	all := strings.Join(said, "\n")
	mu.Unlock()
	for _, want := range []string{"The user ran this command", "$ echo here; echo x > " + outside, "\n| here\n", "see @src/needle.go  and edited"} {
		if !strings.Contains(all, want) {
			t.Errorf("the model was sent %q, without %q", all, want)
		}
	}
	quit(term)
	_, first, _ := strings.Cut(term.Screen(), "codeagent resume ")
	first, _, _ = strings.Cut(first, "\n")

	term = start("--ephemeral")
	term.Write("\x1b[A")
	term.Write("a secret\r")
	term.WaitFor("I see.")
	quit(term)

	term = start()
	term.Write("\x1b[A")
	term.WaitFor("› see @src/needle.go  and edited")
	term.Write("\x15\x12edit")
	term.WaitFor("Earlier messages")
	term.Write("\r")
	term.WaitFor("› see @src/needle.go  and edited")
	term.Write("\x15/")
	term.WaitFor("/help")
	term.Write("ship")
	term.WaitFor("project: Ship it.")
	term.Write("\x15/fix 12\r")
	term.WaitFor("I see.")
	term.WaitFor("┃ /fix 12")
	term.Write("/export page.md\r")
	term.WaitFor("this session is written to")
	if data, err := os.ReadFile(u.work + "/page.md"); err != nil || !strings.Contains(string(data), "Fix issue 12.") {
		t.Errorf("the page holds %q, %v", data, err)
	}
	term.Write("/export page.md\r")
	term.WaitFor("exists; name another file")
	term.Write("/fork\r")
	term.WaitFor("forked session")
	term.WaitFor("┃ /fix 12")
	term.Write("/rename A title\r")
	term.WaitFor("called “A title”")
	term.Write("/new\r")
	term.WaitGone("┃ /fix 12")
	term.WaitFor("Ask codeagent")
	quit(term)
	cmd := u.codeagent("--model", "first", "resume", strings.TrimSpace(first))
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term = golden.Start(t, cmd, 100, 30)
	term.WaitFor("resumed session")
	term.WaitFor("$ echo here; echo x >")
	quit(term)
	files, err := filepath.Glob(u.home + "/.local/state/codeagent/history/*")
	if err != nil || len(files) != 1 {
		t.Fatalf("history files %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(data), "a secret") || !strings.Contains(string(data), "!echo here") {
		t.Errorf("the history holds %q, %v", data, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(u.home + "/.local/state/codeagent/edit-*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
