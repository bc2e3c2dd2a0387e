package acp

import (
	"bytes"
	"context"
	"encoding/json"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/mcp/inquiry"
)

// elicitationParams are a question of an MCP server, as a form or as a page to open.
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

// Inquire passes a question of an MCP server on, if the editor offers forms, or pages for one with a
// URL. Everything but an answer that fits is declined.
func (ses *session) Inquire(ctx context.Context, q inquiry.Question) (inquiry.Reply, error) {
	declined := inquiry.Reply{Action: inquiry.Declined}
	ses.mu.Lock()
	c := ses.view.client
	p := elicitationParams{SessionID: ses.id, ToolCallID: q.CallID, Message: inquiry.Marked("The MCP server "+visible.Line(q.Server), visible.Text(q.Message))}
	if ses.view.calls[q.CallID] == nil {
		p.ToolCallID = ""
	}
	ses.mu.Unlock()
	switch {
	case q.URL != "" && c.pages:
		p.Mode, p.URL, p.ID = "url", q.URL, ses.server.name()
	case q.URL == "" && c.forms:
		p.Mode, p.Schema = "form", formOf(q.Fields)
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
	switch answer.Action {
	case inquiry.Cancelled:
		return inquiry.Reply{Action: inquiry.Cancelled}, nil
	case inquiry.Accepted:
		values := valuesOf(q, answer.Content)
		if err := q.Fits(values); err != nil {
			ses.Emit(event.Notice{Level: word.LevelWarning, Text: "the answer to the MCP server " + q.Server + " does not fit its question (" + err.Error() + "): declined"})
			return declined, nil
		}
		return inquiry.Reply{Action: inquiry.Accepted, Values: values}, nil
	}
	return declined, nil
}

// valuesOf takes the values of the fields from an answer.
func valuesOf(q inquiry.Question, content map[string]any) map[string]any {
	out := map[string]any{}
	for _, f := range q.Fields {
		v, ok := content[f.Name]
		if !ok || v == nil {
			continue
		}
		if list, many := v.([]any); many {
			texts := []string{}
			for _, one := range list {
				text, _ := one.(string) // "" fits no choice
				texts = append(texts, text)
			}
			v = texts
		}
		out[f.Name] = v
	}
	return out
}

// formOf is the schema of a form. An object of Go would lose the order of the fields.
func formOf(fields []inquiry.Field) json.RawMessage {
	var b bytes.Buffer
	required := []string{}
	b.WriteString(`{"type":"object","properties":{`)
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key(f.Name) + ":" + key(propertyOf(f)))
		if f.Required {
			required = append(required, f.Name)
		}
	}
	b.WriteString(`},"required":` + key(required) + `}`)
	return b.Bytes()
}

func propertyOf(f inquiry.Field) map[string]any {
	p := map[string]any{"type": string(f.Kind)}
	least, most := "minimum", "maximum"
	switch f.Kind {
	case inquiry.String:
		least, most = "minLength", "maxLength"
	case inquiry.Choice:
		p["type"], p["enum"] = "string", f.Choices
	case inquiry.Choices:
		p["type"], p["items"] = "array", map[string]any{"type": "string", "enum": f.Choices}
		least, most = "minItems", "maxItems"
	}
	for name, v := range map[string]string{"title": f.Title, "description": f.Description, "format": f.Format} {
		if v != "" {
			p[name] = visible.Text(v)
		}
	}
	if f.Least != nil {
		p[least] = *f.Least
	}
	if f.Most != nil {
		p[most] = *f.Most
	}
	if f.Default != nil {
		p["default"] = f.Default
	}
	return p
}
