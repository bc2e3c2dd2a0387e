package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestQuitLeavesASaneTerminal: SIGQUIT ends the screen like the other signals, with a
// status of its own and no dump of goroutines.
func TestQuitLeavesASaneTerminal(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		srv := serve(t, scripted.Reply{Text: "Hello."})
		cmd := u.codeagent("--model", "test", "say hello")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 30)
		term.WaitFor("Hello.")
		term.Signal(syscall.SIGQUIT)
		err, _ := term.WaitExit().(*exec.ExitError)
		if err == nil || err.ExitCode() != 131 {
			t.Errorf("ended with %v", err)
		}
		if term.AltScreen() || strings.Contains(term.Raw(), "goroutine ") {
			t.Errorf("the terminal is left with %q", term.Raw()[max(len(term.Raw())-500, 0):])
		}
	})
}

// TestADumbTerminalGetsNoScreen: it would show nothing but escape sequences.
func TestADumbTerminalGetsNoScreen(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		cmd := u.codeagent()
		cmd.Env = append(cmd.Env, "TERM=dumb")
		term := golden.Start(t, cmd, 80, 24)
		err, _ := term.WaitExit().(*exec.ExitError)
		if err == nil || err.ExitCode() != 2 || strings.Contains(term.Raw(), "\x1b") || !strings.Contains(term.Raw(), "cannot show a screen") {
			t.Errorf("%v: %q", err, term.Raw())
		}
	})
}
