package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// inputItem has all fields that an input item may have. Ids refer to stored items: with
// store false only thinking, which is sent in full, may have one.
type inputItem struct {
	Type      string `json:"type"`
	Role      string `json:"role"`
	Phase     string `json:"phase"`
	ID        string `json:"id"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Output    string `json:"output"`
	// Content is a list of parts; for thinking the kinds of parts differ.
	Content   []contentPart  `json:"content"`
	Summary   *[]contentPart `json:"summary"`
	Encrypted string         `json:"encrypted_content"`
}

type contentPart struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image string `json:"image_url"`
	// Detail is required for an image (vLLM).
	Detail string `json:"detail"`
}

// ValidResponses checks a Responses request that stores nothing. Each call has exactly one
// result, which comes after it and before the next message. Thinking has a summary, is
// followed by what it led to, and can be read without a store. Nothing is empty.
func ValidResponses(body []byte) error {
	var r struct {
		Model        string            `json:"model"`
		Stream       bool              `json:"stream"`
		Store        *bool             `json:"store"`
		Instructions string            `json:"instructions"`
		Input        []json.RawMessage `json:"input"`
		Tools        json.RawMessage   `json:"tools"`
		Include      []string          `json:"include"`
		CacheKey     string            `json:"prompt_cache_key"`
		MaxOutput    int               `json:"max_output_tokens"`
		Reasoning    struct {
			Effort  string `json:"effort"`
			Summary string `json:"summary"`
		} `json:"reasoning"`
	}
	if err := wellFormed(body, &r); err != nil {
		return err
	}
	if r.Model == "" || !r.Stream || len(r.Input) == 0 || r.Store == nil || *r.Store {
		return errors.New("model, stream, input or store=false are missing")
	}
	var tools []struct {
		functionSpec
		Type   string `json:"type"`
		Strict *bool  `json:"strict"`
	}
	if len(r.Tools) > 0 {
		if err := strict(r.Tools, &tools); err != nil {
			return err
		}
	}
	var specs []functionSpec
	for _, t := range tools {
		if t.Type != "function" || t.Strict == nil {
			return fmt.Errorf("the tool %s does not say what it is, or that it is not strict", t.Name)
		}
		specs = append(specs, t.functionSpec)
	}
	if err := validSpecs(specs); err != nil {
		return err
	}
	return validInput(r.Input)
}

func validInput(input []json.RawMessage) error {
	v := inputRules{calls: map[string]bool{}}
	for i, raw := range input {
		var it inputItem
		err := json.Unmarshal(raw, &it)
		if it.Type != "reasoning" { // reasoning items are the provider's own, unchanged
			err = strict(raw, &it)
		}
		if err == nil {
			err = v.take(it)
		}
		if err != nil {
			return fmt.Errorf("item %d (%s): %w", i, it.Type, err)
		}
	}
	switch {
	case len(v.due) > 0:
		return fmt.Errorf("the calls %q have no result", v.due)
	case v.thought:
		return errors.New("thinking at the end: a message or call must follow it")
	case v.before.Role == "assistant":
		return errors.New("the last message is the assistant's")
	}
	return nil
}

type inputRules struct {
	calls   map[string]bool
	due     []string
	before  inputItem
	thought bool // the item before is thinking
}

func (v *inputRules) take(it inputItem) error {
	ledTo := it.Type == "reasoning" || it.Type == "function_call" || it.Type == "message" && it.Role == "assistant"
	if v.thought && !ledTo {
		return errors.New("follows thinking: a message or call must follow thinking")
	}
	if it.ID != "" && it.Type != "reasoning" {
		return fmt.Errorf("has the id %q, and nothing is stored", it.ID)
	}
	v.thought = it.Type == "reasoning"
	v.before = it
	switch it.Type {
	case "message":
		if len(v.due) > 0 {
			return fmt.Errorf("the calls %q have no result", v.due)
		}
		return validMessage(it)
	case "function_call":
		v.due = append(v.due, it.CallID)
		return validCall(it.CallID, it.Name, it.Arguments, v.calls)
	case "function_call_output":
		at := slices.Index(v.due, it.CallID)
		if at < 0 {
			return fmt.Errorf("a result for %q, which is not due", it.CallID)
		}
		v.due = slices.Delete(v.due, at, at+1)
		return filled("output", it.Output)
	case "reasoning":
		if it.Summary == nil {
			return errors.New("has no summary")
		}
		if it.Encrypted == "" && len(it.Content) == 0 {
			return errors.New("cannot be read without a store")
		}
		return nil
	}
	return errors.New("unknown type")
}

func validMessage(it inputItem) error {
	want := map[string]string{"user": "input_text", "assistant": "output_text"}[it.Role]
	if want == "" || len(it.Content) == 0 {
		return fmt.Errorf("role %q, %d parts", it.Role, len(it.Content))
	}
	if it.Phase != "" && it.Role != "assistant" {
		return errors.New("a phase that is not the assistant's")
	}
	for _, p := range it.Content {
		if p.Type == "input_image" && it.Role == "user" && p.Text == "" && p.Detail == "auto" {
			if err := validImage(p.Image); err != nil {
				return err
			}
			continue
		}
		if p.Type != want || p.Image+p.Detail != "" {
			return fmt.Errorf("a part of type %q, want %q", p.Type, want)
		}
		if err := filled("text", p.Text); err != nil {
			return err
		}
	}
	return nil
}
