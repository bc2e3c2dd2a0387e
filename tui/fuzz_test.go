package tui

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/mcp/inquiry"
	"codeagent/sandbox"
	"codeagent/tui/attention"
	"codeagent/tui/part"
	"codeagent/tui/question"
	"codeagent/tui/terminal"
	"codeagent/tui/tuitest"
)

// FuzzScreen puts arbitrary bytes everywhere that a model, a command, a file or a paste puts text,
// and looks at all that is written to the terminal: text, styles and the sequences of tui/terminal. No
// row is wider than the screen, and an emulator shows the rows that were drawn.
func FuzzScreen(f *testing.F) {
	for i, s := range tuitest.Nasty() {
		f.Add([]byte(s), uint8(i), uint8(20+i*3))
	}
	f.Add([]byte("| a | b |\n|---|---|\n| 漢 | `x` |\n\n```go\nfunc f() {\n"), uint8(0), uint8(9))
	f.Add([]byte("0\u299c"), uint8(6), uint8(38))
	f.Add([]byte("\u202e"), uint8(0), uint8(12))
	f.Add([]byte("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-\told\n+\tnew\n \x1b[2J\n"), uint8(2), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, first, width uint8) {
		if len(data) > 4<<10 {
			return
		}
		w, h, s := max(int(width%130), 12), 18, string(data)
		r := newRig(t, w, h)
		r.app.calls.Settings = attention.Settings{Title: true}
		out := &bytes.Buffer{}
		on, err := terminal.Open(terminal.Options{In: strings.NewReader(""), Out: out, Environ: []string{"TERM=xterm-256color"}, Profile: colorprofile.TrueColor})
		if err != nil {
			t.Fatal(err)
		}
		on.Answered(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
		d := drawn{r.app, on}
		steps := hostileSteps(r, s)
		for i := range steps {
			steps[(i+int(first))%len(steps)]()
			r.screen() // checks rows and widths
			d.View()
		}
		want := r.screen()
		on.Close()
		written := out.String()
		checkWritten(t, written)
		screen := vt.NewEmulator(w, h)
		answers := make(chan struct{})
		go func() {
			defer close(answers)
			_, _ = io.Copy(io.Discard, screen)
		}()
		defer func() {
			_ = screen.InputPipe().(io.Closer).Close()
			<-answers
		}()
		// As a terminal does that is not raw: the input is no terminal.
		_, _ = screen.WriteString(strings.ReplaceAll(written[:strings.LastIndex(written, ansi.ResetModeUnicodeCore)], "\n", "\r\n"))
		shown := strings.Split(screen.String(), "\n")
		for y, row := range strings.Split(strings.TrimSuffix(want, "\n"), "\n") {
			if y >= len(shown) || strings.TrimRight(shown[y], " ") != row {
				t.Errorf("row %d of %d columns: drawn %q, shown %q", y, w, row, slices.Concat(shown, make([]string, h))[y])
			}
		}
		if at := screen.CursorPosition(); at.X < 0 || at.X >= w || at.Y < 0 || at.Y >= h {
			t.Errorf("the cursor is at %v", at)
		}
	})
}

// hostileSteps are messages to the screen that hold s.
func hostileSteps(r *rig, s string) []func() {
	emit := func(events ...event.Event) func() { return func() { r.emit(events...) } }
	started := session()
	started.Model, started.Folder = s, "/home/ada/"+s
	q := npmRequest("q")
	q.Title, q.Justification, q.Action.Command, q.Warnings, q.Facts = s, s, s, []string{s}, []string{s}
	q.Grant.Write, q.Denials[0].Target, q.Denials[0].Program = []string{"/" + s}, "/"+s, s
	denied := sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Denials: q.Denials}
	var asks []*question.Ask
	return []func(){
		emit(started),
		emit(event.TurnStarted{Text: s}, event.ReasoningDelta{Text: s}, event.TextDelta{Text: s}),
		emit(event.TextDelta{Text: s}, event.MessageFinished{Text: s + s}),
		emit(event.ToolStarted{CallID: "c", Kind: word.KindCommand, Title: s, Command: s, Folder: s}, event.ToolOutput{CallID: "c", Data: []byte(s)}),
		emit(event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.Failed, Exit: 1, Output: s, Message: s, Verdict: denied, Changed: sandbox.Changes{List: []sandbox.Change{{Path: s, Kind: sandbox.Added}}}}),
		emit(event.ToolFinished{CallID: "e", Kind: word.KindEdit, Title: s, Outcome: word.OK, Changes: []event.FileChange{{Path: s, Diff: s, Added: 1}, {Path: s, Diff: "@@ -1 +1 @@\n-" + s + "\n+x" + s}}}),
		emit(event.PlanUpdated{Explanation: s, Steps: []event.PlanStep{{Step: s}}}, event.Notice{Level: word.LevelError, Text: s}),
		func() { r.app.paste(s) },
		func() {
			for _, c := range []rune(s)[:min(utf8.RuneCountInString(s), 40)] {
				r.send(tea.KeyPressMsg{Code: c, Text: string(c)})
			}
		},
		func() { asks = append(asks, r.put(q)) },
		func() {
			r.inquire(hostileForm(s))
			r.inquire(inquiry.Question{Server: s, CallID: "c", Message: s, URL: s})
		},
		func() { r.press("ctrl+y", "ctrl+o") },
		func() {
			for _, a := range asks {
				r.app.box.post(part.Withdrawn{Ask: a})
			}
			r.send(inboxMsg{})
		},
		func() { r.press("ctrl+home") },
		func() { r.press("ctrl+end") },
	}
}

// written are the sequences that tui/terminal and its renderer write: the final bytes of control
// sequences that move, erase, scroll and colour, and the others whole or by their beginnings.
const moves = "mHABCDEFGdJKX@PLMSTrbhl`aefg"

var passes = []string{
	"\x1b[>", "\x1b[<", "\x1b[?u", "\x1b]11;?", "\x1b[22;2t", "\x1b[23;2t", "\x1b]2;", "\x1b]9;4;", "\x1b[?2026$p", "\x1b[?2027$p", "\x1bM",
}

// checkWritten reports what is neither text nor a sequence that the screen writes.
func checkWritten(t *testing.T, written string) {
	t.Helper()
	if !utf8.ValidString(written) {
		t.Fatal("what is written is not UTF-8")
	}
	var state byte
	for len(written) > 0 {
		seq, width, n, next := ansi.DecodeSequence(written, state, nil)
		state = next
		written = written[max(n, 1):]
		switch {
		case strings.HasPrefix(seq, "\x1b[") && strings.IndexByte(moves, seq[len(seq)-1]) >= 0,
			slices.ContainsFunc(passes, func(p string) bool { return strings.HasPrefix(seq, p) }),
			seq == "\r", seq == "\n", seq == "\b":
		case width == 0 && strings.HasPrefix(seq, "\x1b"), len(seq) == 1 && seq[0] < ' ', seq == "\x7f":
			t.Errorf("%q is written", seq)
		}
		if !strings.HasPrefix(seq, "\x1b]2;") && strings.ContainsFunc(seq[min(len(seq), 1):], unicode.IsControl) && !strings.HasPrefix(seq, "\x1b") {
			t.Errorf("%q holds a control", seq)
		}
		for _, c := range seq {
			if unicode.Is(unicode.Bidi_Control, c) || c >= 0x80 && c < 0xa0 {
				t.Errorf("%q is written", seq)
			}
		}
	}
}
