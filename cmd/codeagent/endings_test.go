package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// endless serves a model that runs one command and then says it is done.
func endless(t *testing.T, command string) *scripted.Server {
	t.Helper()
	srv, err := scripted.Start(context.Background(), scripted.Steps(
		scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, command)}}},
		scripted.Reply{Text: "that was interrupted"},
	))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

// marked returns a command that leaves processes of every kind behind, all
// recognisable by a sleep of n seconds.
func marked(n int) string {
	return fmt.Sprintf(`setsid sleep %d & (setsid sh -c 'sleep %d & exec sleep %d' &) ; sleep %d & echo started; wait`, n, n, n, n)
}

// sleepers lists the processes that marked(n) started.
func sleepers(n int) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil && string(data) == "sleep\x00"+strconv.Itoa(n)+"\x00" {
			pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
			out = append(out, pid)
		}
	}
	return out
}

// eventually waits for something that happens in other processes. Only a broken program
// reaches the deadline.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // there is no event for another program's children
	}
}

// TestEscKillsTheCommandAndItsDetachedChildren: on a real terminal.
func TestEscKillsTheCommandAndItsDetachedChildren(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		n := 400000 + os.Getpid() + u.uid
		srv := endless(t, marked(n))
		cmd := u.codeagent("--model", "test", "run it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 30)
		eventually(t, "four sleeping processes", func() bool { return len(sleepers(n)) == 4 })
		term.Write("\x1b")
		eventually(t, "all of them are gone", func() bool { return len(sleepers(n)) == 0 })
		term.WaitFor("nterrupted")
		term.Write(leave)
	})
}

// TestSignalsEndTheRun: SIGINT, SIGTERM and SIGHUP end codeagent with their statuses, and
// after SIGKILL of codeagent its commands end as well.
func TestSignalsEndTheRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, cli.ExitInterrupt}, {syscall.SIGTERM, cli.ExitTerminate}, {syscall.SIGHUP, cli.ExitHangup}, {syscall.SIGKILL, -1}}
	eachUser(t, func(t *testing.T, u user) {
		for i, tt := range tests {
			t.Run(tt.signal.String(), func(t *testing.T) {
				n := 500000 + 10*(os.Getpid()+u.uid) + i
				srv := endless(t, marked(n))
				cmd := u.codeagent("exec", "--json", "--model", "test", "run it")
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
				var out strings.Builder
				cmd.Stdout = &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				eventually(t, "four sleeping processes", func() bool { return len(sleepers(n)) == 4 })
				if err := cmd.Process.Signal(tt.signal); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				checkLines(t, cmd, out.String())
				if got := cmd.ProcessState.ExitCode(); got != tt.code {
					t.Errorf("exit status %d, want %d", got, tt.code)
				}
				eventually(t, "all of them are gone", func() bool { return len(sleepers(n)) == 0 })
				if tt.signal != syscall.SIGKILL && !strings.Contains(out.String(), `"type":"turn.failed"`) {
					t.Errorf("no terminal event in the JSON: %s", out.String())
				}
			})
		}
	})
}

// TestNohup: a run under nohup outlives its terminal.
func TestNohup(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		n := 500005 + 10*(os.Getpid()+u.uid)
		srv := endless(t, marked(n))
		cmd := u.codeagent("exec", "--model", "test", "run it")
		cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "four sleeping processes", func() bool { return len(sleepers(n)) == 4 })
		for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != cli.ExitTerminate {
			t.Errorf("exit status %d, want %d", got, cli.ExitTerminate)
		}
		eventually(t, "all of them are gone", func() bool { return len(sleepers(n)) == 0 })
	})
}

// TestNewFileOutsideIsAskedForAndMade: an edit that adds a file outside the
// write roots is a question that shows the change, and a yes makes exactly it.
func TestNewFileOutsideIsAskedForAndMade(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		file := u.home + "/notes.txt"
		patch := "*** Begin Patch\n*** Add File: " + file + "\n+one line\n*** End Patch\n"
		srv := serve(t,
			scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: fmt.Sprintf(`{"patch":%q,"justification":"you asked for notes"}`, patch)}}},
			scripted.Reply{Text: "the notes are there"},
		)
		cmd := u.codeagent("--model", "test", "take notes")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 30)
		term.WaitFor("you asked for notes")
		term.WaitFor("+ one line")
		if screen := term.Screen(); strings.Contains(screen, "$ ***") {
			t.Errorf("the question does not show the change:\n%s", screen)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Error("the file is there before the answer")
		}
		term.Write("\x19") // Ctrl+Y
		term.Write("1")
		term.WaitFor("the notes are there")
		if data, err := os.ReadFile(file); err != nil || string(data) != "one line\n" {
			t.Errorf("%q %v", data, err)
		}
		if entries, err := os.ReadDir(u.home); err != nil || len(entries) > 4 { // .cache, .config, .local, notes.txt
			t.Errorf("more was made: %v %v", entries, err)
		}
	})
}
