package hooks

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"codeagent/event/word"
	"codeagent/patch"
	"codeagent/sandbox"
)

// Input is what happens at an event.
type Input struct {
	Event Event
	// Policy is what the hook may access: that of whoever it runs for, without answers of the user's.
	Policy sandbox.Policy
	// Call is the tool call, of BeforeTool, AfterTool and Question.
	Call *Call
	// Result is how the call ended, of AfterTool.
	Result *Result
	// Prompt is the user's message.
	Prompt string
	// QuestionInput is the question.
	Asked *QuestionInput
	// Continued: a hook for TurnEnd has already made this turn continue.
	Continued bool
	// Resumed: the session continues an earlier run.
	Resumed bool
}

// Call is a tool call.
type Call struct {
	ID   string    `json:"id"`
	Tool string    `json:"tool"`
	Kind word.Kind `json:"kind"`
	// Title describes it in one line.
	Title string `json:"title"`
	// Arguments are those of the model.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Command is the text of a command, the patch of an edit, or the URL of a page. Typed is what is
	// typed to a running command.
	Command string `json:"command,omitempty"`
	Typed   string `json:"typed,omitempty"`
	Folder  string `json:"folder,omitempty"`
	// Paths are the files that an edit changes, absolute.
	Paths []string `json:"paths,omitempty"`
	// Outside: the model asks to run it outside the sandbox.
	Outside bool `json:"outside,omitempty"`
}

// Result is how a call ended, with what the kernel saw.
type Result struct {
	Outcome word.Outcome    `json:"outcome"`
	Exit    int             `json:"exit"`
	Signal  string          `json:"signal,omitempty"`
	Output  string          `json:"output"`
	Verdict sandbox.Verdict `json:"sandbox"`
	// Changed are paths of files that it changed, as far as that is known.
	Changed []string `json:"changed,omitempty"`
}

// QuestionInput is a question to the user.
type QuestionInput struct {
	Title         string           `json:"title"`
	Wanted        sandbox.Grant    `json:"wanted"`
	Denials       []sandbox.Denial `json:"denials,omitempty"`
	Justification string           `json:"justification,omitempty"`
	Held          bool             `json:"held,omitempty"`
}

// payload is what one run of a hook is given.
type payload interface {
	encode(o Options) ([]byte, error)
}

// native is the format of codeagent.
type native struct {
	Event     Event          `json:"event"`
	Session   string         `json:"session"`
	Folder    string         `json:"folder"`
	Call      *Call          `json:"call,omitempty"`
	Result    *Result        `json:"result,omitempty"`
	Prompt    string         `json:"prompt,omitempty"`
	Question  *QuestionInput `json:"question,omitempty"`
	Continued bool           `json:"continued,omitempty"`
	Resumed   bool           `json:"resumed,omitempty"`
}

func nativeOf(in Input) native {
	n := native{Event: in.Event, Call: in.Call, Result: in.Result, Prompt: in.Prompt, Question: in.Asked, Continued: in.Continued, Resumed: in.Resumed}
	if n.Call != nil && !json.Valid(n.Call.Arguments) {
		call := *n.Call
		call.Arguments = nil
		n.Call = &call
	}
	return n
}

func (n native) encode(o Options) ([]byte, error) {
	n.Session, n.Folder = o.Session, o.Folder
	return encoded(n)
}

func encoded(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("its input: %w", err)
	}
	return append(data, '\n'), nil
}

// claude is the format of Claude Code. Codeagent has the same in codeagent's own words.
type claude struct {
	Session    string         `json:"session_id"`
	Transcript string         `json:"transcript_path"` // no file of that format exists
	Folder     string         `json:"cwd"`
	Mode       string         `json:"permission_mode"`
	Event      string         `json:"hook_event_name"`
	Tool       string         `json:"tool_name,omitempty"`
	Input      map[string]any `json:"tool_input,omitempty"`
	CallID     string         `json:"tool_use_id,omitempty"`
	Response   map[string]any `json:"tool_response,omitempty"`
	Prompt     *string        `json:"prompt,omitempty"`
	Active     *bool          `json:"stop_hook_active,omitempty"`
	Source     string         `json:"source,omitempty"`
	Codeagent  native         `json:"codeagent"`
}

func (c claude) encode(o Options) ([]byte, error) {
	c.Session, c.Folder, c.Mode = o.Session, o.Folder, "default"
	c.Codeagent.Session, c.Codeagent.Folder = o.Session, o.Folder
	return encoded(c)
}

// forClaude returns what a hook of Claude Code is given: for an edit of several files one entry for
// each, since it expects one file.
func (h Hook) forClaude(in Input) (out []payload) {
	c := claude{Event: claudeEvents[in.Event], Codeagent: nativeOf(in)}
	switch in.Event {
	case SessionStart:
		if c.Source = "startup"; in.Resumed {
			c.Source = "resume"
		}
		if h.match != nil && !h.match.MatchString(c.Source) {
			return nil
		}
	case Prompt:
		c.Prompt = &in.Prompt
	case TurnEnd:
		c.Active = &in.Continued
	}
	if in.Call == nil {
		return []payload{c}
	}
	if in.Result != nil {
		c.Response = map[string]any{"stdout": in.Result.Output, "stderr": "", "interrupted": in.Result.Outcome == word.Interrupted, "exit_code": in.Result.Exit, "success": in.Result.Outcome == word.OK}
	}
	c.CallID = in.Call.ID
	for _, known := range claudeCalls(*in.Call) {
		for _, name := range known.names {
			if h.match == nil || h.match.MatchString(name) {
				c.Tool, c.Input = name, known.input
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// claudeCall is a call as a hook of Claude Code knows it. A hook for any of the names gets it.
type claudeCall struct {
	names []string
	input map[string]any
}

// claudeCalls returns what c is in Claude Code.
func claudeCalls(c Call) []claudeCall {
	if c.Kind == word.KindEdit {
		return claudeEdits(c)
	}
	given := map[string]any{}
	_ = json.Unmarshal(c.Arguments, &given) // arguments that are no object have no fields
	input := map[string]any{}
	take := func(to, from string) {
		if v, ok := given[from]; ok {
			input[to] = v
		}
	}
	file := func() {
		if p, ok := given["path"].(string); ok && p != "" {
			given["path"] = c.absolute(p)
		}
	}
	switch c.Tool {
	case "shell":
		input["command"] = c.Command
		take("description", "justification")
		take("timeout", "timeout_ms")
		take("run_in_background", "background")
		return []claudeCall{{[]string{"Bash"}, input}}
	case "write_stdin": // what is typed may be a command for a shell
		input["command"] = c.Typed
		return []claudeCall{{[]string{"Bash"}, input}}
	case "read_file", "view_image":
		file()
		take("file_path", "path")
		take("offset", "offset")
		take("limit", "limit")
		return []claudeCall{{[]string{"Read"}, input}}
	case "list_files":
		file()
		take("path", "path")
		take("pattern", "glob")
		return []claudeCall{{[]string{"Glob", "LS"}, input}}
	case "search":
		file()
		take("path", "path")
		take("pattern", "pattern")
		take("glob", "glob")
		return []claudeCall{{[]string{"Grep"}, input}}
	case "fetch_url":
		take("url", "url")
		input["prompt"] = ""
		return []claudeCall{{[]string{"WebFetch"}, input}}
	case "update_plan":
		return []claudeCall{{[]string{"TodoWrite"}, given}}
	case "ask_user":
		return []claudeCall{{[]string{"AskUserQuestion"}, given}}
	}
	return []claudeCall{{[]string{c.Tool}, given}}
}

// claudeEdits returns one entry for each file of a patch.
func claudeEdits(c Call) (out []claudeCall) {
	names := func(first string) []string {
		return append([]string{first}, "Edit", "Write", "MultiEdit", "NotebookEdit")
	}
	p, err := patch.Parse(c.Command)
	if err != nil {
		for _, name := range c.Paths {
			out = append(out, claudeCall{names("Edit"), map[string]any{"file_path": c.absolute(name)}})
		}
		return out
	}
	for _, f := range p.Files {
		name := c.absolute(f.Path)
		if f.Op == patch.Add {
			out = append(out, claudeCall{names("Write"), map[string]any{"file_path": name, "content": string(f.Content)}})
			continue
		}
		before, after := texts(f)
		out = append(out, claudeCall{names("Edit"), map[string]any{"file_path": name, "old_string": before, "new_string": after}})
		if f.MoveTo != "" {
			out = append(out, claudeCall{names("Write"), map[string]any{"file_path": c.absolute(f.MoveTo), "content": after}})
		}
	}
	return out
}

// texts returns the old and the new lines of an edit.
func texts(f patch.File) (before, after string) {
	var old, now strings.Builder
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Kind != '+' {
				old.WriteString(l.Text + "\n")
			}
			if l.Kind != '-' {
				now.WriteString(l.Text + "\n")
			}
		}
	}
	return old.String(), now.String()
}

func (c Call) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(c.Folder, name)
}
