package session

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"codeagent/model"
)

// TestCalls: the calls of a folder and of the folders below it, latest first, each with the data
// that its result carries. Calls that are rewound, damaged or beyond the limit are left out.
func TestCalls(t *testing.T) {
	dir := t.TempDir()
	store := New(dir)
	write := func(folder string, items ...model.Item) *Session {
		t.Helper()
		s := store.Create(Info{ID: NewID(), Folder: folder})
		for _, i := range append([]model.Item{{Kind: model.User, Text: "do"}}, items...) {
			if err := s.Append(i); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.EndTurn("done", model.Usage{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	call := func(id string) model.Item {
		return model.Item{Kind: model.Call, Call: &model.ToolCall{ID: id, Name: "shell", Arguments: "{}"}}
	}
	result := func(id, carried string) model.Item {
		i := model.Item{Kind: model.Result, CallID: id, Text: "out " + id}
		if carried != "" {
			i.Carried = json.RawMessage(carried)
		}
		return i
	}
	write("/w/app", call("a"), call("b"), result("a", `{"denied":["write /x"]}`), result("b", ""))
	write("/w/app/sub", call("c"), result("c", `{"yes":["write /y"]}`))
	write("/w/apple", call("d"))
	back := write("/w/app", call("e"))
	if err := back.Append(model.Item{Kind: model.User, Text: "more"}); err != nil {
		t.Fatal(err)
	}
	if err := back.Append(call("rewound")); err != nil {
		t.Fatal(err)
	}
	if err := back.Back(Last); err != nil {
		t.Fatal(err)
	}
	// A rewind takes effect with the next message.
	if err := back.Append(model.Item{Kind: model.User, Text: "other"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/0123456789abcdef.jsonl", []byte("damaged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := func(folder string) (map[string]string, bool) {
		got := map[string]string{}
		part := store.Calls(folder, func(c model.ToolCall, r model.Item) { got[c.ID] = string(r.Carried) })
		return got, part
	}
	for folder, want := range map[string]string{
		"/w/app": `map[a:{"denied":["write /x"]} b: c:{"yes":["write /y"]} e:]`,
		"/w/a":   "map[]",
		"":       `map[a:{"denied":["write /x"]} b: c:{"yes":["write /y"]} d: e:]`,
	} {
		if got, part := calls(folder); fmt.Sprint(got) != want || part {
			t.Errorf("%q: %v (%v), want %s", folder, got, part, want)
		}
	}
	write("/w/app", call("f"), model.Item{Kind: model.Result, CallID: "f", Text: strings.Repeat("x", mostRecords)})
	if _, part := calls("/w/app"); !part {
		t.Error("all was read, beyond the bound")
	}
}
