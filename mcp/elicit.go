package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/mcp/inquiry"
)

// Bounds of a question: more than a person reads is declined, not cut, because what cannot be
// seen would be accepted with the rest.
const (
	maxMessage = 4 << 10
	maxFields  = 20
	maxChoices = 50
	// maxWaiting is how many questions wait for a person.
	maxWaiting = 3
	// maxQuestions is how many questions one call may put. Threat: a server that asks without end tires
	// the person until something is accepted.
	maxQuestions = 10
)

// elicit asks the person, one question at a time.
func (c *Client) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	decline := &sdk.ElicitResult{Action: inquiry.Declined}
	if c.waiting.Add(1) > maxWaiting {
		c.waiting.Add(-1)
		c.log.say("warning", "a question of the server was declined, because others wait")
		return decline, nil
	}
	defer c.waiting.Add(-1)
	f, why := c.forms.read(r.Params)
	var calls context.Context
	if why == "" {
		calls, why = c.mayAsk()
	}
	if why != "" {
		c.log.say("warning", "a question of the server was declined: "+why)
		return decline, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(calls, cancel)()
	defer c.Asked()()
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
	}
	over := func() bool { return cmp.Or(ctx.Err(), calls.Err()) != nil }
	if over() {
		return &sdk.ElicitResult{Action: inquiry.Cancelled}, nil
	}
	f.asked.Server = c.o.Name
	reply := c.o.Elicit(ctx, f.asked)
	switch {
	case over(): // an answer would go to a server that nobody calls
	case reply.Action == inquiry.Accepted:
		values, why := f.values(reply.Values)
		if why != "" {
			c.log.say("warning", "an answer to the server was not sent: "+why)
			return &sdk.ElicitResult{Action: inquiry.Cancelled}, nil
		}
		return &sdk.ElicitResult{Action: inquiry.Accepted, Content: values}, nil
	case reply.Action == inquiry.Declined:
		return decline, nil
	}
	return &sdk.ElicitResult{Action: inquiry.Cancelled}, nil
}

// mayAsk counts a question; why says why nobody is asked. The question ends with calls.
//
// Threat: a question that stays after its call would be answered to a server that nobody calls, and no
// time limit holds while it is open.
func (c *Client) mayAsk() (calls context.Context, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.questions++
	switch {
	case c.now.calls == 0:
		return nil, "nobody has called it"
	case c.now.questions > maxQuestions:
		return nil, fmt.Sprintf("it has asked %d times during this call", maxQuestions)
	}
	return c.now.running, ""
}

// count notes that a person is asked, or is not any more: calls wait meanwhile.
func (c *Client) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open == 0:
		c.asked = time.Now()
	case c.open+n == 0:
		c.answering += time.Since(c.asked)
	}
	c.open += n
}

// form is a question, and what its answers are to the server.
type form struct {
	asked inquiry.Question
	// names are the server's names of the fields, raw their choices' values.
	names []string
	raw   [][]string
}

// read reads a question; why says why nobody is asked.
func (o *forms) read(p *sdk.ElicitParams) (f form, why string) {
	if p == nil {
		return f, "it is empty"
	}
	if len(p.Message) > maxMessage {
		return f, fmt.Sprintf("its message has more than %d KiB", maxMessage>>10)
	}
	f.asked.Message = text(p.Message, maxMessage)
	if p.Mode == "url" || p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || !nameable(p.URL, maxURI) {
			return f, "its URL is not one to open"
		}
		// In ASCII, so that letters of two scripts that look alike can be told apart.
		f.asked.URL = u.String()
		return f, ""
	}
	return f, f.fields(p.RequestedSchema, o)
}

// property is one field as the protocol has it.
type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []constant      `json:"oneOf"`
	Items       *choices        `json:"items"`
	Default     json.RawMessage `json:"default"`
	MinLength   *float64        `json:"minLength"`
	MaxLength   *float64        `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *float64        `json:"minItems"`
	MaxItems    *float64        `json:"maxItems"`
}

type constant struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

type choices struct {
	Enum  []string   `json:"enum"`
	AnyOf []constant `json:"anyOf"`
}

// fields reads the fields of a form.
func (f *form) fields(schema any, listed *forms) (why string) {
	data, err := json.Marshal(schema)
	var s struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return "its form is not valid"
	}
	if len(s.Properties) > maxFields {
		return fmt.Sprintf("its form has more than %d fields", maxFields)
	}
	for name := range s.Properties {
		if !nameable(name, maxName) {
			return "a field of its form has no name that can be seen"
		}
		f.names = append(f.names, name)
	}
	f.names = listed.order(f.names)
	for _, name := range f.names {
		p := s.Properties[name]
		field, raw, why := p.field()
		if why != "" {
			return why
		}
		field.Name, field.Required = name, slices.Contains(s.Required, name)
		f.asked.Fields = append(f.asked.Fields, field)
		f.raw = append(f.raw, raw)
	}
	return ""
}

// forms are the names of the fields of the latest forms, in the server's order: the SDK decodes a form into
// a map. Nil: no order is known.
type forms struct {
	mu   sync.Mutex
	last [][]string
}

// note notes the forms in a message. What only looks like one orders nothing, because no question has it.
func (o *forms) note(message []byte) {
	for o != nil {
		_, after, found := bytes.Cut(message, formKey)
		var form struct {
			Properties json.RawMessage `json:"properties"`
		}
		d := json.NewDecoder(bytes.NewReader(after))
		if !found || d.Decode(&form) != nil {
			return
		}
		message = after[d.InputOffset():]
		o.mu.Lock()
		o.last = append(o.last[max(0, len(o.last)-maxAsked):], namesOf(form.Properties))
		o.mu.Unlock()
	}
}

// formKey stands before each form of a message.
var formKey = []byte(`"requestedSchema":`)

// order puts the names of a form's fields in the server's order, or where none is known in that of the alphabet.
func (o *forms) order(names []string) []string {
	slices.Sort(names)
	if o == nil {
		return names
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, last := range slices.Backward(o.last) {
		if slices.Equal(slices.Sorted(slices.Values(last)), names) {
			return slices.Clone(last)
		}
	}
	return names
}

// namesOf lists the names of an object in their order, each once, as far as there may be so many fields.
func namesOf(object json.RawMessage) (names []string) {
	for d := json.NewDecoder(bytes.NewReader(object)); len(names) <= maxFields; {
		key, err := d.Token()
		if key == json.Delim('{') {
			continue
		}
		name, ok := key.(string)
		if skipped := new(json.RawMessage); err != nil || !ok || d.Decode(skipped) != nil {
			break
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// noting notes the forms of messages as they pass, each of which ends with a byte of its own.
type noting struct {
	r     *bufio.Reader // bounds each message
	end   byte
	forms *forms
	left  []byte
	err   error
}

// Read is part of io.Reader.
func (n *noting) Read(p []byte) (int, error) {
	if len(n.left) == 0 && n.err == nil {
		n.left, n.err = n.r.ReadBytes(n.end)
		n.forms.note(n.left)
	}
	size := copy(p, n.left)
	if n.left = n.left[size:]; size > 0 {
		return size, nil
	}
	return 0, n.err
}

// field is p for a person; raw are the values of its choices.
func (p property) field() (f inquiry.Field, raw []string, why string) {
	f = inquiry.Field{Title: line(p.Title, maxTitle), Description: line(p.Description, maxError), Kind: inquiry.Kind(p.Type)}
	list, titled := p.Enum, p.OneOf
	if p.Type == "array" {
		if p.Items == nil {
			return f, nil, "a field of its form is a list without choices"
		}
		list, titled = p.Items.Enum, p.Items.AnyOf
	}
	shown := list
	if len(p.EnumNames) == len(list) && len(list) > 0 {
		shown = p.EnumNames
	}
	for _, c := range titled {
		list, shown = append(list, c.Const), append(shown, c.Title)
	}
	switch {
	case len(list) > maxChoices:
		return f, nil, fmt.Sprintf("a field of its form has more than %d choices", maxChoices)
	case p.Type == "array":
		f.Kind = inquiry.Choices
	case len(list) > 0:
		f.Kind = inquiry.Choice
	}
	if f.Kind == inquiry.Choices && len(list) == 0 {
		return f, nil, "a field of its form is a list without choices"
	}
	for i, s := range shown {
		if s = line(s, maxTitle); s == "" || slices.Contains(f.Choices, s) {
			s = line(list[i], maxTitle) // titles that do not tell choices apart
		}
		if slices.Contains(f.Choices, s) {
			return f, nil, "two choices of a field look the same"
		}
		f.Choices = append(f.Choices, s)
	}
	switch f.Kind {
	case inquiry.String:
		f.Least, f.Most = p.MinLength, p.MaxLength
		if slices.Contains([]string{"email", "uri", "date", "date-time"}, p.Format) {
			f.Format = p.Format
		}
	case inquiry.Number, inquiry.Integer:
		f.Least, f.Most = p.Minimum, p.Maximum
	case inquiry.Choices:
		f.Least, f.Most = p.MinItems, p.MaxItems
	case inquiry.Boolean, inquiry.Choice:
	default:
		return f, nil, "a field of its form is of a kind that is not known"
	}
	if v := p.preset(f, list); f.Fits(v) == nil {
		f.Default = v
	}
	return f, list, ""
}

// preset is the default value as the person sees it, or nil.
func (p property) preset(f inquiry.Field, list []string) any {
	var v any
	if len(p.Default) == 0 || json.Unmarshal(p.Default, &v) != nil {
		return nil
	}
	shown := func(v any) string {
		s, _ := v.(string)
		if at := slices.Index(list, s); at >= 0 {
			return f.Choices[at]
		}
		return s
	}
	switch all := v.(type) {
	case string:
		if f.Kind == inquiry.Choice {
			return shown(v)
		}
		if !nameable(all, maxTitle) {
			return nil
		}
	case []any:
		chosen := []string{}
		for _, one := range all {
			chosen = append(chosen, shown(one))
		}
		return chosen
	}
	return v
}

// values are a person's answers as the server wants them.
func (f form) values(given map[string]any) (values map[string]any, why string) {
	if err := f.asked.Fits(given); err != nil {
		return nil, err.Error()
	}
	values = map[string]any{}
	for i, field := range f.asked.Fields {
		switch v := given[field.Name].(type) {
		case nil:
		case string:
			if field.Kind == inquiry.Choice {
				v = f.raw[i][slices.Index(field.Choices, v)]
			}
			values[field.Name] = v
		case []string:
			list := []string{}
			for _, s := range v {
				list = append(list, f.raw[i][slices.Index(field.Choices, s)])
			}
			values[field.Name] = list
		default:
			values[field.Name] = v
		}
	}
	return values, ""
}
