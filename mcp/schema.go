package mcp

import (
	"encoding/json"
	"fmt"
	"slices"

	"codeagent/internal/visible"
)

// Bounds of the schema of a tool's arguments.
const (
	maxSchema      = 64 << 10
	maxSchemaDepth = 40
)

// types are the types that a schema may name.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// Keywords by what they hold.
var (
	// schemaWords hold one schema, and some of them also true or false.
	schemaWords = []string{"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "additionalItems"}
	// listWords hold an array of schemas.
	listWords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	// mapWords hold an object of schemas.
	mapWords = []string{"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)

// checkedSchema is the schema of a tool's arguments as it is sent to models, or why it is not
// valid. It checks what providers refuse a whole request for: one wrong tool must not disable
// all others. Patterns are not compiled: they are in the dialect of another language.
func checkedSchema(v any) (schema json.RawMessage, why string) {
	top, ok := v.(map[string]any)
	if !ok {
		return nil, "it is not an object"
	}
	kind, ok := top["type"]
	if ok && kind != "object" {
		return nil, `its type is not "object"`
	}
	top["type"] = "object"
	if why := checkSchema(top, "", 0); why != "" {
		return nil, why
	}
	fit(top)
	schema, err := visible.JSON(top, "")
	switch {
	case err != nil:
		return nil, "it cannot be written as JSON"
	case len(schema) > maxSchema:
		return nil, fmt.Sprintf("it has more than %d KiB", maxSchema>>10)
	}
	return schema, ""
}

// checkSchema checks one schema, and makes its texts safe to show.
func checkSchema(v any, at string, depth int) (why string) {
	if _, ok := v.(bool); ok {
		return ""
	}
	s, ok := v.(map[string]any)
	where := at
	if where == "" {
		where = "its top"
	}
	switch {
	case !ok:
		return line(where, maxTitle) + " is not an object"
	case depth > maxSchemaDepth:
		return fmt.Sprintf("it nests deeper than %d", maxSchemaDepth)
	}
	for _, word := range []string{"description", "title", "$comment"} {
		if said, ok := s[word].(string); ok {
			s[word] = text(said, maxDescription)
		} else if s[word] != nil {
			return line(where, maxTitle) + ": " + word + " is not a text"
		}
	}
	if why := checkWords(s); why != "" {
		return line(where, maxTitle) + ": " + why
	}
	return checkParts(s, at, depth)
}

// checkWords checks the keywords that hold no schema.
func checkWords(s map[string]any) (why string) {
	named := func(v any) bool {
		name, ok := v.(string)
		return ok && slices.Contains(types, name)
	}
	switch kind := s["type"].(type) {
	case nil, string:
		if kind != nil && !named(kind) {
			return "type is not one of JSON's"
		}
	case []any:
		if len(kind) == 0 || !all(kind, named) {
			return "type is not one of JSON's"
		}
	default:
		return "type is not one of JSON's"
	}
	if v, ok := s["required"]; ok {
		list, ok := v.([]any)
		if !ok || !all(list, func(v any) bool { _, ok := v.(string); return ok }) {
			return "required is not a list of names"
		}
	}
	if v, ok := s["enum"]; ok {
		list, ok := v.([]any)
		if !ok || !all(list, seen) {
			return "enum is not a list of values that can be seen"
		}
	}
	if v, ok := s["$ref"]; ok {
		if ref, ok := v.(string); !ok || len(ref) == 0 || ref[0] != '#' {
			return "$ref leads outside of it"
		}
	}
	for _, word := range []string{"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "multipleOf", "minProperties", "maxProperties"} {
		if v, ok := s[word]; ok {
			if _, ok := v.(float64); !ok {
				return word + " is not a number"
			}
		}
	}
	if v, ok := s["pattern"]; ok {
		if _, ok := v.(string); !ok {
			return "pattern is not a text"
		}
	}
	return ""
}

// checkParts checks the schemas in a schema.
func checkParts(s map[string]any, at string, depth int) (why string) {
	for _, word := range schemaWords {
		v, ok := s[word]
		if list, isList := v.([]any); isList && word == "items" { // as drafts before 2020-12 had it
			for _, v := range list {
				if why := checkSchema(v, at+"/items", depth+1); why != "" {
					return why
				}
			}
			continue
		}
		if ok {
			if why := checkSchema(v, at+"/"+word, depth+1); why != "" {
				return why
			}
		}
	}
	for _, word := range listWords {
		v, ok := s[word]
		list, isList := v.([]any)
		if ok && (!isList || len(list) == 0) {
			return line(at+"/"+word, maxTitle) + " is not a list of schemas"
		}
		for _, v := range list {
			if why := checkSchema(v, at+"/"+word, depth+1); why != "" {
				return why
			}
		}
	}
	for _, word := range mapWords {
		v, ok := s[word]
		parts, isMap := v.(map[string]any)
		if ok && !isMap {
			return line(at+"/"+word, maxTitle) + " is not an object of schemas"
		}
		for name, v := range parts {
			if visible.Line(name) != name {
				return line(at+"/"+word, maxTitle) + " has a name with characters that cannot be seen"
			}
			if why := checkSchema(v, at+"/"+name, depth+1); why != "" {
				return why
			}
		}
	}
	return ""
}

func all(list []any, is func(any) bool) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return !is(v) })
}

// seen reports a value whose text, if it is one, can be seen.
func seen(v any) bool {
	s, ok := v.(string)
	return !ok || visible.Text(s) == s
}
