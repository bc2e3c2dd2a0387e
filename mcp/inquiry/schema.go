package inquiry

import (
	"bytes"
	"encoding/json"
)

// Schema are the fields as the schema of a form, which MCP and ACP share. The choices are in the form that
// all revisions have. A map would lose the order of the fields.
func (q Question) Schema() json.RawMessage {
	var b bytes.Buffer
	required := []string{}
	b.WriteString(`{"type":"object","properties":{`)
	for i, f := range q.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encoded(f.Name))
		b.WriteByte(':')
		b.Write(encoded(f.property()))
		if f.Required {
			required = append(required, f.Name)
		}
	}
	b.WriteString(`},"required":`)
	b.Write(encoded(required))
	b.WriteByte('}')
	return b.Bytes()
}

// property is the schema of one field.
func (f Field) property() any {
	p := struct {
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Description string   `json:"description,omitempty"`
		Format      string   `json:"format,omitempty"`
		Enum        []string `json:"enum,omitempty"`
		Items       any      `json:"items,omitempty"`
		Default     any      `json:"default,omitempty"`
		MinLength   *float64 `json:"minLength,omitempty"`
		MaxLength   *float64 `json:"maxLength,omitempty"`
		Minimum     *float64 `json:"minimum,omitempty"`
		Maximum     *float64 `json:"maximum,omitempty"`
		MinItems    *float64 `json:"minItems,omitempty"`
		MaxItems    *float64 `json:"maxItems,omitempty"`
	}{Type: string(f.Kind), Title: f.Label(), Description: f.Description, Format: f.Format, Default: f.Default}
	switch f.Kind {
	case String:
		p.MinLength, p.MaxLength = f.Least, f.Most
	case Choice:
		p.Type, p.Enum = "string", f.Choices
	case Choices:
		p.Type, p.Items = "array", map[string]any{"type": "string", "enum": f.Choices}
		p.MinItems, p.MaxItems = f.Least, f.Most
	default:
		p.Minimum, p.Maximum = f.Least, f.Most
	}
	return p
}

// encoded is a value of which the encoding cannot fail.
func encoded(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// Answer is the reply that another program's form gave: its content by field name. What does not fit the
// question is an error.
func (q Question) Answer(action string, content map[string]any) (Reply, error) {
	if action != Accepted {
		return Reply{Action: action}, nil
	}
	values := map[string]any{}
	for name, v := range content {
		if list, many := v.([]any); many {
			texts := []string{}
			for _, one := range list {
				text, _ := one.(string) // "" fits no choice
				texts = append(texts, text)
			}
			v = texts
		}
		if v != nil {
			values[name] = v
		}
	}
	return Reply{Action: Accepted, Values: values}, q.Fits(values)
}
