package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// name matches what providers allow as a tool's name.
var name = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// callID matches what all providers allow as a call id.
var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// strict decodes data into v and refuses unknown fields, as strict providers do.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// object reports whether s is a JSON object.
func object(s string) bool {
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

func filled(what, s string) error {
	if strings.TrimSpace(s) == "" {
		return fmt.Errorf("%s is empty", what)
	}
	return nil
}

// chatMessage has all fields that a message may have.
type chatMessage struct {
	Role      string       `json:"role"`
	Content   *chatContent `json:"content"`
	Reasoning string       `json:"reasoning_content"`
	Calls     []struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Extra    json.RawMessage `json:"extra_content"` // for the provider that sent it
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"`
	Details json.RawMessage `json:"reasoning_details"` // for the provider that sent them
}

// chatContent is a text, or a list of parts. Only a user message may have a list, and only
// if a part is an image.
type chatContent struct {
	text  string
	parts bool
}

func (c *chatContent) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, &c.text)
	}
	var parts []struct {
		Type  string  `json:"type"`
		Text  *string `json:"text"`
		Image *struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := strict(data, &parts); err != nil {
		return err
	}
	c.parts = true
	images := 0
	for i, p := range parts {
		var err error
		switch {
		case p.Type == "text" && p.Text != nil && p.Image == nil:
			err = filled("text", *p.Text)
			c.text += *p.Text
		case p.Type == "image_url" && p.Image != nil && p.Text == nil:
			err = validImage(p.Image.URL)
			images++
		default:
			err = fmt.Errorf("type %q with other fields than its own", p.Type)
		}
		if err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	if images == 0 {
		return errors.New("a list of parts without an image")
	}
	return nil
}

// validImage checks the URL of an image: providers accept data of four types, and check the
// content.
func validImage(url string) error {
	rest, ok := strings.CutPrefix(url, "data:")
	kind, data, cut := strings.Cut(rest, ";base64,")
	if !ok || !cut {
		return fmt.Errorf("the image is not a data URL: %.60q", url)
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return fmt.Errorf("the image: %w", err)
	}
	begins := map[string]string{"image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF"}[kind]
	if begins == "" || !bytes.HasPrefix(raw, []byte(begins)) {
		return fmt.Errorf("the image is not of the type %q", kind)
	}
	return nil
}

// ValidChat checks a Chat Completions request against the documents and the additional
// rules of strict servers (Mistral, DeepSeek, chat templates): turns alternate, the results
// follow their calls at once and completely, arguments are an object, nothing is empty.
func ValidChat(body []byte) error {
	var r struct {
		Model         string          `json:"model"`
		Stream        bool            `json:"stream"`
		Messages      []chatMessage   `json:"messages"`
		Tools         json.RawMessage `json:"tools"`
		Effort        string          `json:"reasoning_effort"`
		MaxTokens     int             `json:"max_tokens"`
		MaxCompletion int             `json:"max_completion_tokens"`
		CacheKey      string          `json:"prompt_cache_key"`
		StreamOptions json.RawMessage `json:"stream_options"`
	}
	if err := wellFormed(body, &r); err != nil {
		return err
	}
	if r.Model == "" || !r.Stream || len(r.Messages) == 0 {
		return errors.New("model, stream or messages are missing")
	}
	var tools []struct {
		Type     string       `json:"type"`
		Function functionSpec `json:"function"`
	}
	if len(r.Tools) > 0 {
		if err := strict(r.Tools, &tools); err != nil {
			return err
		}
	}
	var specs []functionSpec
	for _, t := range tools {
		if t.Type != "function" {
			return fmt.Errorf("a tool of type %q", t.Type)
		}
		specs = append(specs, t.Function)
	}
	if err := validSpecs(specs); err != nil {
		return err
	}
	return validMessages(r.Messages)
}

func validMessages(messages []chatMessage) error {
	seen := map[string]bool{}
	var due []string // calls without a result so far
	before := ""
	for i, m := range messages {
		if len(due) > 0 && m.Role != "tool" {
			return fmt.Errorf("message %d: the calls %q have no result", i, due)
		}
		var err error
		switch m.Role {
		case "system", "developer":
			if i > 0 {
				err = errors.New("is not the first")
			}
		case "user":
			if before == "user" {
				err = errors.New("two user messages follow one another")
			}
		case "assistant":
			if before == "" || before == "system" || before == "developer" || before == "assistant" {
				err = fmt.Errorf("an assistant message follows %q", before)
			}
			if len(m.Calls) > 128 { // OpenAI: array_above_max_length
				err = fmt.Errorf("%d calls", len(m.Calls))
			}
			due, err = m.validCalls(seen, err)
		case "tool":
			at := slices.Index(due, m.CallID)
			if at < 0 {
				return fmt.Errorf("message %d: a result for %q, which is not due", i, m.CallID)
			}
			due = slices.Delete(due, at, at+1)
		default:
			err = errors.New("unknown role")
		}
		if err == nil && (m.Content != nil || len(m.Calls) == 0) {
			text := ""
			if m.Content != nil {
				text = m.Content.text
			}
			if m.Content == nil || !m.Content.parts {
				err = filled("content", text)
			} else if m.Role != "user" {
				err = errors.New("a list of parts")
			}
		}
		if err != nil {
			return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
		}
		before = m.Role
	}
	if before != "user" && before != "tool" {
		return fmt.Errorf("the last message is the %s's", before)
	}
	if len(due) > 0 {
		return fmt.Errorf("the calls %q have no result", due)
	}
	return nil
}

func (m chatMessage) validCalls(seen map[string]bool, err error) ([]string, error) {
	var due []string
	for _, c := range m.Calls {
		if c.Type != "function" {
			return nil, fmt.Errorf("a call of type %q", c.Type)
		}
		if err := validCall(c.ID, c.Function.Name, c.Function.Arguments, seen); err != nil {
			return nil, err
		}
		due = append(due, c.ID)
	}
	return due, err
}

func validCall(id, called, arguments string, seen map[string]bool) error {
	switch {
	case !callID.MatchString(id) || seen[id]:
		return fmt.Errorf("the call id %q is not unique, or some providers reject its form", id)
	case !name.MatchString(called):
		return fmt.Errorf("a call has the invalid name %q", called)
	case !object(arguments):
		return fmt.Errorf("the arguments %.200q are not an object", arguments)
	}
	seen[id] = true
	return nil
}

type functionSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func validSpecs(specs []functionSpec) error {
	seen := map[string]bool{}
	for _, s := range specs {
		var schema map[string]any
		if !name.MatchString(s.Name) || seen[s.Name] {
			return fmt.Errorf("the tool name %q is invalid", s.Name)
		}
		if json.Unmarshal(s.Parameters, &schema) != nil || schema["type"] != "object" {
			return fmt.Errorf("the parameters of %s are not an object: %s", s.Name, s.Parameters)
		}
		for _, word := range []string{"$ref", "allOf", "anyOf", "oneOf", "enum", "not"} {
			if _, ok := schema[word]; ok {
				return fmt.Errorf("the parameters of %s have %s at the top: %s", s.Name, word, s.Parameters)
			}
		}
		if err := validSchema(schema); err != nil {
			return fmt.Errorf("the parameters of %s: %w: %s", s.Name, err, s.Parameters)
		}
		seen[s.Name] = true
	}
	return nil
}

// validSchema checks what OpenAI wants of the parts of a schema: an object lists its properties, and
// an array says what its items are. A keyword and a property of the same name are not told apart:
// no tool here has a property "type" that is a text.
func validSchema(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "object" && v["properties"] == nil {
			return errors.New("object schema missing properties")
		}
		if v["type"] == "array" && v["items"] == nil {
			return errors.New("array schema missing items")
		}
		for _, part := range v {
			if err := validSchema(part); err != nil {
				return err
			}
		}
	case []any:
		for _, part := range v {
			if err := validSchema(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// wellFormed decodes a request strictly.
func wellFormed(body []byte, v any) error {
	if !utf8.Valid(body) {
		return errors.New("not UTF-8")
	}
	return strict(body, v)
}
