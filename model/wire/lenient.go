package wire

import (
	"encoding/json"
	"errors"
	"strings"
)

// Text is a string, null, or a list of parts whose text is a string. Anything else becomes
// empty: each level of nested lists would need another pass over the rest.
type Text string

// UnmarshalJSON decodes any of these.
func (t *Text) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '[':
		var parts []struct {
			Text string `json:"text"`
		}
		if err := Parse(data, &parts); err != nil {
			return err
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		*t = Text(b.String())
	}
	return nil
}

// JSONText is JSON in a string, or the JSON itself in place of the string.
type JSONText string

// UnmarshalJSON decodes either.
func (r *JSONText) UnmarshalJSON(data []byte) error {
	switch {
	case data[0] == '"':
		return json.Unmarshal(data, (*string)(r))
	case string(data) != "null":
		*r = JSONText(data)
	}
	return nil
}

// Parse decodes what fits: members of unexpected types stay unset.
func Parse(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if odd := new(json.UnmarshalTypeError); errors.As(err, &odd) {
		return nil
	}
	return err
}
