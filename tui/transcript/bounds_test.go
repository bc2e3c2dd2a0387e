package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
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
		false: {"2998 more lines", "line 2998", "line 2999", "THE END"},
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
	for i := range 5 * warmEntries {
		tr.Apply(event.MessageFinished{Text: fmt.Sprintf("message %d\n\nwith a second line", i)})
		tr.View(c, 20)
	}
	warm := 0
	for _, e := range tr.entries {
		if e.drawn != nil {
			warm++
		}
	}
	if warm > 2*warmEntries {
		t.Errorf("%d entries keep their lines", warm)
	}
	tr.Home(c)
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
	if tr.answer != nil || tr.thought != nil {
		t.Errorf("a finished turn leaves open: answer %v, thought %v", tr.answer, tr.thought)
	}
}
