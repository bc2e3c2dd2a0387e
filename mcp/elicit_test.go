package mcp

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	var listed forms
	listed.note(asks)
	f, why := listed.read(&p)
	if why != "" {
		t.Fatal(why)
	}
	want := inquiry.Question{Message: "who␛[2J?", Fields: []inquiry.Field{
		{Name: "name", Title: "Name<U+202E>", Kind: inquiry.String, Required: true, Format: "email", Least: at(2), Default: "ada@example.org"},
		{Name: "age", Kind: inquiry.Integer, Least: at(0), Most: at(150)}, // its default does not fit
		{Name: "ratio", Kind: inquiry.Number, Default: 0.5},
		{Name: "sure", Kind: inquiry.Boolean, Default: true},
		{Name: "colour", Kind: inquiry.Choice, Choices: []string{"red", "green"}, Default: "green"},
		{Name: "many", Kind: inquiry.Choices, Choices: []string{"a", "b", "c"}, Most: at(2), Default: []string{"c", "a"}},
		{Name: "odd", Kind: inquiry.String},
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

// TestFormsHaveAnOrder: the fields come as the server lists them. A form that is not one, or has a name
// twice, does not stop the reading.
func TestFormsHaveAnOrder(t *testing.T) {
	for in, want := range map[string]string{
		``:                             `a b`,
		`{"requestedSchema":7}`:        `a b`,
		`{"requestedSchema":{}}`:       `a b`,
		`{"requestedSchema":{"pro`:     `a b`,
		`{"a":"\"requestedSchema\":"}`: `a b`,
		`{"requestedSchema":{"properties":[1,2]}}`:                                                         `a b`,
		`{"requestedSchema": {"properties":{"b":{},"a":{},"b":1}}}`:                                        `b a`,
		`{"requestedSchema":{"properties":{"b":{},"a":{},"c":{}}}}`:                                        `a b`,
		`[{"requestedSchema":{"properties":{"b":{},"a":{}}}},{"requestedSchema":{"properties":{"c":{}}}}]`: `b a`,
	} {
		var listed forms
		listed.note([]byte(in))
		if got := strings.Join(listed.order([]string{"b", "a"}), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestResultsStayAsTheyAre: a form in the result of a tool is no question, and nothing is added to it.
func TestResultsStayAsTheyAre(t *testing.T) {
	const result = `{"structuredContent":{"requestedSchema":{"properties":{"b":{}}}}}`
	c := &cleaner{r: bufio.NewReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":` + result + "}\n")), log: newLogger(nil), forms: &forms{}}
	got, err := c.next()
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if m, ok := got.(*jsonrpc.Response); !ok || string(m.Result) != result {
		t.Errorf("%s", m.Result)
	}
}
