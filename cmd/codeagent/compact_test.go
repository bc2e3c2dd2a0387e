package main

import (
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestCompactOnTheScreen: /compact makes the model write a summary, with what the person wants
// to keep. The conversation continues from it and is shown from it when it is resumed, and
// Esc twice goes back across it.
func TestCompactOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		long := strings.Repeat("Words that fill the context. ", 100)
		srv := serve(t,
			scripted.Reply{Text: long + "\n\nthe first answer", Piece: 512},
			scripted.Reply{Text: long + "\n\nthe second answer", Piece: 512},
			scripted.Reply{Text: "## Done\nthe two questions were answered"},
			scripted.Reply{Text: "the third answer"},
			scripted.Reply{Text: "the fourth answer"},
		)
		screen := func(args ...string) *golden.Terminal {
			cmd := u.codeagent(append(args, "--model", "test")...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			return golden.Start(t, cmd, 100, 40)
		}
		term := screen()
		term.WaitFor("Ask codeagent")
		for _, n := range []string{"first", "second"} {
			term.Write("the " + n + " question\r")
			term.WaitFor("the " + n + " answer")
			term.WaitGone("Working")
		}
		term.Write("/compact the tests\r")
		term.WaitFor("Compacted: ")
		term.Write("the third question\r")
		term.WaitFor("the third answer")
		term.WaitGone(working)
		requests := srv.Requests()
		if asked := requests[2].Last().Text; !strings.Contains(asked, "kept above all: the tests") {
			t.Errorf("the summary was asked for by %q", asked)
		}
		first := requests[3].FirstUser()
		for _, part := range []string{"the two questions were answered", "> the first question"} {
			if !strings.Contains(first, part) {
				t.Errorf("the model goes on from %q, which lacks %q", first, part)
			}
		}
		term.Write(leave)
		term.WaitFor("  codeagent resume ")

		term = screen("resume", "--last")
		term.WaitFor("the third answer")
		// The second question is before the summary.
		takeBack(t, term, "the second question", "second")
		term.Write("\x15the fourth question\r") // Ctrl+U clears the line
		term.WaitFor("this was before the summary")
		term.WaitFor("the fourth answer")
		if last := srv.Requests()[4]; last.FirstUser() != "the first question" || len(last.Messages) != 3 {
			t.Errorf("after going back the model is given %d messages, the first %q", len(last.Messages), last.FirstUser())
		}
	})
}
