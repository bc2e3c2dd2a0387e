package headless

import (
	"encoding/json"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/visible"
)

// serverCall is what a call of an MCP server has beside its tool, as the Codex SDK's McpToolCallItem.
type serverCall struct {
	ServerName string          `json:"server"`
	Arguments  json.RawMessage `json:"arguments"`
	Result     *servedResult   `json:"result,omitempty"`
	Failure    *failure        `json:"error,omitempty"`
}

// servedResult is what the server answered. Content is text: what it holds beside text is named
// there.
type servedResult struct {
	Content    []servedText    `json:"content"`
	Structured json.RawMessage `json:"structured_content"`
}

type servedText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func servedCall(e event.ToolStarted) *serverCall {
	return &serverCall{ServerName: e.Server.Server, Arguments: jsonOf(e.Server.Arguments)}
}

// jsonOf is a text that is JSON, or else a string of it.
func jsonOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := visible.JSON(text, "")
	if err != nil {
		return json.RawMessage("null") // a string always marshals
	}
	return quoted
}

// answered is s with the end of the call: a result, or why not.
func (s *serverCall) answered(e event.ToolFinished) *serverCall {
	out := *s
	if e.Outcome != word.OK {
		words := e.Output
		if words == "" {
			words = e.Message
		}
		if words == "" {
			words = string(e.Outcome)
		}
		out.Failure = &failure{Message: words}
		return &out
	}
	out.Result = &servedResult{[]servedText{{"text", e.Output}}, json.RawMessage("null")}
	if e.Structured != "" {
		out.Result.Structured = jsonOf(e.Structured)
	}
	return &out
}
