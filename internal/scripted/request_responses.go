package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
)

// inputItem is one item of a Responses request.
type inputItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

// input is a list of items, or a string with the user's message.
type input []json.RawMessage

func (i *input) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*i = input{json.RawMessage(`{"type":"message","role":"user","content":` + string(data) + `}`)}
		return nil
	}
	return json.Unmarshal(data, (*[]json.RawMessage)(i))
}

// parseResponses converts a Responses request to a Request: calls belong to the assistant
// message before them, results are tool messages.
func parseResponses(body []byte) (Request, error) {
	var in struct {
		Model        string   `json:"model"`
		Stream       bool     `json:"stream"`
		Instructions string   `json:"instructions"`
		Input        input    `json:"input"`
		Include      []string `json:"include"`
		CacheKey     string   `json:"prompt_cache_key"`
		Tools        []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("scripted: parse request: %w", err)
	}
	r := Request{
		Wire: Responses, Body: body, Model: in.Model, Instructions: in.Instructions, CacheKey: in.CacheKey, Streaming: in.Stream,
		WantsUsage: true, WantsEncrypted: slices.Contains(in.Include, "reasoning.encrypted_content"),
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, raw := range in.Input {
		var it inputItem
		if err := json.Unmarshal(raw, &it); err != nil {
			return Request{}, fmt.Errorf("scripted: parse an input item: %w", err)
		}
		r.take(it, raw)
	}
	return r, nil
}

func (r *Request) take(it inputItem, raw json.RawMessage) {
	switch it.Type {
	case "reasoning":
		r.Thinking = append(r.Thinking, raw)
	case "function_call":
		if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != "assistant" {
			r.Messages = append(r.Messages, Message{Role: "assistant"})
		}
		last := &r.Messages[len(r.Messages)-1]
		last.Calls = append(last.Calls, Call{ID: it.CallID, Name: it.Name, Arguments: it.Arguments})
	case "function_call_output":
		r.Messages = append(r.Messages, Message{Role: "tool", Text: it.Output.text, CallID: it.CallID})
	case "message", "":
		if it.Role == "system" || it.Role == "developer" {
			r.Instructions += it.Content.text
			return
		}
		r.Messages = append(r.Messages, Message{Role: it.Role, Text: it.Content.text, Images: it.Content.images})
	}
}
