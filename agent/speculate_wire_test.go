package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/internal/scripted"
)

// sees returns a function that waits until the file name is there, and says so
// where it never is.
func sees(t *testing.T, folder func() string, name string) func() {
	return func() {
		path := filepath.Join(folder(), name)
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(path); err == nil {
				return
			}
		}
		t.Errorf("%s was never made", name)
	}
}

// Each call runs before the model has begun to write the next one: the server
// goes on only when it sees what the call did.
func TestCallsRunWhileTheAnswerIsWritten(t *testing.T) {
	const calls = 4
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			var b bench
			reply := scripted.Reply{Piece: 4}
			for i := range calls {
				reply.Calls = append(reply.Calls, scripted.Call{ID: fmt.Sprint("c", i), Name: "shell", Arguments: fmt.Sprintf(`{"command":"echo ü > made%d","timeout_ms":60000}`, i)})
			}
			reply.Before = func(event string) {
				over := strings.Contains(event, `"response.completed"`) || strings.Contains(event, `"finish_reason":"tool_calls"`)
				for i := range calls {
					if over || strings.Contains(event, fmt.Sprintf(`"c%d"`, i+1)) {
						appears(t, filepath.Join(b.workspace, fmt.Sprint("made", i)))
					}
				}
			}
			b = newBenchOver(t, approvals.OnRequest, scripted.Steps(reply, scripted.Reply{Text: "ok"}), w.connect(t))
			if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			if n := len(b.results()); n != calls {
				t.Errorf("%d results", n)
			}
			for id, text := range b.results() {
				if !strings.HasPrefix(text, "exit status 0") {
					t.Errorf("%s: %q", id, text)
				}
			}
		})
	}
}

// appears waits until the file is there.
func appears(t *testing.T, file string) {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Errorf("%s was never made", file)
}
