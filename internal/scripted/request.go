package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "tool" && m.CallID == id {
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

// parse converts a request of either API.
func parse(wire string, body []byte) (Request, error) {
	var in struct {
		Model         string        `json:"model"`
		Stream        bool          `json:"stream"`
		CacheKey      string        `json:"prompt_cache_key"`
		Messages      []chatMessage `json:"messages"`     // Chat
		Instructions  string        `json:"instructions"` // Responses
		Input         input         `json:"input"`        // Responses
		Include       []string      `json:"include"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []struct {
			Name     string `json:"name"` // Responses
			Function struct {
				Name string `json:"name"`
			} `json:"function"` // Chat
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, fmt.Errorf("scripted: parse request: %w", err)
	}
	r := Request{
		Wire: wire, Body: body, Model: in.Model, Instructions: in.Instructions, CacheKey: in.CacheKey, Streaming: in.Stream,
		WantsUsage:     wire == Responses || in.StreamOptions.IncludeUsage,
		WantsEncrypted: slices.Contains(in.Include, "reasoning.encrypted_content"),
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, cmp.Or(t.Name, t.Function.Name))
	}
	for _, m := range in.Messages {
		r.takeChat(m)
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

// chatMessage is one message of a Chat request.
type chatMessage struct {
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
}

func (r *Request) takeChat(m chatMessage) {
	var calls []Call
	for _, c := range m.ToolCalls {
		calls = append(calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	r.say(Message{Role: m.Role, Text: m.Content.text, Images: m.Content.images, Calls: calls, CallID: m.ToolCallID})
}

// say adds a message to the conversation or, by its role, to the instructions.
func (r *Request) say(m Message) {
	if m.Role == "system" || m.Role == "developer" {
		r.Instructions += m.Text
		return
	}
	r.Messages = append(r.Messages, m)
}

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

// take adds an item: calls belong to the assistant message before them, results are tool
// messages.
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
		r.say(Message{Role: it.Role, Text: it.Content.text, Images: it.Content.images})
	}
}
