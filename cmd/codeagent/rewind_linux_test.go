package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestRewindOnTheScreen: twice Esc goes back to before a message, conversation and files in one step.
// /redo brings both back. The message is sent again, and the model knows nothing of what went. After
// codeagent was killed, another one can redo what was rewound.
func TestRewindOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		write := func(command, answer string) []scripted.Reply {
			return []scripted.Reply{{Calls: []scripted.Call{shellCall(command)}}, {Text: answer}}
		}
		srv := serve(t, append(append(append(
			write("echo one > a; echo one > b", "First over."), write("echo two > a; mkdir d; echo two > d/new", "Second over.")...),
			write("rm b; mv d e", "Third over.")...),
			scripted.Reply{Text: "Otherwise over."})...)
		cmd := u.codeagent("--model", "test", "first")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 30)
		term.WaitFor("First over.")
		term.WaitGone(working)
		first := treeOf(t, u.work)
		for _, n := range []string{"second", "third"} {
			term.Write(n + "\r")
			term.WaitFor(strings.ToUpper(n[:1]) + n[1:] + " over.")
			term.WaitGone(working)
		}
		third := treeOf(t, u.work)
		back := func() {
			term.Write("\x1b")
			term.WaitFor("Esc again goes back")
			term.Write("\x1b")
			term.WaitFor("Go back to before a message")
			term.WaitFor("› 3  third")
			term.Write("sec\r")
			term.WaitFor("Conversation: 2 messages and what followed")
			term.WaitFor("Files: ")
			term.Write("\x1b[B\x1b[B\r")
			term.WaitFor("of 2 turns, since “second”")
			term.Write("\r")
			term.WaitFor("↶ restored: ")
			term.WaitGone("Second over.")
			term.WaitFor("› second")
		}
		is := func(want map[string]string, when string) {
			t.Helper()
			if d := differences(want, treeOf(t, u.work)); d != "" {
				t.Errorf("%s:\n%s", when, d)
			}
		}
		back()
		is(first, "after the rewind")
		term.Write("\x03")
		term.WaitGone("› second")
		term.Write("/redo\r")
		term.WaitFor("↶ redone: ")
		term.WaitFor("Third over.")
		is(third, "after the redo")
		back()
		is(first, "after the second rewind")
		term.Write(" otherwise\r")
		term.WaitFor("Otherwise over.")
		requests := srv.Requests()
		var told strings.Builder
		for _, m := range requests[len(requests)-1].Messages {
			told.WriteString(m.Text + "\n")
		}
		if text := told.String(); strings.Contains(text, "third") || strings.Contains(text, "Second over") || !strings.Contains(text, "second otherwise") ||
			strings.Count(text, "The user undid") != 1 || strings.Contains(text, "took back the undoing") {
			t.Errorf("the model got %q", text)
		}
		term.WaitGone(working)
		term.Write("/redo\r")
		term.WaitFor("nothing to redo")

		// Killed after the files went back: the next process brings them back.
		if err := os.WriteFile(filepath.Join(u.work, "other"), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		before := treeOf(t, u.work)
		term.Write("\x1b")
		term.WaitFor("Esc again goes back")
		term.Write("\x1b")
		term.WaitFor("Go back to before a message")
		term.Write("first\r")
		term.WaitFor("Files: ")
		term.Write("\x1b[B\r")
		term.WaitFor("Deletes 2 files")
		term.WaitFor("delete a") // and how many lines of each
		term.Write("\r")
		eventually(t, "a is removed", func() bool { _, err := os.Lstat(filepath.Join(u.work, "a")); return err != nil })
		term.WaitGone("Deletes 2 files")
		term.WaitGone("Going back")
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
		_ = term.WaitExit()
		again := u.codeagent("resume", "--last", "--model", "test")
		again.Env = append(again.Env, "OPENAI_BASE_URL="+srv.URL)
		term = golden.Start(t, again, 100, 30)
		term.WaitFor("Otherwise over.")
		term.Write("/redo\r")
		term.WaitFor("↶ redone: ")
		is(before, "after the kill and a redo")
		term.Write("\x04")
		_ = term.WaitExit()
	})
}
