package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestMemory: a line of the person's gets into the instructions that stand, the next request has it, and /undo
// takes it out again; one of their own file is kept.
func TestMemory(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	project := filepath.Join(u.home, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	of, own := filepath.Join(project, "CLAUDE.md"), u.home+"/.config/codeagent/AGENTS.md"
	if err := os.WriteFile(of, []byte("Write short sentences."), 0o640); err != nil {
		t.Fatal(err)
	}
	cmd := u.codeagent("--model", "test")
	cmd.Dir = project
	server := serve(t, scripted.Reply{Text: "an answer"}, scripted.Reply{Text: "a second"})
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=test-key-value")
	term := golden.Start(t, cmd, 100, 30)
	term.WaitFor("CLAUDE.md")
	term.Write("hello\r")
	term.WaitFor("an answer")
	term.Write("/memory never guess\r")
	term.WaitFor("this project")
	for _, text := range []string{"Add a line to", "yours, in every project, new", "The line: never guess"} {
		term.WaitFor(text)
	}
	term.Write("\x1b[B\r")
	term.WaitFor("added to CLAUDE.md: your next message is answered with it; /undo takes it back")
	if got, _ := os.ReadFile(of); string(got) != "Write short sentences.\n- never guess\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(of); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	term.Write("go on\r")
	term.WaitFor("a second")
	term.WaitGone(working)
	requests := server.Requests()
	if last := requests[len(requests)-1]; !strings.Contains(last.Instructions, "- never guess") || strings.Contains(requests[0].Instructions, "never guess") {
		t.Errorf("the request has not what was added:\n%s", last.Instructions)
	}
	term.Write("/undo\r")
	term.WaitFor("Enter undoes these changes")
	term.WaitFor("never guess")
	term.Write("\r")
	term.WaitFor("undone: 1 file")
	if got, _ := os.ReadFile(of); string(got) != "Write short sentences." {
		t.Errorf("after /undo: %q", got)
	}
	term.Write("/memory\r")
	term.WaitFor("yours, in every project, new")
	term.Write("\ralways test\r")
	term.WaitFor("added to ~/.config/codeagent/AGENTS.md: your next message is answered with it")
	if got, _ := os.ReadFile(own); string(got) != "- always test\n" {
		t.Errorf("%q", got)
	}
	// A link that stands in the place of a file, such as one of a command, leads nowhere else.
	if err := os.Remove(of); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(u.home, ".profile"), of); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.home, ".profile"), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	term.Write("/memory rm -rf\r")
	term.WaitFor("The line: rm -rf")
	term.Write("\x1b[B\r")
	term.WaitFor("CLAUDE.md: ")
	if got, _ := os.ReadFile(filepath.Join(u.home, ".profile")); string(got) != "x\n" {
		t.Errorf("%q", got)
	}
	term.Write("/quit\r")
	if err := term.WaitExit(); err != nil {
		t.Error(err)
	}
}
