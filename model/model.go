// Package model holds the words spoken with a language model: the items of a conversation,
// tools and their calls, the deltas of a streamed answer, usage and typed errors. It
// imports nothing of ours and performs no IO; adapters (model/chat, model/responses) turn
// its types into a wire's JSON. Start reading at Item and Delta.
package model

import "encoding/json"

// Kind tells the items of a conversation apart.
type Kind string

const (
	// User is what the person (or a script) said.
	User Kind = "user"
	// Assistant is text the model said.
	Assistant Kind = "assistant"
	// Reasoning is the model's thinking, kept to be sent back.
	Reasoning Kind = "reasoning"
	// Call is a tool call the model made.
	Call Kind = "tool_call"
	// Result answers a Call; every Call has exactly one.
	Result Kind = "tool_result"
	// Note is what codeagent tells the model outside of any call (a steering
	// message's frame, a changed policy); sent with the user's role.
	Note Kind = "note"
	// Summary stands for all that was said before it and is not given to the
	// model any more; sent with the user's role.
	Summary Kind = "summary"
)

// Answers reports whether items of the kind are parts of a model's answer.
func (k Kind) Answers() bool { return k == Assistant || k == Reasoning || k == Call }

// Item is one entry of a conversation. Kind says which fields are set.
type Item struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text,omitempty"`
	// Call is set for Kind Call.
	Call *ToolCall `json:"call,omitempty"`
	// CallID is set for Kind Result: the call it answers. Text is the result.
	CallID string `json:"call_id,omitempty"`
	// Images are what a User shows, or a Result brings, beside its text.
	Images []Image `json:"images,omitempty"`
	// Failed marks a Result that reports an error.
	Failed bool `json:"failed,omitempty"`
	// Opaque is what the provider wants back with this item; nil without. A
	// Reasoning may be nothing but that.
	Opaque *Opaque `json:"opaque,omitempty"`
	// Carried is the agent's own, and no model is sent it. For Kind Summary it is what
	// the next one takes over as it is, and in Text already; for a Result or a Note
	// what it tells beside its text.
	Carried json.RawMessage `json:"carried,omitempty"`
}

// Opaque is what a provider sent beside the text and wants back unchanged:
// encrypted thinking, signatures. It means nothing to anybody else, so an adapter
// sends it only where Source is its own: a conversation may change its model or
// its wire and stays valid.
type Opaque struct {
	// Source names the wire, the host and the model that it came from.
	Source string          `json:"source"`
	Data   json.RawMessage `json:"data"`
}

// ToolCall is one call as the model wrote it. Arguments is the raw text, which
// may not be valid JSON; tools.Plan answers that with words for the model.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolSpec describes one tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is a JSON Schema object for the arguments.
	Schema json.RawMessage
}

// Request is one question to a model.
type Request struct {
	Model        string
	Instructions string
	Items        []Item
	Tools        []ToolSpec
	// MaxOutputTokens is 0 for the provider's own limit.
	MaxOutputTokens int
	// Effort is the reasoning effort ("low", "medium", "high"); empty: unset.
	Effort string
	// Blind: the model cannot see images. It gets words for each instead.
	Blind bool
	// CacheKey is the same for all requests of a conversation: a provider then
	// finds what it has read already. Empty: unset.
	CacheKey string
}

// Usage counts the tokens of one answer, as the provider reported them.
type Usage struct {
	Input     int `json:"input_tokens"`
	Cached    int `json:"cached_input_tokens"`
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_output_tokens"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output, u.Reasoning + v.Reasoning}
}
