package mcp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/mcp/inquiry"
)

func at(n float64) *float64 { return &n }

// TestFormBothWays reads a form of each kind, and gives the answers back in the server's values.
func TestFormBothWays(t *testing.T) {
	asks := []byte(`{"message": "who\u001b[2J?", "requestedSchema": {
		"type": "object", "required": ["name"], "properties": {
			"name":   {"type": "string", "title": "Name\u202e", "minLength": 2, "format": "email", "default": "ada@example.org"},
			"age":    {"type": "integer", "minimum": 0, "maximum": 150, "default": 900},
			"ratio":  {"type": "number", "default": 0.5},
			"sure":   {"type": "boolean", "default": true},
			"colour": {"type": "string", "oneOf": [{"const": "#f00", "title": "red"}, {"const": "#0f0", "title": "green"}], "default": "#0f0"},
			"many":   {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 2, "default": ["c", "a"]},
			"odd":    {"type": "string", "format": "\u001b[2J"}}}}`)
	var p sdk.ElicitParams
	if err := json.Unmarshal(asks, &p); err != nil {
		t.Fatal(err)
	}
	f, why := read(&p)
	if why != "" {
		t.Fatal(why)
	}
	want := inquiry.Question{Message: "who␛[2J?", Fields: []inquiry.Field{
		{Name: "age", Kind: inquiry.Integer, Least: at(0), Most: at(150)}, // its default does not fit
		{Name: "colour", Kind: inquiry.Choice, Choices: []string{"red", "green"}, Default: "green"},
		{Name: "many", Kind: inquiry.Choices, Choices: []string{"a", "b", "c"}, Most: at(2), Default: []string{"c", "a"}},
		{Name: "name", Title: "Name<U+202E>", Kind: inquiry.String, Required: true, Format: "email", Least: at(2), Default: "ada@example.org"},
		{Name: "odd", Kind: inquiry.String},
		{Name: "ratio", Kind: inquiry.Number, Default: 0.5},
		{Name: "sure", Kind: inquiry.Boolean, Default: true},
	}}
	if diff := cmp.Diff(want, f.asked); diff != "" {
		t.Error(diff)
	}
	got, why := f.values(map[string]any{"name": "a@b", "colour": "red", "many": []string{"b"}, "age": 7.0, "sure": false})
	if diff := cmp.Diff(map[string]any{"name": "a@b", "colour": "#f00", "many": []string{"b"}, "age": 7.0, "sure": false}, got); diff != "" || why != "" {
		t.Errorf("%s\n%s", why, diff)
	}
	for _, wrong := range []map[string]any{{}, {"name": "a"}, {"name": "a@b", "colour": "#f00"}, {"name": "a@b", "many": []string{"a", "b", "c"}}, {"name": "a@b", "other": 1.0}} {
		if _, why := f.values(wrong); why == "" {
			t.Errorf("%v was sent", wrong)
		}
	}
}
