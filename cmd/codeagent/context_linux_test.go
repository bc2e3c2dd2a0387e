package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestContext: the first screen names the instructions and the model; /context counts what is sent.
func TestContext(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	project := filepath.Join(u.home, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "AGENTS.md"), []byte(strings.Repeat("Write short sentences.\n", 700)), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := u.codeagent("--model", "test")
	cmd.Dir = project
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+serve(t, scripted.Reply{Text: "an answer"}).URL, "OPENAI_API_KEY=test-key-value")
	term := golden.Start(t, cmd, 100, 30)
	for _, text := range []string{"codeagent  ~/project", "/model changes it", "writes here, no network", "none in this folder yet", "AGENTS.md"} {
		term.WaitFor(text)
	}
	term.Write("hello\r")
	term.WaitFor("an answer")
	term.WaitFor("ctx ")
	term.Write("/context\r")
	term.WaitUntil("the shares", func(s string) bool {
		for line := range strings.SplitSeq(s, "\n") {
			if name, rest, ok := strings.Cut(line, "instructions"); ok && strings.TrimSpace(name) == "" {
				return strings.Contains(rest, "k ") && strings.Contains(s, "a limit that is assumed") && strings.Contains(s, "files and results")
			}
		}
		return false
	})
	term.Write("\x1b")
	term.WaitGone("files and results")
	term.Write("/quit\r")
	if err := term.WaitExit(); err != nil {
		t.Error(err)
	}
}

// TestContextAfterResume: what the provider's list said of the context is known before the first answer, and the list
// is not asked for it again.
func TestContextAfterResume(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	srv := serve(t, scripted.Reply{Text: "an answer"}, scripted.Reply{Text: "another"})
	srv.List(`{"object":"list","data":[{"id":"test","object":"model","context_length":40960}]}`)
	start := func(args ...string) *golden.Terminal {
		cmd := u.codeagent(args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "OPENAI_API_KEY=test-key-value")
		return golden.Start(t, cmd, 100, 30)
	}
	quit := func(term *golden.Terminal) {
		t.Helper()
		term.Write("/quit\r")
		if err := term.WaitExit(); err != nil {
			t.Error(err)
		}
	}
	term := start("--model", "test")
	term.WaitFor("Ask codeagent")
	term.Write("hello\r")
	term.WaitFor("/40k")
	quit(term)
	srv.List(`{"object":"list","data":[]}`)
	term = start("resume", "--last")
	term.WaitFor("an answer")
	term.Write("/status\r")
	term.WaitFor("of 40k tokens")
	term.Write("\x1b")
	term.WaitGone("of 40k tokens")
	term.Write("/context\r")
	term.WaitFor("of 40k")
	if s := term.Screen(); strings.Contains(s, "assumed") {
		t.Error(s)
	}
	term.Write("\x1b")
	term.WaitGone("system text")
	quit(term)
	term = start("resume", "--last", "--model", "other")
	term.WaitFor("an answer")
	term.Write("/status\r")
	term.WaitFor("an assumed 128k")
	term.Write("\x1b")
	term.WaitGone("an assumed 128k")
	quit(term)
}
