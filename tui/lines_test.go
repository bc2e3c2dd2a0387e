package tui

import (
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/internal/golden"
	"codeagent/mcp/inquiry"
	"codeagent/tui/lines"
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

// spoken is a rig without a screen.
type spoken struct {
	*rig
	inLines
	out   *strings.Builder
	waits []func(time.Time) tea.Msg
}

func newSpoken(t *testing.T, w int) *spoken {
	s := &spoken{rig: newRig(t, w, 24), out: &strings.Builder{}}
	s.inLines = inLines{app: s.rig.app, face: lines.New(s.out, s.rig.app.scene, 0), width: func() int { return w }}
	s.rig.app.after = func(_ time.Duration, do func(time.Time) tea.Msg) tea.Cmd {
		s.waits = append(s.waits, do)
		return nil
	}
	return s
}

// says types lines.
func (s *spoken) says(lines ...string) {
	for _, l := range lines {
		s.Update(lineMsg(l))
	}
}

// waited has all timers run out.
func (s *spoken) waited() {
	s.Update(nil)
	all := s.waits
	s.waits = nil
	for _, do := range all {
		s.Update(do(s.clock))
	}
}

// What is written in lines is text: nothing in it controls a terminal, and each entry comes once.
func TestLinesAreHarmless(t *testing.T) {
	s := newSpoken(t, 60)
	for i, nasty := range tuitest.Nasty() {
		s.emit(event.SessionStarted{ID: nasty, Folder: nasty}, event.TurnStarted{Text: nasty}, event.MessageFinished{Text: nasty}, event.Notice{Level: "warning", Text: nasty},
			event.ToolStarted{CallID: "c", Kind: "command", Command: nasty, Title: nasty}, event.ToolFinished{CallID: "c", Kind: "command", Outcome: "failed", Exit: 1, Output: nasty})
		s.rig.app.say(nasty)
		if s.Update(nil); i == 0 {
			s.put(npmRequest("q" + nasty))
		}
		s.says(nasty)
	}
	out := s.out.String()
	if n := strings.Count(out, "npm install wants to leave the sandbox"); n != 1 {
		t.Errorf("the question is written %d times", n)
	}
	harmless(t, out)
}

func harmless(t *testing.T, out string) {
	t.Helper()
	for l := range strings.Lines(out) {
		if l = strings.TrimSuffix(l, "\n"); strings.Contains(l, "\x1b") {
			t.Errorf("%q", l)
		}
		tuitest.Harmless(t, l)
	}
}

// TestFormInLines answers a question of a server without a screen: each field in its turn, a wrong
// value asked for again, and all of it said before it is sent.
func TestFormInLines(t *testing.T) {
	s := newSpoken(t, 80)
	a := s.inquire(signUp())
	s.says("", "1") // too early: that is about something else
	s.wantReply(a, "", nil)
	s.waited()
	s.says("1", "Al", "Ada  King", "", "window", "3, 1", "no", "-", "1")
	s.wantReply(a, inquiry.Accepted, map[string]any{"name": "Ada King", "age": 36.0, "seat": "window", "extras": []string{"bicycle", "quiet coach"}, "mail": false})
	golden.CheckFile(t, "testdata/form-lines.txt", s.out.String())

	s.out.Reset()
	a = s.inquire(signUp())
	s.waited()
	s.says("1", "Ada")
	s.put(npmRequest("q")) // comes between, and is answered first
	s.waited()
	s.says("s")
	s.waited()
	s.says("n")
	s.wantReply(a, inquiry.Declined, nil)
	harmless(t, s.out.String())
}
