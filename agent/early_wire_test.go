package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/internal/scripted"
	"codeagent/model"
)

// Each call runs before the model begins to write the next one: the server continues only when
// it sees the effect of the call.
func TestCallsRunWhileTheAnswerIsWritten(t *testing.T) {
	const calls = 4
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			var b bench
			reply := scripted.Reply{Piece: 4}
			for i := range calls {
				reply.Calls = append(reply.Calls, scripted.Call{ID: fmt.Sprint("c", i), Name: "shell", Arguments: fmt.Sprintf(`{"command":"echo ü > made%d","timeout_ms":180000}`, i)})
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
	for start := time.Now(); time.Since(start) < 3*time.Minute; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
	t.Errorf("%s was never made", file)
}

// A server that changes a call: what ran is in the conversation, once, or nothing ran.
func TestNothingRunsThatTheConversationDoesNotHold(t *testing.T) {
	const one, two = `{"command":"echo one >> made"}`, `{"command":"echo two >> made"}`
	chatPiece := func(arguments string) string {
		return `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":` + strconv.Quote(arguments) + `}}]}}]}`
	}
	chatCall := func(pieces ...string) (chunks []string) {
		chunks = append(chunks, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"shell","arguments":""}}]}}]}`)
		for _, p := range pieces {
			chunks = append(chunks, chatPiece(p))
		}
		return append(chunks, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
	}
	responsesCall := func(repeated, whole string, pieces ...string) (chunks []string) {
		chunks = append(chunks, `{"type":"response.output_item.added","output_index":0,"item":{"id":"f","type":"function_call","call_id":"a","name":"shell","arguments":""}}`)
		for _, p := range pieces {
			chunks = append(chunks, `{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":`+strconv.Quote(p)+`}`)
		}
		return append(chunks, `{"type":"response.function_call_arguments.done","item_id":"f","output_index":0,"arguments":`+strconv.Quote(repeated)+`}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"f","type":"function_call","call_id":"a","name":"shell","arguments":`+strconv.Quote(whole)+`}}`,
			`{"type":"response.completed","response":{"status":"completed"}}`)
	}
	for _, c := range []struct {
		name, wire string
		chunks     []string
		made       string // "" : nothing ran
	}{
		{"the same again", "chat", chatCall(one, one), "one\n"},
		{"the same again, in pieces", "chat", chatCall(one[:9], one[9:], one[:9], one[9:]), "one\n"},
		{"another object behind it", "chat", chatCall(one, two), "one\n"},
		{"babble behind it", "chat", chatCall(one, " </tool", "_call>"), "one\n"},
		{"all at once", "chat", chatCall(one + two), "one\n"},
		{"the field once more", "chat", chatCall(one[:len(one)-1], `,"command":"echo two >> made"}`), ""},
		{"a field that forbids it", "chat", chatCall(one[:len(one)-1], `,"timeout_ms":-1}`), ""},
		{"each piece with all before it", "chat", chatCall(one[:9], one[:20], one), ""},
		{"cut off", "chat", chatCall(one[:len(one)-1]), ""},
		{"repeated as it was", "responses", responsesCall(one, one, one), "one\n"},
		{"repeated as another", "responses", responsesCall(two, two, one), "one\n"},
		{"repeated as another at the last", "responses", responsesCall(one, two, one), "one\n"},
		{"the field once more", "responses", responsesCall("", "", one[:len(one)-1], `,"command":"echo two >> made"}`), ""},
		{"babble behind it", "responses", responsesCall("", "", one, "x"), ""},
	} {
		t.Run(c.wire+", "+c.name, func(t *testing.T) {
			w := wires[c.wire]
			b := newBenchOver(t, approvals.OnRequest, scripted.Steps(scripted.Reply{Chunks: c.chunks}, scripted.Reply{Text: "ok"}), w.connect(t))
			if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			made, _ := os.ReadFile(filepath.Join(b.workspace, "made"))
			if string(made) != c.made {
				t.Errorf("made %q, want %q", made, c.made)
			}
			for _, item := range b.History() {
				if item.Kind == model.Call && (item.Call.Arguments == one) != (c.made != "") {
					t.Errorf("made %q, and the conversation holds %s", made, item.Call.Arguments)
				}
			}
			if n := len(b.results()); n != 1 {
				t.Errorf("%d results", n)
			}
			for _, r := range b.server.Requests() {
				if err := w.valid(r.Body); err != nil {
					t.Errorf("a strict provider refuses it: %v", err)
				}
			}
		})
	}
}
