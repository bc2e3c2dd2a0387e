package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"codeagent/mcp/inquiry"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inquirer returns Call.Inquire.
func (s *server) inquirer(req *mcp.CallToolRequest, r *run) func(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return func(ctx context.Context, q inquiry.Question) (inquiry.Reply, error) {
		var p *mcp.ElicitParams
		c := req.ClientCapabilities()
		switch {
		case q.URL == "" && asks(req):
			p = &mcp.ElicitParams{Mode: "form", Message: q.Message, RequestedSchema: schemaOf(q)}
		case q.URL != "" && c != nil && c.Elicitation != nil && c.Elicitation.URL != nil:
			p = &mcp.ElicitParams{Mode: "url", Message: q.Message, URL: q.URL, ElicitationID: rand.Text()}
		default:
			return inquiry.Reply{}, errors.New("the client cannot show such a question (its elicitation does not include it)")
		}
		res, err := s.put(ctx, req, r, p)
		return replyOf(q, res), err
	}
}

// schemaOf are the fields of a question as the schema of an elicitation. The choices are in the form
// that all revisions have.
func schemaOf(q inquiry.Question) json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, f := range q.Fields {
		p := map[string]any{"type": string(f.Kind), "title": f.Label()}
		set := func(key string, v any, is bool) {
			if is {
				p[key] = v
			}
		}
		set("description", f.Description, f.Description != "")
		set("default", f.Default, f.Default != nil)
		least, most := "minimum", "maximum"
		switch f.Kind {
		case inquiry.String:
			least, most = "minLength", "maxLength"
			set("format", f.Format, f.Format != "")
		case inquiry.Choice:
			p["type"], p["enum"] = "string", f.Choices
		case inquiry.Choices:
			least, most = "minItems", "maxItems"
			p["type"], p["items"] = "array", map[string]any{"type": "string", "enum": f.Choices}
		}
		set(least, f.Least, f.Least != nil)
		set(most, f.Most, f.Most != nil)
		properties[f.Name] = p
		if f.Required {
			required = append(required, f.Name)
		}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`) // plain values always marshal
	}
	return schema
}

// replyOf is what a client answered. What does not fit the question is a cancel.
func replyOf(q inquiry.Question, res *mcp.ElicitResult) inquiry.Reply {
	cancel := inquiry.Reply{Action: inquiry.Cancelled}
	switch {
	case res != nil && res.Action == inquiry.Declined:
		return inquiry.Reply{Action: inquiry.Declined}
	case res == nil || res.Action != inquiry.Accepted:
		return cancel
	}
	values := map[string]any{}
	for name, v := range res.Content {
		if list, ok := v.([]any); ok {
			words := []string{}
			for _, one := range list {
				word, ok := one.(string)
				if !ok {
					return cancel
				}
				words = append(words, word)
			}
			v = words
		}
		if v != nil {
			values[name] = v
		}
	}
	if q.Fits(values) != nil {
		return cancel
	}
	return inquiry.Reply{Action: inquiry.Accepted, Values: values}
}
