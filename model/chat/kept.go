package chat

import (
	"context"
	"encoding/json"

	"codeagent/model"
	"codeagent/model/wire"
)

// kept is the Opaque of a call or of thinking: values beside the text that a provider wants
// back. Without them it refuses the next request or answers worse.
type kept struct {
	// Extra is a call's extra_content: Gemini's thought signature.
	Extra json.RawMessage `json:"extra_content,omitempty"`
	// Details are an answer's reasoning_details: OpenRouter's blocks of thinking with their
	// signatures. They are kept with the call that the thinking led to, or as an item of
	// their own.
	Details []detail `json:"reasoning_details,omitempty"`
}

// detail is one block of thinking; its pieces arrive one by one.
type detail map[string]json.RawMessage

// opaque returns k for an item; nil if k is empty.
func (k kept) opaque(source string) *model.Opaque {
	if len(k.Extra) == 0 && len(k.Details) == 0 {
		return nil
	}
	data, err := json.Marshal(k)
	if err != nil {
		return nil
	}
	return &model.Opaque{Source: source, Data: data}
}

// keptIn returns what an item keeps for this provider and model.
func keptIn(it model.Item, source string) (k kept) {
	if it.Opaque != nil && it.Opaque.Source == source {
		_ = json.Unmarshal(it.Opaque.Data, &k) // unreadable data is not sent
	}
	return k
}

// additions are request fields that go-openai does not have.
type additions struct {
	cacheKey string
	search   bool
	extra    map[string]json.RawMessage // by call id
	details  map[int][]detail           // by position of the message
}

// into returns a context that adds the fields to the request.
func (a additions) into(ctx context.Context) context.Context {
	if a.cacheKey == "" && !a.search && len(a.extra) == 0 && len(a.details) == 0 {
		return ctx
	}
	return wire.WithAmendment(ctx, a.amend)
}

func (a additions) amend(body []byte) ([]byte, error) {
	var request map[string]json.RawMessage
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		return nil, err
	}
	for i, m := range messages {
		if blocks := a.details[i]; len(blocks) > 0 {
			raw, err := json.Marshal(blocks)
			if err != nil {
				return nil, err
			}
			m["reasoning_details"] = raw
		}
		if err := a.amendCalls(m); err != nil {
			return nil, err
		}
	}
	var err error
	if request["messages"], err = json.Marshal(messages); err != nil {
		return nil, err
	}
	if a.cacheKey != "" {
		if request["prompt_cache_key"], err = json.Marshal(a.cacheKey); err != nil {
			return nil, err
		}
	}
	if a.search {
		request["web_search_options"] = json.RawMessage("{}")
	}
	return json.Marshal(request)
}

func (a additions) amendCalls(m map[string]json.RawMessage) error {
	if len(a.extra) == 0 || m["tool_calls"] == nil {
		return nil
	}
	var calls []map[string]json.RawMessage
	if err := json.Unmarshal(m["tool_calls"], &calls); err != nil {
		return err
	}
	for _, c := range calls {
		var id string
		if json.Unmarshal(c["id"], &id) == nil && len(a.extra[id]) > 0 {
			c["extra_content"] = a.extra[id]
		}
	}
	raw, err := json.Marshal(calls)
	if err == nil {
		m["tool_calls"] = raw
	}
	return err
}
