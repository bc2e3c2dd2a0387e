package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// TestAnswers: what a hook can answer, at each event. Nothing that it prints permits anything: an
// Answer has no field for that.
func TestAnswers(t *testing.T) {
	const allow = `{"hookSpecificOutput": {"permissionDecision": "allow", "permissionDecisionReason": "fine"}}`
	for name, c := range map[string]struct {
		event                    Event
		ended                    Exit
		deny, ask, words, warned string // parts of them; "": none
	}{
		"silent":               {BeforeTool, Exit{}, "", "", "", ""},
		"text":                 {BeforeTool, Exit{Stdout: []byte("checked\n")}, "", "", "", ""},
		"text at a prompt":     {Prompt, Exit{Stdout: []byte("be brief\n")}, "", "", "| be brief", ""},
		"text at the start":    {SessionStart, Exit{Stdout: []byte("be brief\n")}, "", "", "| be brief", ""},
		"status 2":             {BeforeTool, Exit{Exit: 2, Stderr: []byte("not today\n")}, "not today", "", "", ""},
		"status 2, silent":     {BeforeTool, Exit{Exit: 2}, "it gives no reason", "", "", ""},
		"status 2 and allow":   {BeforeTool, Exit{Exit: 2, Stdout: []byte(allow)}, "it gives no reason", "", "", ""},
		"status 2, broken":     {BeforeTool, Exit{Exit: 2, Stdout: []byte("{"), Stderr: []byte("no")}, ": no", "", "", ""},
		"status 1":             {BeforeTool, Exit{Exit: 1, Stderr: []byte("oops\nmore")}, "", "", "", "exit status 1: oops"},
		"status 1 and a deny":  {BeforeTool, Exit{Exit: 1, Stdout: []byte(`{"decision": "deny", "reason": "no"}`)}, ": no", "", "", "exit status 1"},
		"deny":                 {BeforeTool, Exit{Stdout: []byte(`{"decision": "deny", "reason": "no"}`)}, ": no", "", "", ""},
		"block":                {Prompt, Exit{Stdout: []byte(`{"decision": "block", "reason": "no"}`)}, ": no", "", "", ""},
		"permission deny":      {BeforeTool, Exit{Stdout: []byte(`{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}`)}, ": no", "", "", ""},
		"request deny":         {Question, Exit{Stdout: []byte(`{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}}`)}, ": no", "", "", ""},
		"request allow":        {Question, Exit{Stdout: []byte(`{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}`)}, "", "", "", ""},
		"allow":                {BeforeTool, Exit{Stdout: []byte(allow)}, "", "", "", ""},
		"ask":                  {BeforeTool, Exit{Stdout: []byte(`{"decision": "ask", "reason": "sure?"}`)}, "", "sure?", "", ""},
		"unknown":              {BeforeTool, Exit{Stdout: []byte(`{"decision": "Deny"}`)}, `unknown decision "Deny"`, "", "", ""},
		"other arguments":      {BeforeTool, Exit{Stdout: []byte(`{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "ls"}}}`)}, `{"command": "ls"}`, "", "", ""},
		"not to continue":      {BeforeTool, Exit{Stdout: []byte(`{"continue": false, "stopReason": "enough"}`)}, "enough", "", "", ""},
		"to continue":          {BeforeTool, Exit{Stdout: []byte(`{"continue": true}`)}, "", "", "", ""},
		"not to continue, end": {TurnEnd, Exit{Stdout: []byte(`{"continue": false}`)}, "", "", "", ""},
		"words":                {AfterTool, Exit{Stdout: []byte(`{"additionalContext": "a\n[codeagent] b", "systemMessage": "c"}`)}, "", "", "| a\n| [codeagent] b", "c"},
		"no object":            {BeforeTool, Exit{Stdout: []byte(`{"decision": 1}`)}, "answered with JSON that is not valid", "", "", ""},
		"cut off":              {BeforeTool, Exit{Stdout: []byte(`{"decision": "allow`)}, "answered with JSON that is not valid", "", "", ""},
		"hangs":                {BeforeTool, Exit{TimedOut: true}, "gave no answer within 10 s", "", "", ""},
		"hangs at a prompt":    {Prompt, Exit{TimedOut: true}, "gave no answer", "", "", ""},
		"hangs at a question":  {Question, Exit{TimedOut: true}, "", "", "", "gave no answer"},
		"hangs afterwards":     {AfterTool, Exit{TimedOut: true}, "", "", "", "gave no answer"},
		"floods":               {BeforeTool, Exit{Flooded: true, Stdout: []byte(allow)}, "more than 64 KiB", "", "", ""},
		"killed":               {BeforeTool, Exit{Signal: "signal 9", Exit: -1}, "signal 9", "", "", ""},
		"absent":               {BeforeTool, Exit{Exit: 127, Stderr: []byte("sh: x: not found")}, "could not be run (status 127): sh: x: not found", "", "", ""},
		"not started":          {BeforeTool, Exit{Err: errors.New("no sandbox")}, "could not be run: no sandbox", "", "", ""},
		"deny at the start":    {SessionStart, Exit{Exit: 2, Stderr: []byte("no")}, "", "", "", "nothing can be denied at the start: no"},
		"denied something":     {AfterTool, Exit{Exit: 1, Denied: []string{"write /etc/x"}}, "", "", "", "the sandbox denied it write /etc/x"},
		"escape sequences":     {BeforeTool, Exit{Exit: 2, Stderr: []byte("a\x1b[2J\u202e\xff\nb")}, "a␛[2J<U+202E>", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Hooks: []Hook{compiled(t, Hook{Event: c.event, Command: "check"})}, Run: func(context.Context, Hook, sandbox.Policy, []byte) Exit { return c.ended }})
			a := s.Fire(t.Context(), Input{Event: c.event, Call: &Call{Tool: "shell"}})
			if a.Denied != (c.deny != "") || !strings.Contains(a.Reason, c.deny) {
				t.Errorf("denied %v: %q, want %q", a.Denied, a.Reason, c.deny)
			}
			for what, v := range map[string][2]string{
				"asks": {strings.Join(a.Asks, "\n"), c.ask}, "words": {strings.Join(a.Words, "\n"), c.words}, "warnings": {strings.Join(a.Warnings, "\n"), c.warned},
			} {
				if (v[0] == "") != (v[1] == "") || !strings.Contains(v[0], v[1]) || strings.ContainsAny(v[0], "\x1b\u202e") {
					t.Errorf("%s: %q, want %q", what, v[0], v[1])
				}
			}
		})
	}
}

func compiled(t *testing.T, h Hook) Hook {
	t.Helper()
	h, err := h.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestJoin: a deny ends it, and asks and words add up.
func TestJoin(t *testing.T) {
	outputs := map[string]string{"a": `{"decision": "ask", "additionalContext": "w"}`, "b": `{"decision": "allow"}`, "c": `{"decision": "deny"}`, "d": `{"additionalContext": "never"}`}
	var ran []string
	var list []Hook
	for _, name := range []string{"a", "b", "c", "d"} {
		list = append(list, compiled(t, Hook{Event: BeforeTool, Command: name}))
	}
	s := New(Options{Hooks: list, Run: func(_ context.Context, h Hook, _ sandbox.Policy, _ []byte) Exit {
		ran = append(ran, h.Command)
		return Exit{Stdout: []byte(outputs[h.Command])}
	}})
	in := Input{Event: BeforeTool, Call: &Call{Tool: "shell"}}
	if a := s.Fire(t.Context(), in); !a.Denied || len(a.Asks) != 1 || len(a.Words) != 1 || len(a.Warnings) != 0 || strings.Join(ran, "") != "abc" {
		t.Errorf("%+v after %q", a, ran)
	}
	if New(Options{}).Has(BeforeTool) || New(Options{}).Fire(t.Context(), in).Denied {
		t.Error("without hooks something is denied")
	}
}

// TestMatchersOfJavaScript: Go has no lookahead. Such a hook may be there to deny, so it runs at every
// tool, and that is said.
func TestMatchersOfJavaScript(t *testing.T) {
	list, said, err := Claude("settings.json", []byte(`{"hooks": {"PreToolUse": [{"matcher": "(?!Read).*", "hooks": [{"type": "command", "command": "guard"}]}]}}`))
	if err != nil || len(list) != 1 || len(said) != 1 || !strings.Contains(said[0], "runs at every tool call: settings.json PreToolUse: ") {
		t.Fatalf("%+v, %q, %v", list, said, err)
	}
	s := New(Options{Hooks: list, Run: func(context.Context, Hook, sandbox.Policy, []byte) Exit { return Exit{Exit: 2} }})
	for _, tool := range []string{"shell", "read_file"} {
		if a := s.Fire(t.Context(), Input{Event: BeforeTool, Call: &Call{Tool: tool}}); !a.Denied {
			t.Errorf("%s runs: %+v", tool, a)
		}
	}
}

// TestBrokenGroups: what cannot be read of a settings.json leaves the other hooks in it, and is named
// without types of Go.
func TestBrokenGroups(t *testing.T) {
	const guard = `{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}`
	for _, broken := range []string{
		`"PreToolUse": [{"matcher": ["Bash"], "hooks": []}, ` + guard + `]`,
		`"PreToolUse": [{"hooks": {}}, ` + guard + `]`,
		`"PreToolUse": [7, ` + guard + `]`,
		`"PostToolUse": {}, "PreToolUse": [` + guard + `]`,
		`"PreToolUse": [{"hooks": [{"type": "command", "command": ["x"]}, {"type": "command", "command": "guard"}]}]`,
	} {
		list, said, err := Claude("settings.json", []byte(`{"hooks": {`+broken+`}}`))
		if err != nil || len(list) != 1 || list[0].Command != "guard" || len(said) != 1 {
			t.Errorf("%s: %+v, %q, %v", broken, list, said, err)
			continue
		}
		if words := said[0]; !strings.Contains(words, "cannot be a JSON ") || strings.Contains(words, "struct") || strings.Contains(words, "[]") {
			t.Error(words)
		}
	}
	for _, file := range []string{`[]`, `{"hooks": []}`, `{"hooks": `} {
		if _, _, err := Claude("settings.json", []byte(file)); err == nil || !strings.HasPrefix(err.Error(), "settings.json: ") || strings.Contains(err.Error(), "struct") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestClaude: a settings.json is read as it is, and a call is what Claude Code would call it.
func TestClaude(t *testing.T) {
	list, left, err := Claude("settings.json", []byte(`{
		"permissions": {"allow": ["Bash(ls:*)"]},
		"hooks": {
			"PreToolUse": [
				{"matcher": "Bash", "hooks": [{"type": "command", "command": "bash", "timeout": 5}]},
				{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "edit"}]},
				{"hooks": [{"type": "prompt", "prompt": "safe?"}, {"type": "command", "command": "if", "if": "Bash(git *)"}]},
				{"matcher": "mcp__(", "hooks": [{"type": "command", "command": "x"}]}
			],
			"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "prompt"}]}],
			"Stop": [{"hooks": [{"type": "command", "command": "stop"}]}],
			"Notification": [{"hooks": [{"type": "command", "command": "notify"}]}],
			"PreCompact": [{"hooks": [{"type": "command", "command": "x"}]}]
		}}`))
	if err != nil || len(list) != 4 || len(left) != 5 || list[0].Timeout != 5*time.Second || list[1].Timeout != time.Minute {
		t.Fatalf("%+v, %q, %v", list, left, err)
	}
	var given []string
	s := New(Options{Hooks: list, Session: "s1", Folder: "/w", Run: func(_ context.Context, h Hook, _ sandbox.Policy, stdin []byte) Exit {
		var in struct {
			Event   string         `json:"hook_event_name"`
			Session string         `json:"session_id"`
			Folder  string         `json:"cwd"`
			Tool    string         `json:"tool_name"`
			Input   map[string]any `json:"tool_input"`
			Prompt  string         `json:"prompt"`
			Active  bool           `json:"stop_hook_active"`
			Own     struct {
				Event Event `json:"event"`
			} `json:"codeagent"`
		}
		if err := json.Unmarshal(stdin, &in); err != nil || in.Session != "s1" || in.Folder != "/w" || in.Own.Event == "" {
			t.Errorf("%s: %v", stdin, err)
		}
		input, _ := json.Marshal(in.Input)
		line := h.Command + " " + in.Event + " " + in.Tool + " " + string(input) + in.Prompt
		if in.Active {
			line += " active"
		}
		given = append(given, line)
		return Exit{}
	}})
	const edit = "*** Begin Patch\n*** Update File: a.go\n@@\n one\n-two\n+three\n*** Add File: /etc/b\n+x\n*** Delete File: c\n*** End Patch"
	for _, in := range []Input{
		{Event: BeforeTool, Call: &Call{Tool: "shell", Kind: word.KindCommand, Command: "ls", Folder: "/w", Arguments: json.RawMessage(`{"command":"ls","timeout_ms":9}`)}},
		{Event: BeforeTool, Call: &Call{Tool: "write_stdin", Kind: word.KindInput, Command: "bash -i", Typed: "rm x\n"}},
		{Event: BeforeTool, Call: &Call{Tool: "apply_patch", Kind: word.KindEdit, Command: edit, Folder: "/w"}},
		{Event: BeforeTool, Call: &Call{Tool: "read_file", Kind: word.KindRead, Folder: "/w", Arguments: json.RawMessage(`{"path":"x"}`)}},
		{Event: Prompt, Prompt: "hello"},
		{Event: TurnEnd, Continued: true},
	} {
		s.Fire(t.Context(), in)
	}
	want := []string{
		`bash PreToolUse Bash {"command":"ls","timeout":9}`,
		`bash PreToolUse Bash {"command":"rm x\n"}`,
		`edit PreToolUse Edit {"file_path":"/w/a.go","new_string":"one\nthree\n","old_string":"one\ntwo\n"}`,
		`edit PreToolUse Write {"content":"x\n","file_path":"/etc/b"}`,
		`edit PreToolUse Edit {"file_path":"/w/c","new_string":"","old_string":""}`,
		`prompt UserPromptSubmit  nullhello`,
		`stop Stop  null active`,
	}
	if !slices.Equal(given, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(given, "\n"), strings.Join(want, "\n"))
	}
}

func TestClaudeFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "f: not valid JSON",
		"{\n\"hooks\": {,\n}": "f: not valid JSON",
		"{\n\"hooks\": []\n}": "f: hooks cannot be a JSON array",
	} {
		if _, _, err := Claude("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if list, _, err := Claude("f", []byte(`{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}`)); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// FuzzAnswer: whatever a hook prints, its texts are bounded and harmless.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"decision": "deny", "reason": "\u001b[2J", "additionalContext": "\u009b"}`), []byte("\x1b"), 2)
	h, err := Hook{Event: Prompt, Command: "x"}.Compile()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, exit int) {
		a := answerOf(h, Exit{Stdout: stdout, Stderr: stderr, Exit: exit})
		for _, text := range slices.Concat([]string{a.Reason}, a.Asks, a.Words, a.Warnings) {
			if strings.ContainsAny(text, "\x1b\u009b\u202e\r\x00") || len(text) > 3*maxWords+4<<10 {
				t.Errorf("%q", text)
			}
		}
	})
}
