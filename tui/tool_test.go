package tui

import (
	"testing"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// What a background command answers stands below what was typed to it, and that
// it goes on is said where it was started.
func TestAnswersOfBackgroundCommandsAreShown(t *testing.T) {
	r := newRig(t, 100, 40)
	call := func(kind word.Kind, title string, f event.ToolFinished) {
		r.emit(event.ToolStarted{CallID: title, Kind: kind, Title: title})
		f.CallID, f.Kind, f.Title, f.Outcome = title, kind, title, "ok"
		r.emit(f)
	}
	denied := sandbox.Verdict{Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/out/q", Program: "bash"}}}
	call("command", "$ bash -i", event.ToolFinished{Job: 1, Running: true, Output: "ready\n", Message: "running in the background (job 1)"})
	r.has("$ bash -i  running in the background (job 1)", "ready")
	call("input", `type "echo hi\n" to job 1: $ bash`, event.ToolFinished{Job: 1, Running: true, Output: "one\ntwo\nthree\nfour\nhi there\n",
		Message: "job 1 is running, for 0.9 s", Verdict: denied})
	r.has(`✓ type "echo hi\n" to job 1: $ bash`, "hi there", "four", "2 more lines", "⊘ write /out/q")
	r.lacks("job 1 is running")
	r.lacks("job 1: $ bash  running in the background")
	r.lacks("two")
	call("read", "wait for job 1: $ bash", event.ToolFinished{Job: 1, Output: "bye\n", Exit: 3, Message: "job 1 ended: exit status 3"})
	r.has("wait for job 1: $ bash  job 1 ended: exit status 3", "bye")
	call("input", `type "x" to job 2: $ cat`, event.ToolFinished{Job: 2, Output: "x\n", Message: "job 2 ended: exit status 0"})
	r.has(`type "x" to job 2: $ cat  job 2 ended: exit status 0`)
}

// A background command that ended by itself is shown like a call: how it ended,
// what it printed, what it was refused.
func TestEndsOfBackgroundCommandsAreShown(t *testing.T) {
	r := newRig(t, 100, 30)
	r.emit(event.BackgroundEnded{Job: 2, Command: "serve", Message: "background job 2 (serve) ended: exit status 3", Exit: 3, Output: "gone\n", Duration: 2 * time.Second,
		Verdict: sandbox.Verdict{Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/out/q", Program: "bash"}}}})
	r.has("✗ $ serve  job 2 ended: exit 3", "gone", "⊘ write /out/q")
	r.emit(event.BackgroundEnded{Job: 3, Command: "build", Message: "background job 3 (build) ended: exit status 0", Output: "built\n", Duration: 2 * time.Second})
	r.has("✓ $ build  job 3 ended", "built")
}

// A command that could not be started has its own words, and no status.
func TestACommandThatDidNotStart(t *testing.T) {
	r := newRig(t, 100, 30)
	r.emit(event.ToolStarted{CallID: "c", Kind: "command", Command: "nosuch"},
		event.ToolFinished{CallID: "c", Kind: "command", Outcome: "not_started", Message: "could not be started: command not found: nosuch"})
	r.has("✗ $ nosuch  not started", "could not be started: command not found: nosuch")
	r.lacks("exit")
}

// What a command that passed did without is one line; a failed command shows each refusal.
func TestSparedDenialsAreOneLine(t *testing.T) {
	for outcome, want := range map[word.Outcome][]string{
		word.OK:     {"⊘ did without: ~/.a, /out/q and 1 more (4 refused calls)"},
		word.Failed: {"⊘ write ~/.a ×2", "⊘ write /out/q"},
	} {
		r := newRig(t, 100, 30)
		r.emit(event.ToolStarted{CallID: "1", Kind: "command", Title: "$ go vet"})
		f := event.ToolFinished{CallID: "1", Kind: "command", Title: "$ go vet", Outcome: outcome, Verdict: sandbox.Verdict{Denials: []sandbox.Denial{
			{Kind: sandbox.KindWrite, Target: "/home/ada/.a", Count: 2}, {Kind: sandbox.KindWrite, Target: "/out/q"}, {Kind: sandbox.KindNetwork, Target: "x.example:443"},
		}}}
		if outcome != word.OK {
			f.Exit = 1
		}
		r.emit(f)
		r.has(want...)
		if outcome == word.OK {
			r.lacks("⊘ write")
			r.lacks("⊘ connect")
		}
	}
}
