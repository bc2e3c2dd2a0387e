package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/scripted"
)

// asEditor is how an editor speaks: what it sends, and which option a button of it stands for.
type asEditor struct {
	initialize, session, prompt string
	// last: of several options of a kind its button sends the last one, and the first one otherwise.
	last bool
	// reads answers fs/read_text_file with the lines of a file, joined as the editor does.
	reads func(file string) string
}

// editorsOf are shapes that published editors send, by the editor. $CWD, $ID and $TEXT are replaced.
var editorsOf = map[string]asEditor{
	"Zed": {
		initialize: `{"protocolVersion":1,"clientInfo":{"name":"zed","title":"Zed","version":"1"},"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,` +
			`"auth":{"terminal":true},"session":{"configOptions":{"boolean":{}}},"_meta":{"terminal_output":true,"terminal-auth":true}}}`,
		session: `{"cwd":"$CWD","mcpServers":[],"additionalDirectories":[]}`,
		prompt: `[{"type":"text","text":"$TEXT"},{"type":"resource_link","uri":"file://$CWD/a%20b.txt#L1:2","name":"a b.txt (1:2)"},` +
			`{"type":"resource","resource":{"uri":"file://$CWD/a%20b.txt?symbol=one#L1:1","text":"one","mimeType":null}},{"type":"resource_link","uri":"zed:///agent/thread/x?name=T","name":"T"}]`,
		reads: func(file string) string { return strings.ReplaceAll(file, "\r\n", "\n") },
	},
	"CodeCompanion": { // Lua writes an empty table as []
		initialize: `{"protocolVersion":1,"clientInfo":{"name":"CodeCompanion.nvim","version":"1.0.0"},"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"session":[],"elicitation":[]}}`,
		session:    `{"cwd":"$CWD","mcpServers":[]}`,
		prompt:     `[{"type":"resource","resource":{"uri":"file://$CWD/a%20b.txt","text":"one\n"}},{"type":"text","text":"$TEXT"}]`,
		last:       true,
		reads:      func(file string) string { return strings.ReplaceAll(file, "\r\n", "\n") },
	},
	"avante": {
		initialize: `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}`,
		session:    `{"cwd":"$CWD","mcpServers":[]}`,
		prompt:     `[{"type":"text","text":"$TEXT"}]`,
		last:       true,
		reads: func(file string) string {
			return strings.Join(strings.Split(strings.TrimSuffix(file, "\r\n"), "\r\n"), "\n")
		},
	},
	"agent-shell": {
		initialize: `{"clientInfo":{"name":"agent-shell","title":"Emacs Agent Shell","version":"1"},"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}`,
		session:    `{"cwd":"$CWD","mcpServers":[],"_meta":{"systemPrompt":{"append":"x"}}}`,
		prompt:     `[{"type":"text","text":"$TEXT"},{"type":"resource_link","uri":"file://$CWD/a b.txt","name":"a b.txt","mimeType":"text/plain","size":5}]`,
		reads:      func(file string) string { return file },
	},
}

// button returns the option that a button for a kind sends; "" if absent.
func (a asEditor) button(kind string, options []struct{ OptionID, Kind string }) (id string) {
	for _, o := range options {
		if o.Kind == kind && (id == "" || a.last) {
			id = o.OptionID
		}
	}
	return id
}

// TestACPEditors: with the messages of published editors a read has no unsaved changes, an edit shows its
// diff, and the buttons for a yes and a no mean just that.
func TestACPEditors(t *testing.T) {
	t.Parallel()
	for name, a := range editorsOf {
		t.Run(name, func(t *testing.T) {
			u := newUser(t, "self", -1)
			file := filepath.Join(u.work, "a b.txt")
			edit := func(old, now string) scripted.Reply {
				return scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: fmt.Sprintf(`{"patch":"*** Begin Patch\n*** Update File: a b.txt\n@@\n-%s\n+%s\n*** End Patch"}`, old, now)}}}
			}
			if err := os.WriteFile(file, []byte("one\r\ntwo\r\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			srv := serve(t, scripted.Reply{Calls: []scripted.Call{{Name: "read_file", Arguments: `{"path":"a b.txt"}`}}}, edit("one", "1"), edit("two", "2"), scripted.Reply{Text: "over"})
			e := a.start(t, u, srv.URL, file)
			if m := e.request("session/set_mode", `{"sessionId":"`+e.id+`","modeId":"untrusted"}`); m.Error != nil {
				t.Fatalf("%+v", m)
			}
			e.kinds = []string{"allow_once", "reject_once"}
			text := strings.NewReplacer("$CWD", u.work, "$TEXT", "go").Replace(a.prompt)
			if m := e.request("session/prompt", `{"sessionId":"`+e.id+`","prompt":`+text+`}`); m.Error != nil || !strings.Contains(string(m.Result), "end_turn") {
				t.Fatalf("a no ended the turn, or it failed: %+v", m)
			}
			if got, _ := os.ReadFile(file); string(got) != "1\r\ntwo\r\n" {
				t.Errorf("the file is %q", got)
			}
			if all := strings.Join(results(srv), "\n"); strings.Contains(all, "unsaved changes") {
				t.Errorf("a saved file is called unsaved: %s", all)
			}
			for i, want := range []string{`"content":[{"type":"diff"`, `"content":[{"type":"diff"`} {
				if len(e.asked) != 2 || !strings.Contains(e.asked[i], want) {
					t.Errorf("%d questions, and %d does not begin with a diff", len(e.asked), i)
				}
			}
		})
	}
}

// acting is an editor that answers as one of editorsOf.
type acting struct {
	*editor
	as    asEditor
	id    string // of its session
	file  string
	kinds []string // the buttons that are pressed, in order
}

// start starts `codeagent acp` and opens a session.
func (a asEditor) start(t *testing.T, u user, url, file string) *acting {
	t.Helper()
	e := &acting{editor: launchEditor(t, u, url), as: a, file: file}
	if m := e.request("initialize", a.initialize); m.Error != nil {
		t.Fatalf("initialize: %+v", m)
	}
	m := e.request("session/new", strings.ReplaceAll(a.session, "$CWD", u.work))
	var r struct{ SessionID string }
	if err := json.Unmarshal(m.Result, &r); err != nil || r.SessionID == "" {
		t.Fatalf("session/new: %+v", m)
	}
	e.id = r.SessionID
	return e
}

// request sends a request, and answers what is asked until its answer comes.
func (e *acting) request(method, params string) acpMessage {
	e.t.Helper()
	id := e.editor.start(method, params)
	for {
		m := e.next()
		switch m.Method {
		case "":
			if m.ID != nil && *m.ID == id {
				return m
			}
		case "fs/read_text_file":
			data, err := os.ReadFile(e.file)
			if err != nil {
				e.t.Fatal(err)
			}
			content, _ := json.Marshal(e.as.reads(string(data)))
			e.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":%s}}`, *m.ID, content))
		case "session/request_permission":
			var p struct {
				Options []struct{ OptionID, Kind string }
			}
			if err := json.Unmarshal(m.Params, &p); err != nil || len(e.kinds) == 0 {
				e.t.Fatalf("%v: %s", err, m.Params)
			}
			e.asked = append(e.asked, string(m.Params)[strings.Index(string(m.Params), `"content"`):])
			e.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, *m.ID, e.as.button(e.kinds[0], p.Options)))
			e.kinds = e.kinds[1:]
		}
	}
}

// TestACPUndo: /undo and /redo step through the turns, as on the screen, and a message ends that.
func TestACPUndo(t *testing.T) {
	t.Parallel()
	for name, a := range editorsOf {
		u := newUser(t, "self", -1)
		file := filepath.Join(u.work, "a")
		write := func(text string) scripted.Reply {
			return scripted.Reply{Calls: []scripted.Call{shellCall("echo " + text + " > a")}}
		}
		srv := serve(t, write("one"), scripted.Reply{Text: "over"}, write("two"), scripted.Reply{Text: "over"}, scripted.Reply{Text: "over"})
		e := a.start(t, u, srv.URL, file)
		for _, step := range [][2]string{
			{"go", "one"}, {"go", "two"}, {"/redo", "two"}, {"/undo", "one"}, {"/undo", ""}, {"/redo", "one"}, {"/redo", "two"},
			{"/undo", "one"}, {"go", "one"}, {"/redo", "one"},
		} {
			e.request("session/prompt", `{"sessionId":"`+e.id+`","prompt":[{"type":"text","text":"`+step[0]+`"}]}`)
			if text, _ := os.ReadFile(file); strings.TrimSpace(string(text)) != step[1] {
				t.Errorf("%s: after %s: %q, want %q", name, step[0], text, step[1])
			}
		}
	}
}

// TestACPPlan: /plan and the mode plan close the workspace, and another mode opens it again.
func TestACPPlan(t *testing.T) {
	t.Parallel()
	for name, a := range editorsOf {
		u := newUser(t, "self", -1)
		file := filepath.Join(u.work, "a")
		edit := scripted.Reply{Calls: []scripted.Call{{Name: "apply_patch", Arguments: `{"patch":"*** Begin Patch\n*** Add File: a\n+one\n*** End Patch"}`}}}
		srv := serve(t, edit, scripted.Reply{Text: "over"}, edit, scripted.Reply{Text: "over"}, edit, scripted.Reply{Text: "over"})
		e := a.start(t, u, srv.URL, file)
		for _, step := range []struct {
			mode, text string
			made       bool
		}{{"plan", "go", false}, {"untrusted", "/plan go", false}, {"on-request", "go", true}} {
			e.request("session/set_mode", `{"sessionId":"`+e.id+`","modeId":"`+step.mode+`"}`)
			e.request("session/prompt", `{"sessionId":"`+e.id+`","prompt":[{"type":"text","text":"`+step.text+`"}]}`)
			if _, err := os.Lstat(file); (err == nil) != step.made {
				t.Errorf("%s: %s, %s: %v", name, step.mode, step.text, err)
			}
		}
	}
}
