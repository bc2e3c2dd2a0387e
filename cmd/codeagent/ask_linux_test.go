package main

import (
	"os"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// askCall asks the person between two choices.
func askCall(question string) scripted.Call {
	return scripted.Call{Name: "ask_user", Arguments: `{"question":"` + question + `","choices":[{"label":"tabs","about":"as in gofmt"},{"label":"spaces"}]}`}
}

// TestTheModelAsks: on the screen and in lines, in plan mode too. What is being typed is no answer, and an
// answer grants nothing: the same run is refused the write that its question was about.
func TestTheModelAsks(t *testing.T) {
	t.Parallel()
	results := func(srv *scripted.Server) string {
		all := srv.Requests()
		var said []string
		for _, m := range all[len(all)-1].Messages {
			if m.Role == "tool" {
				said = append(said, m.Text)
			}
		}
		return strings.Join(said, "\n")
	}
	replies := []scripted.Reply{
		{Calls: []scripted.Call{askCall("Tabs, or spaces?")}}, {Calls: []scripted.Call{askCall("And in YAML?")}},
		{Calls: []scripted.Call{askCall("May I write to your home?")}}, {Calls: []scripted.Call{shellCall("echo x > $HOME/a")}}, {Text: "Asked enough."},
	}
	t.Run("screen", func(t *testing.T) {
		u := newUser(t, "self", -1)
		srv := serve(t, replies...)
		cmd := u.codeagent("--model", "test", "-c", "ask_for_approval=never")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 80, 24)
		term.WaitFor("never ask")
		term.Write("/plan indent\r")
		term.WaitFor("─? the model asks")
		term.WaitFor("an answer permits nothing")
		term.Write("2 things")
		term.WaitFor("› 2 things")
		term.Write("\x03")
		term.WaitGone("2 things")
		term.Write("\x191")
		term.WaitFor("│ And in YAML?")
		term.Write("\x193")
		term.WaitFor("Esc back")
		term.Write("spaces, of course\r")
		term.WaitFor("│ May I write")
		term.Write("\x191")
		term.WaitFor("Asked enough.")
		got := results(srv)
		for _, want := range []string{"The user chose: tabs\nThe user answered in their own words: spaces, of course\nThe user chose: tabs", "denied"} {
			if !strings.Contains(got, want) {
				t.Errorf("the model read %q, not %q", got, want)
			}
		}
		if _, err := os.Lstat(u.home + "/a"); err == nil {
			t.Error("an answer granted a write")
		}
	})
	t.Run("lines", func(t *testing.T) {
		u := newUser(t, "self", -1)
		srv := serve(t, append(replies[:3:3], scripted.Reply{Text: "Asked enough."})...)
		cmd := u.codeagent("--model", "test", "-c", "tui.screen_reader=true", "indent")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 80, 200)
		invited := func(times int) {
			t.Helper()
			term.WaitUntil("an invitation", func(screen string) bool {
				return strings.Count(strings.Join(strings.Fields(screen), ""), "2:thatchoice;3:ownwords;n:noanswer") == times // the terminal breaks the line anywhere
			})
		}
		term.WaitFor("question: the model asks")
		term.WaitFor("1: “tabs”, “as in gofmt”")
		invited(1)
		term.Write("5\n")
		term.WaitFor("The question still waits")
		term.Write("2\n")
		invited(2)
		term.Write("3\n")
		term.WaitFor("own answer: text, at most 4000 characters")
		term.Write("tabs there\n")
		term.WaitFor("1: send it; n: no answer")
		term.Write("1\n")
		invited(3)
		term.Write("n\n")
		term.WaitFor("Asked enough.")
		want := "The user chose: spaces\nThe user answered in their own words: tabs there\nThe user gave no answer."
		if got := results(srv); !strings.HasPrefix(got, want) {
			t.Errorf("the model read %q, not %q", got, want)
		}
	})
}
