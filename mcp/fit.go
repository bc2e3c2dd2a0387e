package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/short"
)

// Providers take a part of JSON Schema and refuse a whole request for the rest: OpenAI wants
// properties beside each object and items beside each array, and Anthropic and OpenAI refuse
// alternatives at the top. What is changed here is said to the model in words, and the server
// judges the arguments anyway.

// alternatives are the keywords that may not stand at the top of a schema.
var alternatives = []string{"$ref", "allOf", "anyOf", "oneOf", "enum", "not"}

// fit changes a schema that checkSchema has found valid into one that providers take.
func fit(top map[string]any) {
	delete(top, "$schema") // it only says which draft this is, and some refuse it
	flatten(top)
	fill(top)
}

// flatten replaces the alternatives at the top by all of their properties, and says them in the
// description.
func flatten(top map[string]any) {
	dropped := map[string]any{}
	for _, word := range alternatives {
		if v, ok := top[word]; ok {
			dropped[word] = v
			delete(top, word)
		}
	}
	if len(dropped) == 0 {
		return
	}
	properties, _ := top["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		top["properties"] = properties
	}
	g := gatherer{top: top, properties: properties, seen: map[string]bool{}}
	required := names(top["required"])
	for _, name := range g.add(dropped, 0) {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		slices.Sort(required)
		top["required"] = anys(required)
	}
	said, _ := top["description"].(string)
	if data, err := json.Marshal(dropped); err == nil {
		said = strings.TrimSpace(said + "\nThe arguments must also fit this schema: " + short.Bound(string(data), maxSaid))
	}
	top["description"] = said
}

// maxSaid bounds the alternatives in the words for the model, in bytes; maxNested how deep
// alternatives of alternatives are looked at.
const (
	maxSaid   = 4 << 10
	maxNested = 8
)

// gatherer adds the properties of alternatives to those of the top. Each reference is followed once:
// references to each other would multiply.
type gatherer struct {
	top, properties map[string]any
	seen            map[string]bool
}

// add adds what the schema s has in its alternatives, and returns which properties are required by
// all of them.
func (g gatherer) add(s map[string]any, depth int) (required []string) {
	if depth > maxNested {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		required = append(required, g.take(g.referred(ref), depth)...)
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[word].([]any)
		var inAll []string
		for i, part := range list {
			needs := g.take(part, depth)
			if word == "allOf" || i == 0 {
				inAll = append(inAll, needs...)
			} else {
				inAll = slices.DeleteFunc(inAll, func(name string) bool { return !slices.Contains(needs, name) })
			}
		}
		required = append(required, inAll...)
	}
	return required
}

// take adds the properties of one alternative.
func (g gatherer) take(v any, depth int) (required []string) {
	s, _ := v.(map[string]any)
	own, _ := s["properties"].(map[string]any)
	for name, property := range own {
		if _, ok := g.properties[name]; !ok {
			g.properties[name] = property
		} else if first, err := json.Marshal(g.properties[name]); err == nil {
			if second, err := json.Marshal(property); err != nil || string(first) != string(second) {
				g.properties[name] = map[string]any{} // alternatives differ about it
			}
		}
	}
	return append(names(s["required"]), g.add(s, depth+1)...)
}

// referred is the definition that ref names, nil if it is not one of the schema or was taken before.
func (g gatherer) referred(ref string) any {
	if g.seen[ref] {
		return nil
	}
	g.seen[ref] = true
	for _, word := range []string{"$defs", "definitions"} {
		if name, ok := strings.CutPrefix(ref, "#/"+word+"/"); ok {
			defs, _ := g.top[word].(map[string]any)
			return defs[name]
		}
	}
	return nil
}

// fill adds the properties of objects and the items of arrays that are left out: any.
func fill(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	is := func(kind string) bool {
		list, _ := s["type"].([]any)
		return s["type"] == kind || slices.Contains(list, any(kind))
	}
	if s["properties"] == nil && is("object") {
		s["properties"] = map[string]any{}
	}
	if s["items"] == nil && is("array") {
		s["items"] = map[string]any{}
	}
	for _, word := range schemaWords {
		fill(s[word])
	}
	for _, word := range append([]string{"items"}, listWords...) {
		list, _ := s[word].([]any)
		for _, part := range list {
			fill(part)
		}
	}
	for _, word := range mapWords {
		parts, _ := s[word].(map[string]any)
		for _, part := range parts {
			fill(part)
		}
	}
}

func names(v any) (out []string) {
	list, _ := v.([]any)
	for _, name := range list {
		out = append(out, fmt.Sprint(name))
	}
	return out
}

func anys(list []string) (out []any) {
	for _, s := range list {
		out = append(out, s)
	}
	return out
}
