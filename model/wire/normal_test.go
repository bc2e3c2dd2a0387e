package wire

import (
	"encoding/json"
	"testing"

	"codeagent/model"
)

// A name means a tool only if it can mean no other, and arguments change only if they are JSON then.
func TestNormal(t *testing.T) {
	t.Parallel()
	tools := []model.ToolSpec{{Name: "shell"}, {Name: "read_file"}, {Name: "fs__write_file"}, {Name: "fs__write-file"}, {Name: "a.b"}}
	for _, c := range []struct{ name, arguments, wantName, want string }{
		{"shell", `{"a":1}`, "shell", `{"a":1}`},
		{"Shell", `{}`, "shell", `{}`},
		{"functions.shell", `{}`, "shell", `{}`},
		{"shell<|channel|>commentary", `{}`, "shell", `{}`},
		{"functions.shell<|constrain|>json", `{}`, "shell", `{}`},
		{"default_api:ReadFile", `{}`, "read_file", `{}`},
		{"read-file", `{}`, "read_file", `{}`},
		{"fs.shell.read_file", `{}`, "read_file", `{}`},
		{"fs__writefile", `{}`, "fs__writefile", `{}`},
		{"a.b", `{}`, "a.b", `{}`},
		{"rm", `{}`, "rm", `{}`},
		{"", `{}`, "", `{}`},
		{"<|call|>", `{}`, "<|call|>", `{}`},
		{"shell", "{\"command\":\"echo a\necho\tb\"}", "shell", `{"command":"echo a\u000aecho\u0009b"}`},
		{"shell", "{\"command\":\"a\\\\\",\n\"b\":\"\\\"\n\"}", "shell", "{\"command\":\"a\\\\\",\n\"b\":\"\\\"\\u000a\"}"},
		{"shell", "{\"command\":\"a\n", "shell", "{\"command\":\"a\n"},
	} {
		var got []model.Delta
		yield := normal(tools, func(d model.Delta) error { got = append(got, d); return nil })
		if err := yield(model.CallStarted{Name: c.name}); err != nil {
			t.Fatal(err)
		}
		if err := yield(model.CallDone{Call: model.ToolCall{Name: c.name, Arguments: c.arguments}}); err != nil {
			t.Fatal(err)
		}
		begun, done := got[0].(model.CallStarted), got[1].(model.CallDone)
		if begun.Name != c.wantName || done.Call.Name != c.wantName || done.Call.Arguments != c.want {
			t.Errorf("%q %q: %q, %q %q", c.name, c.arguments, begun.Name, done.Call.Name, done.Call.Arguments)
		}
		if c.arguments != c.want && !json.Valid([]byte(done.Call.Arguments)) {
			t.Errorf("%q is no JSON", done.Call.Arguments)
		}
	}
}
