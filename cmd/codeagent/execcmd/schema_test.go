package execcmd

import (
	"strings"
	"testing"
)

// TestSchemas: what is no schema is refused with words, and so is what would never end.
func TestSchemas(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"type":"string"}},"allOf":[{"$ref":"#/definitions/a"}]}`, ""},
		{`{"$defs":{"node":{"properties":{"next":{"$ref":"#/$defs/node"},"all":{"items":{"$ref":"#"}}}}},"$ref":"#/$defs/node"}`, ""},
		{`{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"}}}`, ""},
		{`{"$defs":{"a/b~c":{"type":"string"}},"$ref":"#/$defs/a~1b~0c"}`, ""},
		{"{\n\"type\": \"string\",,}", "a schema is a JSON object: line 2: "},
		{`[]`, "a schema is a JSON object"},
		{`null`, "a schema is a JSON object"},
		{`true`, "a schema is a JSON object"},
		{`{"type":3}`, "not a JSON Schema: "},
		{`{"pattern":"("}`, "not a JSON Schema: "},
		{`{"$ref":"http://127.0.0.1:1/x"}`, `$ref "http://127.0.0.1:1/x": use # or`},
		{`{"$ref":"file:///etc/passwd"}`, "use # or"},
		{`{"$ref":"#/$defs/none"}`, "use # or"},
		{`{"$dynamicRef":"#x"}`, "$dynamicRef is not supported"},
		{`{"properties":{"a":{"$id":"http://x/y","$ref":"#"}}}`, "$id is supported only at the top"},
		{`{"$ref":"#"}`, "leads back to itself"},
		{`{"anyOf":[{"type":"string"},{"not":{"$ref":"#"}}]}`, "leads back to itself"},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, "leads back to itself"},
		{`{"dependentSchemas":{"x":{"$ref":"#"}}}`, "leads back to itself"},
		{strings.Repeat(`{"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200), "nested more than"},
	} {
		_, err := newSchema([]byte(c.schema))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.80s: %v, want %q", c.schema, err, c.want)
		}
	}
}

// TestAnswersAreChecked: one JSON value that fits, and nothing around it.
func TestAnswersAreChecked(t *testing.T) {
	s, err := newSchema([]byte(` { "type": "object", "required": ["n"],
		"properties": {"n": {"type": "integer"}, "next": {"$ref": "#"}}, "additionalProperties": false } `))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"next":{"$ref":"#"}},"additionalProperties":false}`; string(s.JSON) != want {
		t.Errorf("the model gets %s", s.JSON)
	}
	for answer, want := range map[string]string{
		`{"n":1}`:                         "",
		" {\"n\":1,\"next\":{\"n\":2}}\n": "",
		`{"n":"x"}`:                       "/properties/n",
		`{"n":1,"next":{"n":null}}`:       "/properties/n",
		`{"n":1,"more":1}`:                "more",
		`{}`:                              "required",
		"```json\n{\"n\":1}\n```":         "not one JSON value",
		`{"n":1} {"n":1}`:                 "not one JSON value",
		`It is {"n":1}`:                   "not one JSON value",
		``:                                "not one JSON value",
	} {
		err := s.Check(t.Context(), answer)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", answer, err, want)
		}
	}
}
