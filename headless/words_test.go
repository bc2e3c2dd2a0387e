package headless

import (
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/event/word"
)

// TestWordsOnTheWay: interim messages of the model are progress; its answer is printed on
// stdout only.
func TestWordsOnTheWay(t *testing.T) {
	say := func(text string) event.Event { return event.MessageFinished{Text: text} }
	ask := event.RequestStarted{}
	call := event.ToolStarted{CallID: "c", Kind: "command", Title: "$ ls"}
	done := event.ToolFinished{CallID: "c", Kind: "command", Title: "$ ls", Outcome: "ok"}
	end := func(outcome word.TurnOutcome, answer string) event.Event {
		return event.TurnFinished{Outcome: outcome, Answer: answer}
	}
	ran := "$ ls\n  done in 0s\n"
	for name, c := range map[string]struct {
		events         []event.Event
		stdout, stderr string
	}{
		"before a call":            {[]event.Event{ask, say("I look.\n\n  Then I act. \n"), call, done, ask, say("Done."), end("done", "Done.")}, "Done.\n", "> I look.\n>\n>   Then I act.\n" + ran},
		"after a call":             {[]event.Event{ask, call, say("That lists."), done, ask, say("Done."), end("done", "Done.")}, "Done.\n", "$ ls\n> That lists.\n$ ls:\n  done in 0s\n"},
		"the answer alone":         {[]event.Event{ask, say("Yes."), event.UsageUpdated{}, end("done", "Yes.")}, "Yes.\n", ""},
		"an answer in two":         {[]event.Event{ask, say("One."), event.ReasoningFinished{Text: "hm"}, say("Two."), end("done", "One.\n\nTwo.")}, "One.\n\nTwo.\n", ""},
		"the answer was cut off":   {[]event.Event{ask, say("Ye"), event.Notice{Level: word.LevelWarning, Text: "cut off"}, end("done", "Ye")}, "Ye\n", "warning: cut off\n"},
		"a call that never starts": {[]event.Event{ask, say("Hm."), ask, say("Done."), end("done", "Done.")}, "Done.\n", "> Hm.\n"},
		"told before a summary":    {[]event.Event{ask, say("Hm."), event.Compacting{Reason: word.CompactAsked}}, "", "> Hm.\nmaking a summary of the conversation\n"},
		"void by a retry":          {[]event.Event{ask, say("No"), event.Retrying{Message: "cut", Attempt: 2, Most: 5}, say("Yes."), end("done", "Yes.")}, "Yes.\n", "! cut; retry 2/5 in 0s\n"},
		"out of requests":          {[]event.Event{ask, say("I look."), call, done, end("failed", "")}, "", "> I look.\n" + ran},
		"interrupted while saying": {[]event.Event{ask, say("I wou"), end("interrupted", "")}, "", "> I wou\n"},
		"hostile":                  {[]event.Event{ask, say("::add-mask::x\n  done in 0s\r\n\x1b[2J\u202e"), call, end("failed", "")}, "", "> ::add-mask::x\n>   done in 0s\n> ␛[2J<U+202E>\n$ ls\n"},
	} {
		stdout, stderr := play(Options{}, c.events)
		if stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%s: stdout %q\nstderr %q\nwant   %q", name, stdout, stderr, c.stderr)
		}
		if _, stderr := play(Options{JSON: true}, c.events); strings.Contains(stderr, ">") {
			t.Errorf("%s: the lines of JSON have it, but it is on stderr again: %q", name, stderr)
		}
	}
}

// TestWordsAreBounded by lines and by bytes, cut between runes.
func TestWordsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"lines": strings.Repeat("a\n", 1_000_000),
		"bytes": "a" + strings.Repeat("é", 1_000_000),
		"blank": "a" + strings.Repeat("\n", 1_000_000) + "b",
	} {
		_, stderr := play(Options{}, []event.Event{event.MessageFinished{Text: text}, event.ToolStarted{Title: "$ ls"}})
		if len(stderr) > wordsBytes+8*wordsLines || !strings.HasSuffix(stderr, "…\n$ ls\n") || strings.Contains(stderr, "U+FFFD") {
			t.Errorf("%s: %d bytes, ends %q", name, len(stderr), stderr[max(0, len(stderr)-40):])
		}
	}
}
