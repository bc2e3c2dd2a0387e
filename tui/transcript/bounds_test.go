package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/tui/denial"
	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

// TestManyRecordsStayBounded, folded and open.
func TestManyRecordsStayBounded(t *testing.T) {
	v := sandbox.Verdict{Denied: true}
	for range 5000 {
		v.Denials = append(v.Denials, sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: "/" + strings.Repeat("x", 4000), Program: strings.Repeat("p", 4000), PID: 1})
	}
	c := Canvas{Theme: paint.New(true), Width: 80}
	if n := len(denialLines(c, v)); n > 16 {
		t.Errorf("%d lines folded", n)
	}
	c.open = true
	v.Denials = v.Denials[:1000]
	if n := len(denialLines(c, v)); n > denial.Most*60 {
		t.Errorf("%d lines open", n)
	}
}

// The end of a long output is its end, folded and opened.
func TestEndOfLongOutputIsShown(t *testing.T) {
	var printed strings.Builder
	for i := range 3000 {
		fmt.Fprintln(&printed, "line", i)
	}
	call := tool{kind: "command", done: &event.ToolFinished{Kind: "command", Output: printed.String() + "THE END\n", Exit: 1, Outcome: "failed"}}
	for open, want := range map[bool][]string{
		false: {"2991 more lines", "line 2991", "line 2999", "THE END"},
		true:  {"line 0", "line 999", "1001 more lines not shown", "line 2001", "THE END"},
	} {
		drawn := ansi.Strip(strings.Join(call.printed(Canvas{Theme: paint.New(true), Width: 80, open: open}), "\n"))
		at := 0
		for _, w := range want {
			if n := strings.Index(drawn[at:], w); n >= 0 {
				at += n
			} else {
				t.Errorf("open %v: no %q where it belongs, of %d lines drawn, the last %q", open, w, strings.Count(drawn, "\n")+1, drawn[max(0, len(drawn)-200):])
			}
		}
	}
}

// Memory stays flat: entries that were not drawn for long give up their lines.
func TestColdEntriesForgetTheirLines(t *testing.T) {
	tr := New(time.Now)
	c := Canvas{Theme: paint.New(true), Width: 60}
	for i := range warmLines {
		tr.Apply(event.MessageFinished{Text: fmt.Sprintf("message %d\n\nwith a second line", i)})
		tr.View(c, 20)
	}
	warm := 0
	for _, e := range tr.entries {
		warm += len(e.drawn)
	}
	if warm < warmLines/2 || warm > warmLines {
		t.Errorf("%d lines are kept, not about %d", warm, warmLines)
	}
	tr.Scroll(c, -paint.Everything)
	if lines := tuitest.Stripped(tr.View(c, 20)); !strings.Contains(lines, "message 0\n") {
		t.Errorf("the beginning is not drawn again:\n%s", lines)
	}
}

// A finished turn leaves no answer and no thought open, whatever events it had.
func TestNothingStaysOpen(t *testing.T) {
	tr := New(time.Now)
	for _, e := range append(event.All(), event.All()...) {
		tr.Apply(e)
	}
	if tr.grows != nil {
		t.Errorf("a finished turn leaves open: %v", tr.grows)
	}
}

// within checks that lines are harmless and not wider than w.
func within(t *testing.T, lines []string, w int) {
	t.Helper()
	for _, l := range lines {
		tuitest.Harmless(t, l)
		if n := ansi.StringWidth(l); n > w {
			t.Errorf("a line is %d wide in %d: %q", n, w, l)
		}
	}
}

// checkEntries draws a text as everything that a transcript can show, folded and open.
func checkEntries(t *testing.T, s string, w int) {
	t.Helper()
	tr := New(time.Now)
	for _, e := range []event.Event{
		event.TurnStarted{Text: s, Images: []string{s}},
		event.ReasoningDelta{Text: s},
		event.ReasoningFinished{Text: s},
		event.TextDelta{Text: s},
		event.MessageFinished{Text: s},
		event.ToolStarted{CallID: "r", Kind: word.KindRead, Title: s},
		event.ToolFinished{CallID: "r", Kind: word.KindRead, Outcome: word.OK, Message: s},
		event.ToolStarted{CallID: "q", Kind: word.KindRead, Title: "read " + s},
		event.ToolFinished{CallID: "q", Kind: word.KindRead, Outcome: word.Failed, Message: s, Output: s},
		event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: s, Folder: s},
		event.ToolOutput{CallID: "c", Data: []byte(s)},
		event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.Failed, Exit: 1, Output: s + "\n" + s, Spill: s},
		event.ToolFinished{CallID: "e", Kind: word.KindEdit, Outcome: word.OK, Changes: []event.FileChange{{Path: s, Diff: s}, {Path: "b", Diff: "@@ -1 +1 @@\n-" + s + "\n+x" + s}}},
		event.Notice{Level: word.LevelError, Text: s},
		event.PlanUpdated{Explanation: s, Steps: []event.PlanStep{{Step: s, Status: word.StepInProgress}}},
	} {
		tr.Apply(e)
		within(t, tr.View(Canvas{Theme: paint.New(true), Width: w}, 30), w)
	}
	for _, e := range tr.entries {
		e.open = true
		e.changed()
	}
	c := Canvas{Theme: paint.New(false), Width: w}
	within(t, tr.View(c, 400), w)
	p := NewPage(&tr, c)
	p.View(c, 20)
	for _, text := range []string{s, short.Head(s, 5), "a", "ok", " ", "\x1b"} {
		for _, back := range []bool{false, true} {
			p.Find(c, text, back)
			within(t, p.View(c, 20), w)
		}
	}
}

func TestNastyTextIsDrawn(t *testing.T) {
	for i, s := range append(tuitest.Nasty(), "`", "~~~", "```", "|-") {
		checkEntries(t, s, 12+4*i)
	}
}

func FuzzEntries(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\n| a |\n|---|\n", 40)
	f.Add("0\n0\n|-", 111)
	f.Add("`", 171)
	f.Fuzz(func(t *testing.T, s string, w int) { checkEntries(t, s, 12+(w%100+100)%100) })
}
