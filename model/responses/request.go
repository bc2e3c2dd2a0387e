package responses

import (
	"cmp"
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"codeagent/model"
	"codeagent/model/wire"
)

// quirks records what a provider has refused.
type quirks struct {
	noInclude  bool // encrypted thinking, for models that do not have it
	noSummary  bool // reasoning.summary: OpenAI wants a verified organization
	noEffort   bool // reasoning.effort
	noThinking bool // earlier thinking: of another key, or too old to decrypt
	noCacheKey bool
	noStore    bool
	noLimit    bool // max_output_tokens
	strictIDs  bool // ids of calls that other providers accept
	format     wire.Format
}

// After learns from a refusal, see wire.Client.
func (q quirks) After(err error) (quirks, bool) {
	refused, old := wire.RefusalIn(err, 400, 404, 422), q
	switch {
	case q.format.After(refused) != q.format:
		q.format = q.format.After(refused)
	case refused.Names("encrypted content is not supported", "reasoning.encrypted_content", "'include'"):
		q.noInclude = true
	case refused.Names("encrypted content", "encrypted_content", "items are not persisted", "required following item", "required 'reasoning' item"):
		q.noThinking = true
	case refused.Names("reasoning.summary", "reasoning summar"):
		q.noSummary = true
	case refused.Names("reasoning.effort", "reasoning_effort"):
		q.noEffort = true
	case refused.Names("'reasoning'"):
		q.noSummary, q.noEffort = true, true
	case refused.Names("prompt_cache_key"):
		q.noCacheKey = true
	case refused.Names("'store'"):
		q.noStore = true
	case refused.Names("max_output_tokens"):
		q.noLimit = true
	case refused.Names("call_id", "tool call id"):
		q.strictIDs = true
	}
	return q, q != old
}

// request converts an attempt to go-openai's types.
func request(a *attempt) openai.CreateResponseRequest {
	q := a.Quirks
	out := openai.CreateResponseRequest{Model: a.Model, Instructions: a.Instructions}
	out.Input = input(a)
	for _, t := range a.Tools {
		out.Tools = append(out.Tools, tool(t))
	}
	if a.Search {
		out.Tools = append(out.Tools, openai.ResponseTool{Type: openai.ToolType(cmp.Or(a.SearchTool, "web_search"))})
	}
	if !q.noStore {
		out.Store = new(false)
	}
	if !q.noInclude {
		out.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	if !q.noCacheKey {
		out.PromptCacheKey = a.CacheKey
	}
	if !q.noLimit {
		out.MaxOutputTokens = a.MaxOutputTokens
	}
	if a.Schema != nil && q.format.Sent() {
		out.Text = &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{
			Type: "json_schema", Name: q.format.Name(), Schema: a.Schema, Strict: q.format.Strict(),
		}}
	}
	var r openai.ResponseReasoning
	if !q.noEffort {
		r.Effort = a.Effort
	}
	if !q.noSummary && (wire.ReasonsByName(a.Model) || a.Effort != "") {
		r.Summary = "auto"
	}
	if r != (openai.ResponseReasoning{}) {
		out.Reasoning = &r
	}
	return out
}

// tool sets strict: false, because the API's default is true, and a strict schema may have no
// optional field.
func tool(t model.ToolSpec) openai.ResponseTool {
	return openai.ResponseTool{Type: openai.ToolTypeFunction, Parameters: map[string]any{
		"name": t.Name, "description": t.Description, "parameters": wire.Schema(t), "strict": false,
	}}
}

// The items of a request. They have no ids: the provider would look them up, and nothing is
// stored there.
type (
	message struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content []part `json:"content"`
		Phase   string `json:"phase,omitempty"`
	}
	part struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
		Detail   string `json:"detail,omitempty"` // "auto" for an image: vLLM requires it
	}
	functionCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	functionOutput struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
)

// phase is the Opaque of an assistant message: whether it was commentary or the final answer.
// Newer models want it back.
type phase struct {
	Phase string `json:"phase"`
}

// input converts items to input items that every provider accepts. Each call has one result
// after the calls of its answer, and nothing is empty. Thinking is sent only to the provider
// it came from, and only with the item it led to.
func input(a *attempt) []any {
	in := &inputter{attempt: a, conversation: wire.NewConversation(a.Items), out: []any{}}
	in.conversation.Each(in.user, in.answer)
	return in.out
}

type inputter struct {
	*attempt
	conversation *wire.Conversation
	out          []any
}

// user adds a message with the user's role.
func (in *inputter) user(text string, images []model.Image) {
	var content []part
	for _, p := range in.View.Parts(text, images) {
		if p.Image != nil {
			content = append(content, part{Type: "input_image", ImageURL: wire.DataURL(p.Image), Detail: "auto"})
		} else {
			content = append(content, part{Type: "input_text", Text: p.Text})
		}
	}
	if len(content) > 0 {
		in.out = append(in.out, message{Type: "message", Role: "user", Content: content})
	}
}

// answer adds items[from:to], and the results of its calls.
func (in *inputter) answer(from, to int) {
	var calls []string
	var thought []any // thinking before the item that it led to
	add := func(item any) {
		in.out = append(append(in.out, thought...), item)
		thought = nil
	}
	for _, it := range in.Items[from:to] {
		switch {
		case it.Kind == model.Reasoning && it.Opaque != nil && it.Opaque.Source == in.Source && !in.Quirks.noThinking:
			thought = append(thought, it.Opaque.Data)
		case it.Kind == model.Assistant && strings.TrimSpace(it.Text) != "":
			m := message{Type: "message", Role: "assistant", Content: []part{{Type: "output_text", Text: it.Text}}}
			if it.Opaque != nil && it.Opaque.Source == in.Source {
				var p phase
				if json.Unmarshal(it.Opaque.Data, &p) == nil {
					m.Phase = p.Phase
				}
			}
			add(m)
		case it.Kind == model.Call && it.Call != nil:
			add(functionCall{"function_call", wire.CallID(it.Call.ID, in.Model, in.Quirks.strictIDs), wire.CallName(it.Call.Name), wire.Arguments(it.Call.Arguments)})
			calls = append(calls, it.Call.ID)
		}
	}
	in.conversation.Results(to, calls, func(call int, text string) {
		in.out = append(in.out, functionOutput{"function_call_output", wire.CallID(calls[call], in.Model, in.Quirks.strictIDs), text})
	}, in.user)
}
