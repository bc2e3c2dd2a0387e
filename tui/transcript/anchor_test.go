package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

func paragraphs(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "paragraph %d has some words that wrap in a narrow window\n\n", i)
	}
	return b.String()
}

// What is at the top of the screen stays there while entries change above, below and
// under it.
func TestWhatIsReadStays(t *testing.T) {
	tr := New(time.Now)
	c := Canvas{Theme: paint.New(true), Width: 60}
	first := func() string { return strings.TrimSpace(strings.Split(tuitest.Stripped(tr.View(c, 10)), "\n")[0]) }
	tr.Apply(event.RequestStarted{})
	tr.Apply(event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make"})
	tr.Apply(event.ToolOutput{CallID: "c", Data: []byte(strings.Repeat("live\n", 9))})
	tr.Apply(event.MessageFinished{Text: paragraphs(0, 30)})
	tr.Apply(event.TextDelta{Text: paragraphs(30, 40)})
	tr.View(c, 10)
	for strings.TrimSpace(first()) != "paragraph 12 has some words that wrap in a narrow window" {
		tr.Scroll(c, -1)
	}
	stays := func(what string) {
		t.Helper()
		if got := first(); !strings.HasPrefix(got, "paragraph 12 ") {
			t.Errorf("%s: the first row is now %q", what, got)
		}
	}
	tr.Apply(event.TextDelta{Text: paragraphs(40, 50)})
	stays("the end grew")
	tr.Apply(event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.OK, Output: "one\n"})
	stays("a call above shrank")
	c.Width = 30
	stays("a narrow window")
	c.Width = 100
	stays("a wide window")
	c.Width = 60
	tr.entries[1].open = true
	tr.Apply(event.Notice{Text: "news"})
	stays("a notice")
	tr.drop(0, func(e *entry) bool { _, ok := e.body.(*tool); return ok })
	stays("an entry above went")
}

// A call that ends in fewer lines than it had leaves rows empty instead of moving all
// that is above it.
func TestShrinkingAtTheEndMovesNothing(t *testing.T) {
	tr := New(time.Now)
	c := Canvas{Theme: paint.New(true), Width: 60}
	tr.Apply(event.MessageFinished{Text: paragraphs(0, 30)})
	tr.Apply(event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make"})
	tr.Apply(event.ToolOutput{CallID: "c", Data: []byte("1\n2\n3\n4\n5\n")})
	before := tuitest.Stripped(tr.View(c, 18))
	tr.Apply(event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.OK, Output: "5\n"})
	after := tuitest.Stripped(tr.View(c, 18))
	if b, a := strings.Split(before, "\n")[:10], strings.Split(after, "\n")[:10]; strings.Join(a, "\n") != strings.Join(b, "\n") || !strings.HasSuffix(after, "  5\n\n\n\n\n") {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	tr.Apply(event.MessageFinished{Text: "a\n\nb\n\nc\n\nd\n\ne"})
	if s := tuitest.Stripped(tr.View(c, 18)); !strings.HasSuffix(s, "  e\n") {
		t.Errorf("the end is not followed:\n%s", s)
	}
	tr.End()
	tr.Scroll(c, 1)
	if s := tuitest.Stripped(tr.View(c, 18)); !strings.HasSuffix(s, "  e\n") {
		t.Errorf("scrolled behind the end:\n%s", s)
	}
}
