package headless

import (
	"strings"

	"codeagent/event/word"
	"codeagent/model"
)

// The lines of --experimental-json: the types of @openai/codex-sdk 0.163.0 (dist/index.d.ts:
// ThreadEvent, ThreadItem) and nothing else. What those types require is always there, also
// when it is empty: their readers do not check.

type plainLine struct {
	Type     string        `json:"type"`
	ThreadID string        `json:"thread_id,omitempty"`
	Item     any           `json:"item,omitempty"`
	Usage    *model.Usage  `json:"usage,omitempty"`
	Error    *plainFailure `json:"error,omitempty"`
	Message  string        `json:"message,omitempty"`
}

type plainFailure struct {
	Message string `json:"message"`
}

type plainHead struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// plainText is an AgentMessageItem or a ReasoningItem.
type plainText struct {
	plainHead
	Text string `json:"text"`
}

type plainCommand struct {
	plainHead
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Status   status `json:"status"`
}

type plainEdit struct {
	plainHead
	Changes []change `json:"changes"`
	Status  status   `json:"status"`
}

// plainCall is an McpToolCallItem.
type plainCall struct {
	plainHead
	Tool string `json:"tool"`
	serverCall
	Status status `json:"status"`
}

type plainPlan struct {
	plainHead
	Items []todo `json:"items"`
}

type plainSearch struct {
	plainHead
	Query string `json:"query"`
}

type plainError struct {
	plainHead
	Message string `json:"message"`
}

// plain returns the line without what only codeagent has; false if nothing remains.
func (ln line) plain() (plainLine, bool) {
	if ln.Helper != nil { // the SDK would take it for the model's own
		return plainLine{}, false
	}
	out := plainLine{Type: ln.Type, ThreadID: ln.ThreadID, Usage: ln.Usage, Message: ln.Message}
	if out.Usage != nil {
		out.Usage = &model.Usage{Input: out.Usage.Input, Cached: out.Usage.Cached, Output: out.Usage.Output, Reasoning: out.Usage.Reasoning}
	}
	switch {
	case ln.Type == "turn.failed" && ln.Outcome == word.TurnInterrupted:
		// The SDK takes a failed turn for the model's: an abort would not be an AbortError.
		out.Type, out.Message = "error", ln.Error.Message
	case ln.Error != nil:
		out.Error = &plainFailure{ln.Error.Message}
	}
	if ln.Item == nil {
		return out, true
	}
	// A FileChangeItem has no state "in progress": it comes when the edit has ended.
	if ln.Item.Type == "file_change" && ln.Item.Status == inProgress {
		return out, false
	}
	out.Item = ln.Item.plain()
	return out, out.Item != nil
}

// plain returns the item as the SDK's types have it; nil if they have none for it.
func (it *item) plain() any {
	head := plainHead{it.ID, it.Type}
	switch {
	case it.Type == "agent_message" || it.Type == "reasoning":
		return plainText{head, it.Text}
	case it.Type == "web_search":
		return plainSearch{head, *it.Query}
	case it.Type == "error":
		return plainError{head, it.Message}
	case it.Type == "todo_list":
		return plainPlan{head, append([]todo{}, it.Items...)}
	case it.Type == "file_change":
		return plainEdit{head, append([]change{}, it.Changes...), it.Status.plain()}
	case it.Type == "command_execution":
		return plainCommand{head, it.Command, it.plainOutput(), it.ExitCode, it.Status.plain()}
	case it.Type == "mcp_tool_call":
		return plainCall{head, it.Tool, *it.serverCall, it.Status.plain()}
	case it.Type == "tool_call" && it.Job != 0:
		// The output and the end of a background command have the shape that readers know.
		head.Type = "command_execution"
		state := it.Status.plain()
		if it.ExitCode != nil && *it.ExitCode != 0 {
			state = failed // the call succeeded, and its command did not
		}
		return plainCommand{head, it.Title, it.plainOutput(), it.ExitCode, state}
	}
	return nil
}

// plainOutput is the output. For a command without an exit status, its last line is why: the SDK's
// type has no other place for it.
func (it *item) plainOutput() string {
	text := ""
	if it.Output != nil {
		text = *it.Output
	}
	if it.Message == "" || it.ExitCode != nil {
		return text
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + it.Message + "\n"
}

// plain returns the one of the SDK's three states that comes nearest.
func (s status) plain() status {
	if s == declined || s == notStarted {
		return failed
	}
	return s
}
