package execcmd

import (
	"errors"
	"fmt"
	"reflect"
	"regexp/syntax"
	"slices"
	"strings"

	"codeagent/internal/short"

	"github.com/google/jsonschema-go/jsonschema"
)

// types are the words of `type`.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// words checks what the validator would find only in an answer, after the model was paid for: the
// version and the types that a schema names. It returns the patterns that Go's regular expressions
// cannot hold, such as a lookahead, which other libraries write for an e-mail address, and takes them out of
// the schema.
func words(schema *jsonschema.Schema) (foreign []string, err error) {
	version := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(schema.Schema, "#"), "https://"), "http://")
	switch version {
	case "", "json-schema.org/draft/2020-12/schema":
		schema.Schema = ""
	case "json-schema.org/draft-07/schema":
		schema.Schema = "http://json-schema.org/draft-07/schema#"
	default:
		return nil, fmt.Errorf("$schema %s: use draft 2020-12 or draft-07", short.Quote(schema.Schema, 100))
	}
	each(reflect.ValueOf(schema), func(s *jsonschema.Schema) {
		for _, word := range append(s.Types, s.Type) {
			if word != "" && !slices.Contains(types, word) && err == nil {
				err = fmt.Errorf("type %s: use one of %s", short.Quote(word, 60), strings.Join(types, ", "))
			}
		}
		if s.Not != nil && isForeign(s.Not.Pattern) { // what is not checked refuses nothing
			foreign, s.Not = append(foreign, s.Not.Pattern), nil
		}
		if isForeign(s.Pattern) {
			foreign = append(foreign, s.Pattern)
			s.Pattern = ""
		}
	})
	slices.Sort(foreign)
	return slices.Compact(foreign), err
}

// isForeign reports a pattern that may be a regular expression elsewhere.
func isForeign(pattern string) bool {
	_, err := syntax.Parse(pattern, syntax.Perl)
	var wrong *syntax.Error
	return errors.As(err, &wrong) && slices.Contains([]syntax.ErrorCode{
		syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidCharRange, syntax.ErrInvalidRepeatSize, syntax.ErrLarge,
	}, wrong.Code)
}

// each calls do for every schema in v, which is a schema, or a list or a table of them.
func each(v reflect.Value, do func(*jsonschema.Schema)) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			each(v.Index(i), do)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			each(v.MapIndex(key), do)
		}
	case reflect.Pointer:
		s, ok := v.Interface().(*jsonschema.Schema)
		if !ok || s == nil {
			return
		}
		do(s)
		for i := range v.Elem().NumField() {
			each(v.Elem().Field(i), do)
		}
	}
}
