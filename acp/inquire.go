package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/mcp/inquiry"
)

// elicitationParams are a question of an MCP server or of the model, as a form or as a page to open.
type elicitationParams struct {
	SessionID  string `json:"sessionId"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Mode       string `json:"mode"`
	Message    string `json:"message"`
	// Schema is for a form, the others for a page.
	Schema json.RawMessage `json:"requestedSchema,omitempty"`
	ID     string          `json:"elicitationId,omitempty"`
	URL    string          `json:"url,omitempty"`
}

// Inquire passes a question on, if the editor offers forms, or pages for one with a URL. Everything but an
// answer that fits is declined. The model's never becomes a request for a permission, which every editor
// shows: some have one button for all options of a kind, and it would look like a permission.
func (ses *session) Inquire(ctx context.Context, q inquiry.Question) (inquiry.Reply, error) {
	declined := inquiry.Reply{Action: inquiry.Declined}
	ses.mu.Lock()
	c := ses.view.client
	p := elicitationParams{SessionID: ses.id, ToolCallID: q.CallID, Message: q.Marked("")}
	if ses.view.calls[q.CallID] == nil {
		p.ToolCallID = ""
	}
	ses.mu.Unlock()
	switch {
	case q.URL != "" && c.pages:
		p.Mode, p.URL, p.ID = "url", q.URL, rand.Text()
	case q.URL == "" && c.forms:
		p.Mode, p.Schema = "form", q.Schema()
	case q.ByModel():
		return declined, inquiry.ErrNobody
	default:
		ses.Emit(event.Notice{Level: word.LevelWarning, Text: "the MCP server " + q.Server + " asks for input, which this editor does not offer to pass on: declined"})
		return declined, nil
	}
	var answer struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if err := ses.server.call(ctx, "elicitation/create", p, &answer); err != nil {
		return declined, err
	}
	if answer.Action != inquiry.Accepted && answer.Action != inquiry.Cancelled {
		return declined, nil
	}
	reply, err := q.Answer(answer.Action, answer.Content)
	if err != nil {
		ses.Emit(event.Notice{Level: word.LevelWarning, Text: "the answer to " + q.Asker() + " does not fit its question (" + err.Error() + "): declined"})
		return declined, nil
	}
	return reply, nil
}
