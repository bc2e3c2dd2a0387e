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
		{"\xef\xbb\xbf{\"type\":\"string\"}", ""},
		{"{\n\"type\": \"string\",,}", "a schema is a JSON object: invalid character"},
		{`[]`, "a schema is a JSON object"},
		{`null`, "a schema is a JSON object"},
		{`true`, "a schema is a JSON object"},
		{`{"type":3}`, "not a JSON Schema: "},
		{`{"pattern":"("}`, "not a JSON Schema: "},
		{`{"properties":{"a":{"items":{"type":"strng"}}}}`, `type "strng": use one of array, `},
		{`{"anyOf":[{"type":["string","nil"]}]}`, `type "nil": use one of array, `},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `$schema "http://json-schema.org/draft-04/schema#": use `},
		{`{"$schema":"https://json-schema.org/draft-07/schema"}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema#"}`, ""},
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
		_, _, err := newSchema([]byte(c.schema))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.80s: %v, want %q", c.schema, err, c.want)
		}
	}
}

// TestAnswersAreChecked: one JSON value that fits, and nothing around it.
func TestAnswersAreChecked(t *testing.T) {
	s, _, err := newSchema([]byte(` { "type": "object", "required": ["n"],
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

// TestForeignPatterns: a pattern that Go cannot hold is not checked, and that is said; the rest of the
// schema is. The first is what zod writes for an e-mail address.
func TestForeignPatterns(t *testing.T) {
	email := `^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$`
	for _, c := range []struct{ schema, fits, not string }{
		{`{"properties":{"a":{"type":"string","pattern":"` + email + `"}},"required":["a"]}`, `{"a":"x"}`, `{"a":1}`},
		{`{"properties":{"a":{"not":{"pattern":"(.)\\1"},"maxLength":2}}}`, `{"a":"xy"}`, `{"a":"xyz"}`},
		{`{"items":{"anyOf":[{"pattern":"^\\p{Script=Greek}+$"},{"type":"null"}]}}`, `["α",null]`, `{}{}`},
		{`{"$defs":{"a":{"type":"string","pattern":"a{2000}"}},"$ref":"#/$defs/a"}`, `"x"`, `3`},
	} {
		s, warnings, err := newSchema([]byte(c.schema))
		if err != nil || len(warnings) != 1 {
			t.Errorf("%s: %v, %q", c.schema, err, warnings)
			continue
		}
		if err := s.Check(t.Context(), c.fits); err != nil {
			t.Errorf("%s: %s: %v", c.schema, c.fits, err)
		}
		if s.Check(t.Context(), c.not) == nil {
			t.Errorf("%s: %s fits", c.schema, c.not)
		}
	}
	if _, warnings, err := newSchema([]byte(`{"pattern":"^[a-z]+$"}`)); err != nil || len(warnings) > 0 {
		t.Error(err, warnings)
	}
}
