package main

import (
	"os"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestAStoppedJobEnds: codeagent that was stopped with Ctrl+Z ends when the shell ends the
// job, although it continues in the background. Its command ends with it, and the shell has
// its terminal. The same after bg.
func TestAStoppedJobEnds(t *testing.T) {
	t.Parallel()
	for name, orders := range map[string][]string{"kill": {"kill %1"}, "bg and kill": {"bg", "kill %1"}, "quit": {"kill -QUIT %1; kill -CONT %1"}} {
		t.Run(name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, u user) {
				srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("echo $$ > pid; exec sleep 1000")}})
				cmd := u.codeagent()
				cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "--norc", "--noprofile", "-i"}
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "PS1=ready> ", "HISTFILE=")
				term := golden.Start(t, cmd, 200, 30)
				term.WaitFor("ready>")
				term.Write(u.bin + "/codeagent --model test 'run it'\n")
				term.WaitFor("$ echo $$ > pid")
				term.Write("\x1a")
				term.WaitUntil("the shell", func(string) bool { return !term.AltScreenHeld() })
				term.WaitFor("Stopped")
				for _, order := range orders {
					term.Write(order + "\n")
				}
				// On a busy machine the shell may wait before the job has run again: 148 is "stopped".
				// What codeagent printed last may have left the cursor anywhere.
				term.Write("s=148; while [ $s = 148 ]; do wait %1 2>/dev/null; s=$?; done; printf '\\r\\nover %s\\n' $s\n")
				want := "over 143"
				if name == "quit" {
					want = "over 131"
				}
				term.WaitFor(want)
				if _, err := os.Stat(u.work + "/pid"); err != nil {
					return // it was stopped before the command ran
				}
				for _, pid := range childrenOf(t, cmd.Process.Pid) {
					t.Errorf("process %d is left", pid)
				}
				term.Write("exit\n")
				_ = term.WaitExit()
			})
		})
	}
}
