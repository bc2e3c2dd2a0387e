package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// TestTheTerminalRunsNothing: inside tmux, with a workspace's folder in PATH, no library of the
// screen executes the tmux that a command put there, and none waits for a FIFO in TERMINFO.
// A shell in the same place runs the program and waits.
func TestTheTerminalRunsNothing(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		planted := filepath.Join(u.work, ".venv", "bin")
		mark := filepath.Join(u.work, "ran")
		described := filepath.Join(u.work, "terminfo", "t")
		prepare := u.codeagent()
		prepare.Path, prepare.Args = "/bin/sh", []string{"sh", "-c", fmt.Sprintf(
			"mkdir -p %[1]s %[3]s && printf '#!/bin/sh\\necho \"$@\" >>%[2]s\\n' >%[1]s/tmux && chmod +x %[1]s/tmux && mkfifo %[3]s/tmux-256color && PATH=%[1]s:$PATH tmux info && cat %[2]s",
			planted, mark, described)}
		if out, err := prepare.CombinedOutput(); err != nil || string(out) != "info\n" {
			t.Fatalf("the planted program does not run bare: %v %s", err, out)
		}
		if err := os.Remove(mark); err != nil {
			t.Fatal(err)
		}
		srv := serve(t, scripted.Reply{Text: "Hello."})
		for _, args := range [][]string{{"version"}, {"--model", "test", "say hello"}} {
			cmd := u.codeagent(args...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "PATH="+planted+":"+os.Getenv("PATH"), "TERM=tmux-256color", "TMUX=/tmp/tmux-0/default,1,0",
				"TTY_FORCE=1", "TERMINFO="+filepath.Dir(described), "TERMINFO_DIRS="+filepath.Dir(described))
			term := golden.Start(t, cmd, 100, 30)
			if args[0] == "version" {
				if err := term.WaitExit(); err != nil {
					t.Errorf("version: %v %s", err, term.Raw())
				}
			} else {
				term.WaitFor("Hello.")
				term.Signal(syscall.SIGTERM)
				term.WaitExit()
			}
			if said, err := os.ReadFile(mark); err == nil {
				t.Errorf("%s executed the planted tmux: %s", args[0], said)
				_ = os.Remove(mark)
			}
		}
	})
}
