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
	t.Parallel()
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

// TestLines: on a terminal that cannot move its cursor, and by the setting for screen readers, the
// session is written in lines: no byte of it controls the terminal. Messages, answers, choices and
// Ctrl+C are typed.
func TestLines(t *testing.T) {
	t.Parallel()
	for _, how := range [][2]string{{"TERM=dumb", "tui.vim=false"}, {"TERM=xterm-256color", "tui.screen_reader=true"}} {
		u := newUser(t, "self", -1)
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{shellCall("for f in a; do echo x > $HOME/$f && echo wrote $f || echo no $f; done; seq 40")}},
			scripted.Reply{Text: "Hello, **world**."},
			scripted.Reply{Calls: []scripted.Call{shellCall("sleep 1000")}},
			scripted.Reply{Text: "Again."})
		cmd := u.codeagent("--model", "test", "-c", how[1], "run it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, how[0])
		term := golden.Start(t, cmd, 80, 200)
		term.WaitFor("question: ")
		term.WaitFor("wants to write ~/a")
		term.WaitFor("Answer with one of these")
		term.Write("maybe\n")
		term.WaitFor("The question still waits")
		term.Write("n\n")
		term.WaitFor("reason (optional)")
		term.Write("one will do\n")
		term.WaitFor("denied while it ran: write ~/a")
		term.WaitFor("Hello, world.")
		term.Write("/more\n")
		term.WaitFor("\n  1\n  2\n")
		term.Write("/resume\n")
		term.WaitFor("1: run it")
		term.WaitFor("(in use)")
		term.Write("\n/status\n")
		term.WaitFor("enforced by")
		term.Write("again\n")
		term.WaitFor("running: $ sleep 1000")
		term.Write("\x03")
		term.WaitFor("stopped: $ sleep 1000")
		term.WaitFor("Interrupted")
		term.Write("/quit\n")
		if err := term.WaitExit(); err != nil {
			t.Error(err)
		}
		if raw := term.Raw(); strings.Contains(raw, "\x1b") || !strings.Contains(raw, "  codeagent resume ") {
			t.Errorf("%s, %s: %q", how[0], how[1], raw)
		}
		if _, err := os.Lstat(u.home + "/a"); err == nil {
			t.Error("a was written")
		}
	}
}

// TestTheTerminalRunsNothing: inside tmux, with a workspace's folder in PATH, no library of the
// screen executes the tmux that a command put there, and none waits for a FIFO in TERMINFO.
// A shell in the same place runs the program and waits.
func TestTheTerminalRunsNothing(t *testing.T) {
	t.Parallel()
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
