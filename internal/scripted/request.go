package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Request is a client's request, parsed as far as scripts need it.
type Request struct {
	// N counts the requests of the server from 0.
	N int
	// Wire is Chat or Responses.
	Wire   string
	Header http.Header
	// Body is the JSON as received.
	Body  []byte
	Model string
	// Messages are the conversation without its system and developer messages.
	Messages []Message
	// Instructions is the text of the system and developer messages.
	Instructions string
	// Tools are the names of the tools offered.
	Tools []string
	// Thinking are the reasoning items that were sent back (Responses).
	Thinking []json.RawMessage
	// WantsUsage reports stream_options.include_usage.
	WantsUsage bool
	// WantsEncrypted reports that encrypted thinking is asked for (Responses).
	WantsEncrypted bool
	// CacheKey is prompt_cache_key.
	CacheKey  string
	Streaming bool
}

// The APIs that a server supports.
const (
	Chat      = "chat"
	Responses = "responses"
)

// Message is one message of the conversation.
type Message struct {
	Role   string
	Text   string
	Images []string // their media types
	Calls  []Call   // of an assistant message
	CallID string   // of a tool message
}

// FirstUser returns the text of the first user message; empty without one.
func (r Request) FirstUser() string {
	for _, m := range r.Messages {
		if m.Role == "user" {
			return m.Text
		}
	}
	return ""
}

// Last returns the last message; the zero Message without one.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Result returns the last result for the call id; false without one.
func (r Request) Result(id string) (string, bool) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "tool" && m.CallID == id {
			return m.Text, true
		}
	}
	return "", false
}

// content is a message's content or a result: a string, null, or a list of parts.
type content struct {
	text   string
	images []string
}

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &c.text)
	}
	var parts []struct {
		Text  string          `json:"text"`
		Image json.RawMessage `json:"image_url"` // an object over Chat, a string over Responses
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		if p.Image == nil {
			continue
		}
		var url string
		if json.Unmarshal(p.Image, &url) != nil {
			var in struct {
				URL string `json:"url"`
			}
			if err := json.Unmarshal(p.Image, &in); err != nil {
				return err
			}
			url = in.URL
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ";")
		c.images = append(c.images, kind)
	}
	return nil
}

func parseChat(body []byte) (Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role      string  `json:"role"`
			Content   content `json:"content"`
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
			ToolCallID string `json:"tool_call_id"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		CacheKey      string `json:"prompt_cache_key"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("scripted: parse request: %w", err)
	}
	r := Request{Wire: Chat, Body: body, Model: in.Model, CacheKey: in.CacheKey, Streaming: in.Stream, WantsUsage: in.StreamOptions.IncludeUsage}
	for _, m := range in.Messages {
		if m.Role == "system" || m.Role == "developer" {
			r.Instructions += m.Content.text
			continue
		}
		msg := Message{Role: m.Role, Text: m.Content.text, Images: m.Content.images, CallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			msg.Calls = append(msg.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		r.Messages = append(r.Messages, msg)
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	return r, nil
}
