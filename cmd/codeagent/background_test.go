package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// call is one call of a tool with arguments as JSON.
func call(tool, format string, a ...any) scripted.Reply {
	return scripted.Reply{Calls: []scripted.Call{{Name: tool, Arguments: fmt.Sprintf(format, a...)}}}
}

// TestBackgroundConversation: a command is started, typed to and read, and its end is reported
// by a note, whatever the model does meanwhile.
func TestBackgroundConversation(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		var mu sync.Mutex
		var said []string // the results and notes, in order
		srv, err := scripted.Start(context.Background(), func(r scripted.Request) scripted.Reply {
			last := r.Messages[len(r.Messages)-1]
			mu.Lock()
			defer mu.Unlock()
			said = append(said, last.Text)
			switch {
			case r.N == 0:
				return call("shell", `{"command":"test -t 0 && stty -echo; echo ready; read -r x; echo got $x; read -r x <go; exit 3","background":true,"tty":true,"wait_for":"ready","yield_time_ms":60000}`)
			case r.N == 1:
				return call("write_stdin", `{"session_id":1,"chars":"hello\n","wait_for":"got hello","yield_time_ms":60000}`)
			case r.N == 2:
				return call("shell", `{"command":"mkfifo go 2>/dev/null; echo >go"}`)
			case !strings.Contains(last.Text, "[job 1"):
				return call("shell", `{"command":"sleep 0.1 # the end comes when it comes"}`)
			}
			return scripted.Reply{Text: "over"}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		if err := syscall.Mkfifo(u.work+"/go", 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(u.work+"/go", 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := u.codeagent("exec", "--model", "test", "talk to it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		r := run1(t, cmd)
		all := strings.Join(said, "\n---\n")
		if r.code != 0 || !strings.Contains(r.stdout, "over") {
			t.Fatalf("%v\n%s", r, all)
		}
		for _, want := range []string{"running in the background as job 1 (session_id 1)\noutput so far:\nready", "new output:\ngot hello", "[job 1 (test -t 0 && ", "ended: exit status 3]"} {
			if !strings.Contains(all, want) {
				t.Errorf("the model was not told %q:\n%s", want, all)
			}
		}
		if strings.Contains(r.stderr, "ended with codeagent") {
			t.Errorf("something was left to be ended: %s", r.stderr)
		}
	})
}

// TestBackgroundTellsWhatWasRefused: while a background command runs, when it has ended
// unread and when it ends with codeagent, the model, the log and the JSON report its output
// and its denials.
func TestBackgroundTellsWhatWasRefused(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		one, two := u.out+"/one", u.out+"/two"
		var mu sync.Mutex
		var said []string
		srv, err := scripted.Start(context.Background(), func(r scripted.Request) scripted.Reply {
			last := r.Messages[len(r.Messages)-1]
			mu.Lock()
			defer mu.Unlock()
			said = append(said, last.Text)
			switch {
			case r.N == 0:
				return call("shell", `{"command":%q,"background":true,"wait_for":"started","yield_time_ms":60000}`,
					"echo x >"+one+"; echo started; read x <go; echo x >"+two+"; echo gone; exit 3")
			case r.N == 1:
				return call("shell", `{"command":"echo up; read x <never","background":true,"wait_for":"up","yield_time_ms":60000}`)
			case r.N == 2:
				return call("shell", `{"command":"echo >go"}`)
			case !strings.Contains(last.Text, "[job 1"):
				return call("shell", `{"command":"sleep 0.1 # the end comes when it comes"}`)
			}
			return scripted.Reply{Text: "over"}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		for _, fifo := range []string{u.work + "/go", u.work + "/never"} {
			if err := errors.Join(syscall.Mkfifo(fifo, 0o666), os.Chmod(fifo, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := u.codeagent("exec", "--json", "--model", "test", "serve")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		r := run1(t, cmd)
		all := strings.Join(said, "\n---\n")
		for _, want := range []string{"[sandbox] Refused since it was last read, while it runs:\n- write " + one, "exit status 3]\nThe last of its unread output:\n| ", "\n| gone\n", "- write " + two} {
			if !strings.Contains(all, want) {
				t.Errorf("the model was not told %q:\n%s", want, all)
			}
		}
		for _, want := range []string{"⊘ write " + one, "⊘ write " + two, "ended with codeagent: job 2 in "} {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("stderr does not say %q: %v", want, r)
			}
		}
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		for what, pieces := range map[string][]string{
			"the start":              {`"session":1,"running":true`, `"target":"` + one + `"`, `started\n`},
			"the end":                {`"session":1,"running":false`, `"target":"` + two + `"`, `"aggregated_output":"`, `"exit_code":3`},
			"the end with codeagent": {`"session":2,"running":false`, `"message":"ended with codeagent`},
		} {
			if !slices.ContainsFunc(lines, func(l string) bool {
				return !slices.ContainsFunc(pieces, func(p string) bool { return !strings.Contains(l, p) })
			}) {
				t.Errorf("no line tells %s, %q:\n%s", what, pieces, r.stdout)
			}
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, `"type":"turn.completed"`) {
			t.Errorf("the last line is %s", last)
		}
	})
}

// TestBackgroundEndsWithCodeagent: however codeagent ends, no background process is left, on
// pipes and on terminals, detached or not.
func TestBackgroundEndsWithCodeagent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		signal syscall.Signal // 0: it ends by itself
		code   int
	}{{"done", 0, 0}, {"SIGTERM", syscall.SIGTERM, cli.ExitTerminate}, {"SIGKILL", syscall.SIGKILL, -1}}
	eachUser(t, func(t *testing.T, u user) {
		for i, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				n := 600000 + 10*(os.Getpid()+u.uid) + i
				go1 := make(chan struct{})
				start := `{"command":%q,"background":true,"tty":%t,"wait_for":"started","yield_time_ms":60000}`
				steps := []scripted.Reply{call("shell", start, marked(n), false), call("shell", start, marked(n), true)}
				srv, err := scripted.Start(context.Background(), func(r scripted.Request) scripted.Reply {
					if r.N < len(steps) {
						return steps[r.N]
					}
					<-go1
					return scripted.Reply{Text: "over"}
				})
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Close()
				cmd := u.codeagent("exec", "--model", "test", "serve")
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
				var errs strings.Builder
				cmd.Stderr = &errs
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				eventually(t, "eight sleeping processes", func() bool { return len(sleepers(n)) == 8 })
				// A signal during a start ends the start as part of the turn.
				eventually(t, "both starts are over", func() bool { return len(srv.Requests()) > len(steps) })
				if tt.signal == 0 {
					close(go1)
				} else {
					defer close(go1)
					if err := cmd.Process.Signal(tt.signal); err != nil {
						t.Fatal(err)
					}
				}
				_ = cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != tt.code {
					t.Errorf("exit status %d, want %d: %s", got, tt.code, errs.String())
				}
				eventually(t, "all of them are gone", func() bool { return len(sleepers(n)) == 0 })
				for id := 1; id <= 2 && tt.signal != syscall.SIGKILL; id++ {
					if want := fmt.Sprintf("ended with codeagent: job %d in %s: setsid sleep", id, u.work); !strings.Contains(errs.String(), want) {
						t.Errorf("it does not say %q: %s", want, errs.String())
					}
				}
			})
		}
	})
}

// TestEscLeavesBackgroundCommands: Esc ends the turn's commands, and background commands
// continue.
func TestEscLeavesBackgroundCommands(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		n := 700000 + 10*(os.Getpid()+max(u.uid, 0))
		srv, err := scripted.Start(context.Background(), scripted.Steps(
			call("shell", `{"command":%q,"background":true,"wait_for":"started","yield_time_ms":60000}`, marked(n)),
			call("shell", `{"command":%q}`, marked(n+1)),
			scripted.Reply{Text: "that was interrupted"},
		))
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		cmd := u.codeagent("--model", "test", "run it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 30)
		eventually(t, "both run", func() bool { return len(sleepers(n)) == 4 && len(sleepers(n+1)) == 4 })
		term.Write("\x1b")
		eventually(t, "the turn's command is gone", func() bool { return len(sleepers(n+1)) == 0 })
		term.WaitFor("nterrupted")
		if got := len(sleepers(n)); got != 4 {
			t.Errorf("%d of the 4 processes in the background are left", got)
		}
		term.Write(leave)
		eventually(t, "all of them are gone", func() bool { return len(sleepers(n)) == 0 })
	})
}
