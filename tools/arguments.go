package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"codeagent/internal/short"
)

// maxArguments bounds the JSON of one call: the longest patch, escaped.
const maxArguments = 10 << 20

// decode reads a tool's arguments into the struct that into points to. It is
// strict, and its errors say what is wrong and how to write it. Names must match
// exactly, unknown and repeated names are refused (an ignored argument must not look as
// if it had an effect), and nothing may follow the object. It accepts unambiguous mistakes
// that models are known to make: a number or a boolean in quotes, one string for a list of
// one, null for a missing argument, and an object or a list that was encoded twice.
func decode(arguments string, into any, example string) error {
	if len(arguments) > maxArguments {
		return fmt.Errorf("the arguments have %d bytes; at most %d are taken", len(arguments), maxArguments)
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	raw, err := single(arguments)
	if err == nil {
		err = decodeObject(unwrap(raw, '{'), reflect.ValueOf(into).Elem(), "")
	}
	if err != nil {
		return fmt.Errorf("%w. Example: %s", err, example)
	}
	return nil
}

// single reads one JSON value and nothing after it.
func single(text string) (json.RawMessage, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		var serr *json.SyntaxError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("the arguments end in the middle of the JSON, after %s; were they cut off?", show(tail(text)))
		case errors.As(err, &serr):
			at := int(serr.Offset)
			return nil, fmt.Errorf("the arguments are not JSON: %v, at byte %d, after %s", err, at, show(tail(text[:min(at, len(text))])))
		}
		return nil, fmt.Errorf("the arguments are not JSON: %v", err)
	}
	if rest := strings.TrimSpace(text[dec.InputOffset():]); rest != "" {
		return nil, fmt.Errorf("more text follows the JSON object: %s", show(rest))
	}
	return raw, nil
}

// tail returns the end of a text for display.
func tail(s string) string {
	if len(s) > 40 {
		return "…" + short.Tail(s, 40)
	}
	return s
}

// unwrap decodes a value that was encoded twice: a string whose content begins with open.
func unwrap(raw json.RawMessage, open byte) json.RawMessage {
	if raw[0] != '"' {
		return raw
	}
	var inner string
	if json.Unmarshal(raw, &inner) != nil || !strings.HasPrefix(strings.TrimSpace(inner), string(open)) {
		return raw
	}
	if value, err := single(inner); err == nil {
		return value
	}
	return raw
}

// field is one argument of a struct.
type field struct {
	name     string
	index    int
	required bool
	hidden   bool // accepted, but not in the schema
}

// fields lists the arguments that a struct's json tags name.
func fields(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		_, hidden := t.Field(i).Tag.Lookup("hidden")
		out = append(out, field{name, i, options != "omitempty", hidden})
	}
	return out
}

// decodeObject reads an object into the struct v. at is the prefix of its names in errors
// ("additional_permissions."), empty at the top.
func decodeObject(raw json.RawMessage, v reflect.Value, at string) error {
	if raw[0] != '{' {
		return wrongKind(strings.TrimSuffix(at, "."), "an object", raw)
	}
	known := fields(v.Type())
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		i := slices.IndexFunc(known, func(f field) bool { return f.name == name })
		if i < 0 {
			return unknown(at, name, known)
		}
		if seen[name] {
			return fmt.Errorf("the argument %q is given twice", at+name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if string(value) == "null" {
			seen[name] = !known[i].required
			continue
		}
		if err := decodeValue(value, v.Field(known[i].index), at+name); err != nil {
			return err
		}
	}
	for _, f := range known {
		if f.required && !seen[f.name] {
			return fmt.Errorf("the argument %q is missing", at+f.name)
		}
	}
	return nil
}

func unknown(at, name string, known []field) error {
	var names []string
	for _, f := range known {
		if !f.hidden {
			names = append(names, f.name)
		}
	}
	hint := ""
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", at+near)
	}
	return fmt.Errorf("there is no argument %s; nothing was done.%s The arguments are %s", show(at+name), hint, strings.Join(names, ", "))
}

func decodeValue(raw json.RawMessage, v reflect.Value, name string) error {
	switch v.Kind() {
	case reflect.String:
		if raw[0] != '"' {
			return wrongKind(name, "a string", raw)
		}
		return json.Unmarshal(raw, v.Addr().Interface())
	case reflect.Int:
		n, ok := wholeNumber(raw)
		if !ok {
			return wrongKind(name, "a whole number", raw)
		}
		v.SetInt(int64(n))
		return nil
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.Trim(string(raw), `"`))
		if err != nil || raw[0] >= '0' && raw[0] <= '9' {
			return wrongKind(name, "true or false", raw)
		}
		v.SetBool(b)
		return nil
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeObject(unwrap(raw, '{'), v.Elem(), name+".")
	case reflect.Slice:
		return decodeList(unwrap(raw, '['), v, name)
	}
	return fmt.Errorf("bug: the argument %q has a kind that cannot be read", name)
}

func decodeList(raw json.RawMessage, v reflect.Value, name string) error {
	structs := v.Type().Elem().Kind() == reflect.Struct
	if raw[0] == '"' && !structs {
		raw = append(append(json.RawMessage("["), raw...), ']')
	}
	if raw[0] != '[' {
		return wrongKind(name, "a list", raw)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return err
	}
	const most = 1000
	if len(items) > most {
		return fmt.Errorf("the argument %q has %d entries; at most %d are taken", name, len(items), most)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", name, i)
		var err error
		if structs {
			err = decodeObject(unwrap(item, '{'), v.Index(i), at+".")
		} else {
			err = decodeValue(item, v.Index(i), at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeNumber reads 5, 5.0, 5e0 and "5".
func wholeNumber(raw json.RawMessage) (int, bool) {
	s := strings.TrimSpace(strings.Trim(string(raw), `"`))
	if n, err := strconv.Atoi(s); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int32(f)) {
		return 0, false
	}
	return int(f), true
}

func wrongKind(name, want string, raw json.RawMessage) error {
	if name == "" {
		return fmt.Errorf("the arguments must be %s, not %s", want, show(string(raw)))
	}
	return fmt.Errorf("the argument %q must be %s, not %s", name, want, show(string(raw)))
}
