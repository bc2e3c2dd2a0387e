package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/tui/lists"
)

func TestReadTheWholeTranscript(t *testing.T) {
	for _, size := range [][2]int{{40, 15}, {80, 24}, {120, 40}} {
		r := newRig(t, size[0], size[1])
		r.emit(looks()...)
		r.press("ctrl+t", "home")
		golden.Check(t, fmt.Sprintf("reading-%d.txt", size[0]), r.screen())
		r.press("ctrl+f")
		r.typeText("PKG/3")
		golden.Check(t, fmt.Sprintf("reading-find-%d.txt", size[0]), r.screen())
		r.press("enter")
		golden.Check(t, fmt.Sprintf("reading-found-%d.txt", size[0]), r.screen())
		r.press("esc")
		r.lacks("Transcript ─")
		r.lacks("pkg/3")
	}
}

// A chosen block has a bar, and the status says what its keys do.
func TestBlocksAreChosen(t *testing.T) {
	for _, size := range [][2]int{{40, 15}, {80, 24}, {120, 40}} {
		r := newRig(t, size[0], size[1])
		r.emit(looks()...)
		r.press("ctrl+up", "ctrl+up", "ctrl+up")
		golden.Check(t, fmt.Sprintf("chosen-%d.txt", size[0]), r.screen())
		r.press("enter")
		golden.Check(t, fmt.Sprintf("chosen-open-%d.txt", size[0]), r.screen())
	}
}

// What is found is shown, forward and back, round the end, also in what was folded and
// where a text is broken by the width.
func TestFindGoesThroughTheTranscript(t *testing.T) {
	r := newRig(t, 60, 20)
	for i := range 300 {
		r.emit(event.MessageFinished{Text: fmt.Sprintf("message %d", i)})
	}
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "line %d of it\n", i)
	}
	r.emit(event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make"},
		event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.OK, Output: long.String()})
	for i := range 100 {
		r.emit(event.MessageFinished{Text: fmt.Sprintf("later %d: a text that is broken by the width of the window somewhere in it", i)})
	}
	find := func(text string) {
		r.press("ctrl+f")
		r.typeText(text)
		r.press("enter")
	}
	find("LINE 1500 of")
	r.has("line 1500 of it", "found: LINE 1500 of")
	marked := func(want string) {
		t.Helper()
		if _, after, _ := strings.Cut(r.app.View().Content, "\x1b[7m"); !strings.HasPrefix(after, want) {
			t.Errorf("marked %.40q, want %q", after, want)
		}
	}
	marked("line 1500 of")
	find("message 29")
	r.has("message 29")
	marked("message 29\x1b")
	for i := range 10 {
		r.press("n")
		r.has(fmt.Sprintf("message 29%d", i))
	}
	r.press("n") // round the end
	marked("message 29\x1b")
	r.press("shift+n", "shift+n")
	r.has("message 298")
	find("later 50: a text that is broken by the width of the window")
	marked("later 50: a text that is broken by the width of the")
	find("nowhere at all")
	r.has("not found: nowhere at all")
	// The transcript goes on behind the page.
	r.press("end")
	r.emit(event.MessageFinished{Text: "news"})
	r.has("news")
	r.press("q")
	r.lacks("not found")
	r.typeText("/find later 7:")
	r.press("enter")
	marked("later 7:")
}

func TestPasteIntoFind(t *testing.T) {
	r := longRig(t, 50)
	r.press("ctrl+f")
	r.send(tea.PasteMsg{Content: "message 7\nrest"})
	r.has("find: message 7")
	r.press("enter")
	r.has("found: message 7")
	r.press("ctrl+t")
	r.has("Ask codeagent")
	if got := r.app.composer.Value(); got != "" {
		t.Errorf("the message is %q", got)
	}
}

// The page follows what the transcript takes away and replaces.
func TestPageFollowsTheTranscript(t *testing.T) {
	r := newRig(t, 60, 20)
	r.emit(event.TurnStarted{Text: "question one"}, event.MessageFinished{Text: "answer one"},
		event.TurnStarted{Text: "question two"}, event.TextDelta{Text: "half"})
	r.press("ctrl+t")
	r.has("question two", "half")
	r.emit(event.MessageFinished{Text: "half of it"})
	r.has("half of it")
	r.app.transcript.Rewind(r.app.transcript.Size(), []string{"question two"})
	r.emit(event.Notice{Text: "went back"})
	r.lacks("question two")
	r.has("answer one", "went back")
}

// Enter and Space open and fold the chosen block, c copies it as it was written, and all
// other keys type.
func TestChosenBlock(t *testing.T) {
	r, f := clipboardRig(t)
	r.emit(printed("a", 9)...)
	r.emit(event.MessageFinished{Text: "An *answer*\n\n```go\n\tx()\n```\n"})
	r.press("ctrl+up")
	r.has("copies")
	copied := func(want string) {
		t.Helper()
		f.written = ""
		r.do(r.press("c"))
		if f.written != want {
			t.Errorf("copied %q, want %q", f.written, want)
		}
	}
	copied("An *answer*\n\n```go\n\tx()\n```")
	r.press("ctrl+up", "enter")
	r.has("a 0")
	r.press("space")
	r.lacks("a 0")
	copied("$ make a\na 0\na 1\na 2\na 3\na 4\na 5\na 6\na 7\na 8")
	r.typeText("xcc")
	if got := r.app.composer.Value(); got != "xcc" {
		t.Errorf("typed %q", got)
	}
}

// The same in the page of the whole transcript; long outputs are whole there, however
// they come into view.
func TestBlocksOfThePage(t *testing.T) {
	r, f := clipboardRig(t)
	r.emit(printed("first", 3)...)
	r.emit(printed("long", 5000)...)
	r.emit(printed("last", 3)...)
	r.press("ctrl+t")
	for range 4 {
		r.press("pgup")
	}
	r.has("long 4940")
	for range 120 {
		r.press("pgup")
	}
	r.has("long 3260")
	r.press("ctrl+f")
	r.typeText("long 2500")
	r.press("enter")
	r.has("long 2500")
	r.do(r.press("c"))
	if !strings.HasPrefix(f.written, "$ make long\nlong 0\n") {
		t.Errorf("copied %.40q", f.written)
	}
	r.press("end", "ctrl+up", "ctrl+up", "ctrl+up")
	r.do(r.press("c"))
	if f.written != "$ make first\nfirst 0\nfirst 1\nfirst 2" {
		t.Errorf("copied %.40q", f.written)
	}
}

func TestCopyCommand(t *testing.T) {
	r, f := clipboardRig(t)
	say := func(command, hint, want string) {
		t.Helper()
		f.written = ""
		r.typeText(command)
		r.do(r.press("enter"))
		r.has(hint)
		if f.written != want {
			t.Errorf("%s copied %q, want %q", command, f.written, want)
		}
	}
	say("/copy ", "no answer to copy", "")
	r.emit(event.MessageFinished{Text: "plain"})
	say("/copy 1", "has no block of code", "")
	r.emit(event.MessageFinished{Text: "# A\n\n```go\nx()\n```\n\n- b\n\n  ```sh\n  ls\n  ```\n"}, event.Notice{Text: "later"})
	say("/copy ", "copied 43 characters", "# A\n\n```go\nx()\n```\n\n- b\n\n  ```sh\n  ls\n  ```")
	say("/copy 1", "copied 3 characters", "x()")
	say("/copy 2", "copied 2 characters", "ls")
	say("/copy 3", "has 2 blocks", "")
	say("/copy x", "takes the number", "")
}

// fakeOutputs holds the text of every file.
type fakeOutputs struct {
	lists.Background
	text, file string
	err        error
}

func (f *fakeOutputs) File(_ context.Context, file string, data []byte, at int64) (int, int64, error) {
	f.file = file
	return copy(data, f.text[min(at, int64(len(f.text))):]), int64(len(f.text)), f.err
}

// The whole output of a command, of which the screen has a part, is read from its file.
func TestWholeOutput(t *testing.T) {
	r := newRig(t, 80, 24)
	f := &fakeOutputs{text: strings.Repeat("\x1b[32mrow\x1b[0m\n", 50) + "THE MIDDLE\n" + strings.Repeat("row\n", 50)}
	r.app.offers.Background = f
	r.emit(printed("short", 3)...)
	r.press("ctrl+t")
	r.do(r.press("ctrl+o"))
	r.has("all output of the commands in view is shown here")
	r.emit(event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make all"},
		event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.OK, Output: "row\n… 3 lines …\nrow\n", Spill: "/home/ada/out/1"})
	r.has("full output: ~/out/1  Ctrl+O reads it")
	r.do(r.press("ctrl+o"))
	r.has("── make all", "row")
	for range 45 {
		r.press("down")
	}
	r.has("THE MIDDLE")
	if f.file != "/home/ada/out/1" {
		t.Errorf("read %q", f.file)
	}
	r.press("q")
	r.has("── Transcript")
	r.press("esc", "esc")
	f.err = errors.New("it was removed")
	r.press("ctrl+t")
	r.do(r.press("ctrl+o"))
	r.has("it was removed")
}

// TestEmptyFields: what invites to write a message stands in the editor of the message alone.
func TestEmptyFields(t *testing.T) {
	r := newRig(t, 80, 20)
	r.press("ctrl+f")
	if s := r.screen(); strings.Count(s, "Ask codeagent") != 1 || !strings.Contains(s, "  find:") {
		t.Errorf("%s", s)
	}
}
