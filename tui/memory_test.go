package tui

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"codeagent/event"
)

// A screen that has shown 2,000 turns keeps all that was said, and little beside.
func TestMemoryOfALongTranscript(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	r := newRig(t, 120, 40)
	r.emit(event.SessionStarted{ID: "1"})
	before := heap()
	for n := range 2000 {
		id := fmt.Sprint("c", n)
		output := strings.Repeat(fmt.Sprintf("line of output %d\n", n), 250) // 4 KB
		diff := strings.Repeat(fmt.Sprintf("+line of diff %d\n", n), 60)
		r.emit(event.TurnStarted{Text: fmt.Sprintf("wish %d", n)}, event.RequestStarted{},
			event.ToolStarted{CallID: id, Tool: "shell", Kind: "command", Title: "$ make", Command: "make"},
			event.ToolOutput{CallID: id, Data: []byte(output)},
			event.ToolFinished{CallID: id, Tool: "shell", Kind: "command", Title: "$ make", Outcome: "ok", Output: output},
			event.ToolStarted{CallID: id + "e", Tool: "apply_patch", Kind: "edit", Title: "edit"},
			event.ToolFinished{CallID: id + "e", Tool: "apply_patch", Kind: "edit", Title: "edit", Outcome: "ok", Changes: []event.FileChange{{Path: "/w/a", Kind: "update", Diff: diff, Added: 60}}},
			event.MessageFinished{Text: strings.Repeat("An answer with *words* and `code`.\n\n", 30)}, event.TurnFinished{Outcome: "done"})
		if n%20 == 0 {
			r.screen()
		}
	}
	if used := (heap() - before) >> 20; used > 80 {
		t.Errorf("%d MB", used)
	}
	runtime.KeepAlive(r)
}
