package tui

import (
	"fmt"
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
)

// looks are events whose entries have a form of their own.
func looks() []event.Event {
	var test strings.Builder
	for i := range 14 {
		fmt.Fprintf(&test, "\x1b[32mok\x1b[0m   pkg/%d\n", i)
	}
	test.WriteString("\x1b[1;31m--- FAIL: TestSum\x1b[0m (0.00s)\n    sum_test.go:9: got \x1b[31m3\x1b[0m, want \x1b[32m4\x1b[0m\nFAIL\n")
	read := func(id, title, says string) []event.Event {
		return []event.Event{event.ToolStarted{CallID: id, Kind: word.KindRead, Title: title},
			event.ToolFinished{CallID: id, Kind: word.KindRead, Title: title, Outcome: word.OK, Message: says}}
	}
	out := []event.Event{
		event.TurnStarted{Text: "make the tests pass, and say what was wrong with them in a sentence or two that is long enough to wrap"},
		event.ReasoningFinished{Text: "**Looking** at the tests first:\n\n- `sum.go`\n- `sum_test.go`\n\nThen the rest."},
	}
	for i, title := range []string{"read sum.go", "read sum_test.go", "read go.mod", "search Sum in .", "read internal/longer/path/to/file.go", "read README.md"} {
		out = append(out, read(fmt.Sprint("r", i), title, "9 lines")...)
	}
	return append(out,
		event.ToolStarted{CallID: "t", Kind: word.KindCommand, Command: "go test ./..."},
		event.ToolFinished{CallID: "t", Kind: word.KindCommand, Outcome: word.Failed, Exit: 1, Output: test.String()},
		event.ToolStarted{CallID: "e", Kind: word.KindEdit, Title: "edit sum.go"},
		event.ToolFinished{CallID: "e", Kind: word.KindEdit, Title: "edit sum.go", Outcome: word.OK, Changes: []event.FileChange{{Path: "sum.go", Added: 1, Removed: 1,
			Diff: "@@ -3,3 +3,3 @@\n func Sum(a, b int) int {\n-\treturn a - b\n+\treturn a + b\n }\n"}}},
		event.MessageFinished{Text: "The sign was wrong:\n\n```go\nfunc Sum(a, b int) int {\n\treturn a + b // was minus\n}\n```\n\n" +
			"| file | what was changed in it | lines |\n|---|---|--:|\n| `sum.go` | the sign of the second summand, which made every sum a difference | 1 |\n\n- [x] fixed\n- [ ] released\n"},
	)
}

func TestLooks(t *testing.T) {
	for _, size := range [][2]int{{40, 15}, {80, 24}, {120, 40}} {
		r := newRig(t, size[0], size[1])
		r.emit(looks()...)
		golden.Check(t, fmt.Sprintf("looks-end-%d.txt", size[0]), r.screen())
		r.press("ctrl+home")
		golden.Check(t, fmt.Sprintf("looks-%d.txt", size[0]), r.screen())
	}
	r := newRig(t, 80, 60)
	r.emit(looks()...)
	golden.Check(t, "looks-80.ansi", r.app.View().Content+"\n")
}

// A group of reads says what does not go well, and opens to all of them.
func TestReadsAreGrouped(t *testing.T) {
	r := newRig(t, 80, 30)
	start := func(id, title string) {
		r.emit(event.ToolStarted{CallID: id, Kind: word.KindRead, Title: title})
	}
	end := func(id string, o word.Outcome, message string) {
		r.emit(event.ToolFinished{CallID: id, Kind: word.KindRead, Outcome: o, Message: message})
	}
	start("a", "read a.go")
	end("a", word.OK, "3 lines")
	r.has("· read a.go  3 lines")
	start("b", "read b.go")
	r.has("● read a.go, b.go")
	end("b", word.OK, "4 lines")
	start("c", "read c.go")
	end("c", word.Failed, "no such file")
	r.has("· read a.go, b.go", "✗ read c.go", "no such file")
	r.press("ctrl+o")
	r.has("· read a.go  3 lines", "· read b.go  4 lines", "✗ read c.go")
	start("d", "read d.go")
	r.app.transcript.Interrupt()
	r.emit(event.TurnFinished{Outcome: word.TurnInterrupted})
	r.has("■ read d.go")
	for i := range 40 {
		start(fmt.Sprint(i), fmt.Sprintf("read file%d.go", i))
		end(fmt.Sprint(i), word.OK, "")
	}
	r.has("· read file0.go, file1.go, file2.go, file3.go, file4.go, file5.go and 34 more")
}
