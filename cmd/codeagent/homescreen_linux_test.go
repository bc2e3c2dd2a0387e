package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// In the home folder codeagent asks where to work: here without writing, or elsewhere.
func TestInTheHomeFolder(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*golden.Terminal, user) {
		u := newUser(t, "self", -1)
		if err := os.Mkdir(filepath.Join(u.home, "project"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := u.codeagent("--model", "test")
		cmd.Dir = u.home
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+serve(t, scripted.Reply{Text: "hello"}).URL, "OPENAI_API_KEY=test-key-value")
		term := golden.Start(t, cmd, 100, 30)
		term.WaitFor("Where should codeagent work?")
		term.WaitFor("is your home folder")
		return term, u
	}
	t.Run("read-only", func(t *testing.T) {
		term, _ := begin(t)
		term.Write("\r")
		term.WaitFor("Ask codeagent")
		term.WaitFor("read-only · ")
		term.WaitFor("codeagent  ~")
	})
	t.Run("another folder", func(t *testing.T) {
		term, _ := begin(t)
		term.Write("\x1b[B\r")
		term.WaitFor("folder ~/")
		term.Write("nowhere\r")
		term.WaitFor("nowhere")
		term.WaitFor("Here, read-only")
		term.Write("\x1b[B\r")
		term.WaitFor("folder ~/")
		term.Write("project\r")
		term.WaitFor("codeagent  ~/project")
		term.WaitFor("workspace-write")
	})
	t.Run("none", func(t *testing.T) {
		term, _ := begin(t)
		term.Write("\x1b")
		var ended *exec.ExitError
		if err := term.WaitExit(); !errors.As(err, &ended) || ended.ExitCode() != 2 {
			t.Errorf("it ended with %v", err)
		}
		term.WaitFor("Work in a project's folder")
	})
}
