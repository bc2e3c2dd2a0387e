package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/internal/scripted"
)

// TestHelpersOnDraftsEnd: however a run ends, nothing of its helpers is left running, and the workspace is as it was.
func TestHelpersOnDraftsEnd(t *testing.T) {
	t.Parallel()
	ends := []struct {
		name   string
		signal syscall.Signal
		args   []string
		code   int
	}{
		{"SIGKILL", syscall.SIGKILL, nil, -1}, {"SIGTERM", syscall.SIGTERM, nil, cli.ExitTerminate},
		{"requests", 0, []string{"--max-turns", "12"}, cli.ExitFailed}, {"tokens", 0, []string{"--max-tokens", "60000"}, cli.ExitFailed},
	}
	eachUser(t, func(t *testing.T, u user) {
		for i, end := range ends {
			t.Run(end.name, func(t *testing.T) {
				n := 700000 + 10*(os.Getpid()+u.uid) + i
				srv := answering(t, func(r scripted.Request) scripted.Reply {
					switch body := string(r.Body); {
					case strings.Contains(body, "You are a helper") && strings.Contains(body, "wait for long"):
						return scripted.Reply{Calls: []scripted.Call{shellCall("echo x > f; " + marked(n))}}
					case strings.Contains(body, "You are a helper") && (end.signal != 0 || len(sleepers(n)) < 8):
						return scripted.Reply{Calls: []scripted.Call{shellCall("sleep 0.2")}}
					case strings.Contains(body, "You are a helper"):
						return scripted.Reply{Calls: []scripted.Call{shellCall("true")}}
					}
					return scripted.Reply{Calls: []scripted.Call{{Name: "delegate", Arguments: `{"tasks": [{"kind": "change", "task": "wait for long"},
						{"kind": "change", "task": "wait for long"}, {"kind": "change", "task": "ask again and again"}]}`}}}
				})
				cmd := u.codeagent(append([]string{"exec", "--json", "--model", "test", "go on"}, end.args...)...)
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
				var out strings.Builder
				cmd.Stdout = &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if end.signal != 0 {
					eventually(t, "eight sleeping processes", func() bool { return len(sleepers(n)) == 8 })
					if err := cmd.Process.Signal(end.signal); err != nil {
						t.Fatal(err)
					}
				}
				_ = cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != end.code {
					t.Errorf("exit status %d, want %d: %s", got, end.code, out.String())
				}
				eventually(t, "all of them are gone", func() bool { return len(sleepers(n)) == 0 })
				if _, err := os.Lstat(filepath.Join(u.work, "f")); err == nil {
					t.Error("what a helper made is in the workspace")
				}
				if begun := fmt.Sprint(strings.Count(out.String(), `"type":"command_execution"`)); begun == "0" {
					t.Errorf("no helper ran a command: %s", out.String())
				}
			})
		}
	})
}
