package tui

import (
	"os"
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/internal/golden"
	"codeagent/mcp/inquiry"
	"codeagent/tui/tuitest"
)

// Lines of a paste are one message, a backslash continues a line, a command is a line.
func TestJoinedLines(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"one"}, "one"},
		{[]string{"one", "two"}, "one\ntwo"},
		{[]string{`one\`, "two"}, "one\ntwo"},
		{[]string{"/status", "two"}, "/status"},
		{[]string{"", "two"}, ""},
	} {
		lines := make(chan string, len(c.lines))
		for _, l := range c.lines[1:] {
			lines <- l
		}
		if got := (Input{Lines: lines}).joined(c.lines[0]); got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	if got := (Input{Interrupts: interrupts}).joined(`one\`); got != "" {
		t.Errorf("interrupted: %q", got)
	}
}

// What is written in lines is text: nothing in it controls a terminal, and each entry comes once.
func TestLinesAreHarmless(t *testing.T) {
	r := newRig(t, 60, 24)
	var out strings.Builder
	d := &inLines{app: r.app, out: &out}
	for i, nasty := range tuitest.Nasty() {
		r.emit(event.SessionStarted{ID: nasty, Folder: nasty}, event.TurnStarted{Text: nasty}, event.MessageFinished{Text: nasty}, event.Notice{Level: "warning", Text: nasty},
			event.ToolStarted{CallID: "c", Kind: "command", Command: nasty, Title: nasty}, event.ToolFinished{CallID: "c", Kind: "command", Outcome: "failed", Exit: 1, Output: nasty})
		r.app.say(nasty)
		if d.write(); i == 0 {
			r.put(npmRequest("q" + nasty))
		}
		d.line(nasty)
		d.write()
	}
	if n := strings.Count(out.String(), "npm install wants to leave the sandbox"); n != 1 {
		t.Errorf("the question is written %d times", n)
	}
	for l := range strings.Lines(out.String()) {
		if l = strings.TrimSuffix(l, "\n"); strings.Contains(l, "\x1b") {
			t.Errorf("%q", l)
		}
		tuitest.Harmless(t, l)
	}
}

// TestFormInLines answers a question of a server without a screen: each field in its turn, a wrong
// value asked for again, and all of it said before it is sent.
func TestFormInLines(t *testing.T) {
	r := newRig(t, 80, 24)
	var out strings.Builder
	d := &inLines{app: r.app, out: &out}
	a := r.inquire(signUp())
	for _, s := range []string{"", "1"} { // too early: that is about something else
		if d.write(); s != "" {
			d.line(s)
		}
	}
	r.wantReply(a, "", nil)
	d.Update(openMsg{r.app.docks.Front()})
	for _, s := range []string{"1", "Al", "Ada  King", "", "window", "3, 1", "no", "-", "1"} {
		d.line(s)
		d.write()
	}
	r.wantReply(a, inquiry.Accepted, map[string]any{"name": "Ada King", "age": 36.0, "seat": "window", "extras": []string{"bicycle", "quiet coach"}, "mail": false})
	golden.CheckFile(t, "testdata/form-lines.txt", out.String())

	out.Reset()
	a = r.inquire(signUp())
	d.write()
	d.Update(openMsg{r.app.docks.Front()})
	d.line("1")
	d.line("Ada")
	r.put(npmRequest("q")) // comes between, and is answered first
	d.write()
	d.Update(openMsg{r.app.docks.Front()})
	d.line("s")
	d.write()
	d.Update(openMsg{r.app.docks.Front()})
	d.line("n")
	r.wantReply(a, inquiry.Declined, nil)
	for l := range strings.Lines(out.String()) {
		tuitest.Harmless(t, strings.TrimSuffix(l, "\n"))
	}
}
