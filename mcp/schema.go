package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"codeagent/internal/visible"
)

// maxSchema bounds the schema of a tool's arguments, in bytes.
const maxSchema = 64 << 10

// types are the types that a schema may name.
var types = []any{"array", "boolean", "integer", "null", "number", "object", "string"}

// Keywords by what they hold.
var (
	// schemaWords hold one schema, and some of them also true or false.
	schemaWords = []string{"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "additionalItems"}
	// listWords hold an array of schemas; items did before draft 2020-12.
	listWords = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	// mapWords hold an object of schemas.
	mapWords = []string{"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
	// alternatives may not stand at the top of a schema: OpenAI and Anthropic refuse them there.
	alternatives = []string{"$ref", "allOf", "anyOf", "oneOf", "enum", "not"}
)

// checkedSchema is the schema of a tool's arguments as providers take it, or why it is not valid. One
// wrong schema makes them refuse a whole request, and would disable all other tools. Patterns are not
// compiled: they are in the dialect of another language. The server judges the arguments anyway.
func checkedSchema(v any) (schema json.RawMessage, why string) {
	top, ok := v.(map[string]any)
	if !ok {
		return nil, "it is not an object"
	}
	if kind, ok := top["type"]; ok && kind != "object" {
		return nil, `its type is not "object"`
	}
	top["type"] = "object"
	schema, err := json.Marshal(top)
	if err == nil {
		err = json.Unmarshal(schema, new(jsonschema.Schema))
	}
	if err != nil {
		return nil, line(err.Error(), maxTitle)
	}
	delete(top, "$schema") // it only says which draft this is, and some refuse it
	for _, word := range alternatives {
		if _, has := top[word]; has {
			return nil, "it has " + word + " at its top, which providers refuse"
		}
	}
	if why := checkSchema(top); why != "" {
		return nil, why
	}
	schema, err = visible.JSON(top, "")
	switch {
	case err != nil:
		return nil, "it cannot be written as JSON"
	case len(schema) > maxSchema:
		return nil, fmt.Sprintf("it has more than %d KiB", maxSchema>>10)
	}
	return schema, ""
}

// checkSchema checks what the library does not, in s and in all schemas in it; makes their texts safe to
// show; and adds the properties of objects and the items of arrays that are left out, which OpenAI wants.
func checkSchema(s map[string]any) (why string) {
	kinds, several := s["type"].([]any)
	if kind, ok := s["type"]; ok && !several {
		kinds = []any{kind}
	}
	ref, isRef := s["$ref"].(string)
	enum, _ := s["enum"].([]any)
	switch {
	case several && len(kinds) == 0, slices.ContainsFunc(kinds, func(kind any) bool { return !slices.Contains(types, kind) }):
		return "type is not one of JSON's"
	case isRef && !strings.HasPrefix(ref, "#"):
		return "$ref leads outside of it"
	case slices.ContainsFunc(enum, hidden):
		return "enum has characters that cannot be seen"
	}
	for _, word := range []string{"description", "title", "$comment"} {
		if said, ok := s[word].(string); ok {
			s[word] = text(said, maxDescription)
		}
	}
	if s["properties"] == nil && slices.Contains(kinds, any("object")) {
		s["properties"] = map[string]any{}
	}
	if s["items"] == nil && slices.Contains(kinds, any("array")) {
		s["items"] = map[string]any{}
	}
	return checkParts(s)
}

// checkParts checks the schemas in a schema.
func checkParts(s map[string]any) (why string) {
	var parts []any
	for _, word := range schemaWords {
		parts = append(parts, s[word])
	}
	for _, word := range listWords {
		list, is := s[word].([]any)
		if is && len(list) == 0 {
			return word + " is empty"
		}
		parts = append(parts, list...)
	}
	for _, word := range mapWords {
		named, _ := s[word].(map[string]any)
		for name, part := range named {
			if visible.Line(name) != name {
				return word + " has a name with characters that cannot be seen"
			}
			parts = append(parts, part)
		}
	}
	for _, part := range parts {
		if inner, ok := part.(map[string]any); ok {
			if why := checkSchema(inner); why != "" {
				return why
			}
		}
	}
	return ""
}

// hidden reports a text with characters that cannot be seen.
func hidden(v any) bool {
	s, ok := v.(string)
	return ok && visible.Text(s) != s
}
