// Package model holds the types exchanged with a language model: the items of a conversation,
// tools and their calls, the deltas of a streamed answer, usage and typed errors. It
// imports no other room and performs no IO; adapters (model/chat, model/responses) convert
// its types to the JSON of an API. Start reading at Item and Delta.
package model

import (
	"cmp"
	"encoding/json"
)

// Kind is the type of an item in a conversation.
type Kind string

const (
	// User is what the person (or a script) wrote.
	User Kind = "user"
	// Assistant is text of the model.
	Assistant Kind = "assistant"
	// Reasoning is the model's thinking, kept because providers want it back.
	Reasoning Kind = "reasoning"
	// Call is a tool call the model made.
	Call Kind = "tool_call"
	// Result answers a Call; every Call has exactly one.
	Result Kind = "tool_result"
	// Note is what codeagent tells the model outside a call (the frame of a steering message,
	// a changed policy); sent with the user's role.
	Note Kind = "note"
	// Summary replaces everything before it, which is no longer sent to the model; sent with
	// the user's role.
	Summary Kind = "summary"
)

// Answers reports whether items of the kind are part of a model's answer.
func (k Kind) Answers() bool { return k == Assistant || k == Reasoning || k == Call }

// Item is one entry of a conversation. Kind says which fields are set.
type Item struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text,omitempty"`
	// Typed is what the person typed, where Text of a User was made of that ("/review"), and About
	// names what it is for. No model receives them.
	Typed string `json:"typed,omitempty"`
	About string `json:"about,omitempty"`
	// Call is set for Kind Call.
	Call *ToolCall `json:"call,omitempty"`
	// CallID is set for Kind Result: the call it answers. Text is the result.
	CallID string `json:"call_id,omitempty"`
	// Images are the images of a User or a Result beside its text.
	Images []Image `json:"images,omitempty"`
	// Failed marks a Result that reports an error.
	Failed bool `json:"failed,omitempty"`
	// Search is the web search of the provider that an Assistant's text is based on; nil: none.
	Search *Search `json:"search,omitempty"`
	// Opaque is what the provider wants back with this item; nil if there is nothing. A
	// Reasoning may consist of only that.
	Opaque *Opaque `json:"opaque,omitempty"`
	// Carried is data of the agent that no model receives. For Kind Summary it is what the
	// next summary takes over unchanged, and Text contains it too. For a Result or a Note it
	// is information beside its text.
	Carried json.RawMessage `json:"carried,omitempty"`
}

// Said returns what the person wrote in a User.
func (i Item) Said() string { return cmp.Or(i.Typed, i.Text) }

// Opaque is what a provider sent beside the text and wants back unchanged: encrypted
// thinking, signatures. Only that provider can read it, so an adapter sends it only if
// Source is its own. A conversation therefore stays valid when its model or API changes.
type Opaque struct {
	// Source names the API, the host and the model that it came from.
	Source string          `json:"source"`
	Data   json.RawMessage `json:"data"`
}

// Size returns the bytes of o's data; o may be nil.
func (o *Opaque) Size() int {
	if o == nil {
		return 0
	}
	return len(o.Data)
}

// ToolCall is one call as the model wrote it. Arguments is the raw text, which may be invalid
// JSON; tools.Plan then returns an error that the model can read.
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

// Request is one request to a model.
type Request struct {
	Model        string
	Instructions string
	Items        []Item
	Tools        []ToolSpec
	// MaxOutputTokens is 0 for the provider's own limit.
	MaxOutputTokens int
	// Effort is the reasoning effort ("low", "medium", "high"); empty: unset.
	Effort string
	// Blind: the model cannot see images. It receives words in place of each image.
	Blind bool
	// Schema is the JSON Schema that the text of the answer must fit; nil: any text. A provider that
	// does not offer this gets the request without it.
	Schema json.RawMessage
	// Search: the provider may search the web with its own tool. One that refuses this gets the request
	// without it.
	Search bool
	// CacheKey is the same for all requests of a conversation, so that the provider's prompt
	// cache applies. Empty: unset.
	CacheKey string
}

// Usage counts the tokens of one answer, as the provider reported them, and what they cost.
type Usage struct {
	Input     int  `json:"input_tokens"`
	Cached    int  `json:"cached_input_tokens"`
	Output    int  `json:"output_tokens"`
	Reasoning int  `json:"reasoning_output_tokens"`
	Cost      Cost `json:"cost,omitzero"`
}

// Cost is an amount for each source of prices. The zero value: nothing is known.
type Cost struct {
	// USD is by the provider's list, Settings by models.NAME.price, in the currency of that.
	USD      float64 `json:"usd,omitzero"`
	Settings float64 `json:"settings,omitzero"`
	// Unpriced counts the tokens whose price is not known.
	Unpriced int `json:"unpriced_tokens,omitzero"`
}

// Known reports whether any price was known.
func (c Cost) Known() bool { return c.USD > 0 || c.Settings > 0 }

// Listing is what a provider's list says of a model; Window, its context in tokens, is 0 if it does not say.
type Listing struct {
	Price  Price
	Window int
}

// Price is what a model costs for a million tokens; the zero value: not known.
type Price struct{ Input, Cached, Output float64 }

// Of is what u costs. Cached tokens are part of the input, unless a provider reports more of them.
func (p Price) Of(u Usage) float64 {
	cached, fresh := max(0, u.Cached), max(0, u.Input)
	if cached <= fresh {
		fresh -= cached
	}
	return (float64(fresh)*p.Input + float64(cached)*p.Cached + float64(max(0, u.Output))*p.Output) / 1e6
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	c, d := u.Cost, v.Cost
	return Usage{
		u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output, u.Reasoning + v.Reasoning,
		Cost{c.USD + d.USD, c.Settings + d.Settings, c.Unpriced + d.Unpriced},
	}
}
