package transcript

import (
	"strings"
	"testing"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

// line is a body of one line.
type line string

func (l line) Draw(Canvas) []string { return []string{string(l)} }

// TestJobEndIsShownOnce: the end of a job that was shown between turns is not shown again, what the report adds
// stands in its place, and the call that began the job does not claim that it runs.
func TestJobEndIsShownOnce(t *testing.T) {
	for _, killed := range []bool{true, false} {
		x := New(time.Now)
		x.Apply(event.ToolFinished{CallID: "a", Kind: word.KindCommand, Title: "$ sleep 120", Outcome: word.OK, Job: 1, Running: true})
		shown := func() string {
			lines, _ := x.Settled(Canvas{Theme: paint.New(true), Width: 80}, 0)
			return tuitest.Stripped(lines)
		}
		if s := shown(); !strings.Contains(s, "running in the background (job 1)") {
			t.Fatal(s)
		}
		x.JobEnded("1", line("job 1 ended"), killed)
		x.JobEnded("1", line("job 1 ended"), killed)
		x.Apply(event.BackgroundEnded{Job: 1, Command: "sleep 120", Signal: "SIGTERM", Output: "late words"})
		s := shown()
		if strings.Contains(s, "running in") || !strings.Contains(s, "ran in the background (job 1)") || strings.Count(s, "job 1 ended") != 1 {
			t.Errorf("killed %t:\n%s", killed, s)
		}
		if strings.Contains(s, "late words") == killed {
			t.Errorf("killed %t: its output:\n%s", killed, s)
		}
	}
}
