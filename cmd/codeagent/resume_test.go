package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/internal/golden"
	"codeagent/internal/scripted"
	sessions "codeagent/session"
)

// TestResumeOnTheScreen: a session is chosen, the earlier conversation is shown and sent to
// the model, no other process can write the session meanwhile, and at the end the terminal
// shows how to resume it.
func TestResumeOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		srv := serve(t,
			scripted.Reply{Text: "I look.", Calls: []scripted.Call{{Name: "shell", Arguments: `{"command":"echo seen before"}`}}},
			scripted.Reply{Text: "the first answer"},
			scripted.Reply{Text: "a hasty answer"},
			scripted.Reply{Text: "the second answer"},
			scripted.Reply{Text: "the third answer"},
		)
		env := func(args ...string) result {
			cmd := u.codeagent(args...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			return run1(t, cmd)
		}
		if r := env("exec", "--model", "test", "the first question"); r.code != 0 {
			t.Fatal(r)
		}
		cmd := u.codeagent("resume", "--model", "test")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 40)
		term.WaitFor("Sessions of this folder")
		term.WaitFor("› the first question")
		term.Write("\r")
		term.WaitFor("resumed session")
		for _, part := range []string{"the first question", "I look.", "echo seen before", "the first answer"} {
			term.WaitFor(part)
		}
		term.Write("a hasty question\r")
		term.WaitFor("a hasty answer")
		term.WaitGone(working) // otherwise Esc would stop the turn
		takeBack(t, term, "a hasty question")
		term.Write(" and more")
		term.WaitFor("and more")                // every Esc was read
		term.Write("\x15the second question\r") // Ctrl+U clears the line
		term.WaitFor("the second answer")
		term.WaitGone("a hasty answer")

		want := fmt.Sprintf("is in use by process %d", cmd.Process.Pid)
		if r := env("exec", "resume", "--last", "--model", "test", "x"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "codeagent fork ") {
			t.Errorf("no %q in %v", want, r)
		}
		term.Write(leave)
		term.WaitFor("  codeagent resume ")
		if r := env("exec", "resume", "--last", "--model", "test", "the third question"); r.code != 0 || r.stdout != "the third answer\n" {
			t.Error(r)
		}
		for sum := range sessions.New(u.home + "/.local/state/codeagent/sessions").List() {
			m, err := sessions.New(u.home + "/.local/state/codeagent/sessions").Messages(sum.ID)
			if err != nil || len(m) != 3 {
				t.Errorf("%v %v", m, err)
			}
		}
	})
}

// takeBack goes back to before the last message, or the last that find finds, with the conversation alone, which puts the message into
// the editor. No turn may run.
func takeBack(t *testing.T, term *golden.Terminal, question string, find ...string) {
	t.Helper()
	const list = "Go back to before a message"
	for tries := 0; !strings.Contains(term.Screen(), list); tries++ { // the second Esc may come too late on a busy machine
		if tries == 20 {
			t.Fatalf("twice Esc shows no list:\n%s", term.Screen())
		}
		for range 2 {
			term.Write("\x1b")
			time.Sleep(150 * time.Millisecond) // between keys, as fingers do
		}
		time.Sleep(time.Second)
	}
	term.Write(strings.Join(find, "") + "\r")
	term.WaitUntil("what goes back", func(s string) bool {
		return inEditor(s, question) || strings.Contains(s, "Conversation: ")
	})
	if !inEditor(term.Screen(), question) {
		term.Write("\r")
	}
	term.WaitUntil("the message in the editor", func(s string) bool { return inEditor(s, question) })
}

// inEditor reports whether the editor begins with text. Sent messages are above it, with the
// same mark.
func inEditor(screen, text string) bool {
	at := strings.LastIndex(screen, "\n› ")
	return at >= 0 && strings.HasPrefix(screen[at:], "\n› "+text)
}
