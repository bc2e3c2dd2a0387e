package chat

import (
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"codeagent/model"
	"codeagent/model/wire"
)

// quirks records what a provider has refused.
type quirks struct {
	noUsage     bool // stream_options
	noEffort    bool // reasoning_effort
	noReasoning bool // reasoning_content of earlier messages
	// reasoning: the provider's answers have reasoning_content, or it has missed it.
	reasoning bool
	strictIDs bool // ids of calls that other providers accept
	// limit is the field for the output limit: "", "max_tokens",
	// "max_completion_tokens" or "none".
	limit  string
	format wire.Format
}

// After learns from a refusal, see wire.Client.
func (q quirks) After(err error) (quirks, bool) {
	refused, old := wire.RefusalIn(err, 400, 422), q
	switch {
	case refused.Names("stream_options", "include_usage"):
		q.noUsage = true
	case refused.Names("reasoning_effort"):
		q.noEffort = true
	case q.format.After(refused) != q.format:
		q.format = q.format.After(refused)
	case refused.Names("reasoning_content"):
		q.reasoning, q.noReasoning = true, q.reasoning
	case refused.Names("tool call id", "tool_call_id", "tool_calls"):
		q.strictIDs = true
	case refused.Names("max_tokens") && refused.Names("max_completion_tokens"):
		// "use 'max_completion_tokens' instead", or the other way round.
		if _, use, ok := strings.Cut(string(refused), "use "); ok {
			q.limit = "max_tokens"
			if strings.Contains(use, "max_completion_tokens") {
				q.limit = "max_completion_tokens"
			}
		}
	case refused.Names("max_completion_tokens"):
		q.limit = "max_tokens"
		if old.limit != "" {
			q.limit = "none"
		}
	}
	return q, q != old
}

// request converts an attempt to go-openai's types, and returns the fields that these lack.
func request(a *attempt) (openai.ChatCompletionRequest, additions) {
	reasons := wire.ReasonsByName(a.Model)
	own := a.Host == "api.openai.com"
	out := openai.ChatCompletionRequest{Model: a.Model}
	if a.Instructions != "" {
		role := openai.ChatMessageRoleSystem
		if own && reasons {
			role = openai.ChatMessageRoleDeveloper
		}
		out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: role, Content: a.Instructions})
	}
	m := messages(a, a.Quirks.reasoning && !a.Quirks.noReasoning)
	more := additions{extra: m.extra, details: map[int][]detail{}}
	for i, blocks := range m.details {
		more.details[len(out.Messages)+i] = blocks
	}
	out.Messages = append(out.Messages, m.out...)
	if own { // others refuse unknown fields
		more.cacheKey = a.CacheKey
	}
	for _, t := range a.Tools {
		out.Tools = append(out.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: wire.Schema(t)},
		})
	}
	if a.Search && a.SearchTool != "" {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolType(a.SearchTool)})
	} else {
		more.search = a.Search
	}
	if !a.Quirks.noUsage {
		out.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if !a.Quirks.noEffort {
		out.ReasoningEffort = a.Effort
	}
	if a.Schema != nil && a.Quirks.format.Sent() {
		out.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: a.Quirks.format.Name(), Schema: a.Schema, Strict: a.Quirks.format.Strict()},
		}
	}
	limit := a.Quirks.limit
	if limit == "" {
		limit = "max_tokens" // every compatible server accepts it
		if own || reasons {
			limit = "max_completion_tokens"
		}
	}
	switch {
	case limit == "max_completion_tokens":
		out.MaxCompletionTokens = a.MaxOutputTokens
	case limit == "max_tokens" && !reasons: // go-openai refuses it for such model names
		//lint:ignore SA1019 OpenAI deprecates it; the servers that follow OpenAI know no other
		out.MaxTokens = a.MaxOutputTokens
	}
	return out, more
}

// messages converts items to messages that every provider accepts. The text and calls of
// one answer are one assistant message, each call is followed directly by its one result,
// nothing is empty, and consecutive messages of the person are joined (strict chat templates
// require alternating turns).
func messages(a *attempt, withReasoning bool) *messenger {
	m := &messenger{attempt: a, conversation: wire.NewConversation(a.Items), extra: map[string]json.RawMessage{}, details: map[int][]detail{}}
	m.thinking = len(a.Items)
	for withReasoning && m.thinking > 0 && a.Items[m.thinking-1].Kind != model.User {
		m.thinking--
	}
	m.conversation.Each(m.user, m.assistant)
	return m
}

type messenger struct {
	*attempt
	conversation *wire.Conversation
	// thinking is the position from which thinking is sent: providers want it back within the
	// same turn, and refuse or ignore it elsewhere.
	thinking int
	extra    map[string]json.RawMessage // of calls, see additions
	details  map[int][]detail           // of messages of out
	out      []openai.ChatCompletionMessage
}

// user adds a message with the user's role.
func (m *messenger) user(text string, images []model.Image) {
	for _, p := range m.View.Parts(text, images) {
		if n := len(m.out); n == 0 || m.out[n-1].Role != openai.ChatMessageRoleUser {
			m.out = append(m.out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser})
		}
		add(&m.out[len(m.out)-1], p)
	}
}

// add appends p to msg. Only a message with an image has a list of parts: many servers
// accept only text.
func add(msg *openai.ChatCompletionMessage, p wire.Part) {
	switch n := len(msg.MultiContent); {
	case p.Image != nil:
		if n == 0 && msg.Content != "" {
			msg.MultiContent = append(msg.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: msg.Content})
			msg.Content = ""
		}
		msg.MultiContent = append(msg.MultiContent, openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: wire.DataURL(p.Image)},
		})
	case n > 0:
		msg.MultiContent = append(msg.MultiContent, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: p.Text})
	case msg.Content == "":
		msg.Content = p.Text
	default:
		msg.Content += "\n\n" + p.Text
	}
}

// maxCalls is how many calls OpenAI accepts in one message. Its models make more than that,
// and it refuses to read them back: "Invalid 'messages[3].tool_calls': array too long".
const maxCalls = 128

// assistant adds the messages of items[from:to], an answer, and the results of its calls.
func (m *messenger) assistant(from, to int) {
	for begin, calls := from, 0; from < to; from++ {
		if m.Items[from].Kind == model.Call {
			calls++
		}
		if calls == maxCalls || from == to-1 {
			m.message(begin, from+1, to)
			begin, calls = from+1, 0
		}
	}
}

// message adds one message of items[from:to], and the results of its calls, which come
// after the answer's end.
func (m *messenger) message(from, to, end int) {
	msg := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
	var text, thought, calls []string
	var blocks []detail
	for _, it := range m.Items[from:to] {
		k := keptIn(it, m.Source)
		blocks = append(blocks, k.Details...)
		if it.Call != nil && len(k.Extra) > 0 {
			m.extra[wire.CallID(it.Call.ID, m.Model, m.Quirks.strictIDs)] = k.Extra
		}
		switch {
		case it.Kind == model.Assistant && strings.TrimSpace(it.Text) != "":
			text = append(text, it.Text)
		case it.Kind == model.Reasoning && it.Text != "":
			thought = append(thought, it.Text)
		case it.Kind == model.Call && it.Call != nil:
			msg.ToolCalls = append(msg.ToolCalls, openai.ToolCall{
				ID: wire.CallID(it.Call.ID, m.Model, m.Quirks.strictIDs), Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: wire.CallName(it.Call.Name), Arguments: wire.Arguments(it.Call.Arguments)},
			})
			calls = append(calls, it.Call.ID)
		}
	}
	msg.Content = strings.Join(text, "\n\n")
	if msg.Content == "" && len(msg.ToolCalls) == 0 {
		return // thinking alone is not a message
	}
	if len(blocks) > 0 {
		m.details[len(m.out)] = blocks
	} else if from >= m.thinking {
		msg.ReasoningContent = strings.Join(thought, "\n\n")
	}
	m.out = append(m.out, msg)
	m.conversation.Results(end, calls, func(call int, text string) {
		m.out = append(m.out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: msg.ToolCalls[call].ID, Content: text})
	}, m.user)
}
