package server

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// WithText sets a setting outside the servers, such as "model" or "tui.theme", to a string.
func WithText(text []byte, setting, value string) ([]byte, error) {
	key := strings.Split(setting, ".")
	name, table := key[len(key)-1], key[:len(key)-1]
	line, _ := toml.Marshal(map[string]string{name: value}) // a string can always be written
	want, err := decoded(text)
	if err != nil {
		return nil, err
	}
	edited := withPair(text, key, table, string(line))
	at := want
	for _, part := range table {
		inner, _ := at[part].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
		}
		at[part], at = inner, inner
	}
	at[name] = value
	if got, err := decoded(edited); err != nil || !reflect.DeepEqual(want, got) {
		return nil, fmt.Errorf("%s is written in a form that codeagent does not edit; write %s yourself", setting, strings.TrimSpace(string(line)))
	}
	return edited, nil
}

// withPair replaces the value of a key, or adds the line to its table.
func withPair(text []byte, key, table []string, line string) []byte {
	all, lines := expressions(text), bytes.SplitAfter(text, []byte("\n"))
	if i := slices.IndexFunc(all, func(e expression) bool { return !e.header && slices.Equal(e.key, key) }); i >= 0 {
		_, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		return slices.Concat(text[:all[i].text[0]], []byte(value), text[all[i].text[1]:])
	}
	first := slices.IndexFunc(all, func(e expression) bool { return e.header })
	switch {
	case len(table) > 0:
		if i := slices.IndexFunc(all, func(e expression) bool { return e.header && slices.Equal(e.key, table) }); i >= 0 {
			at := len(bytes.Join(lines[:all[i].line], nil))
			return slices.Concat(text[:at], pairAfter(text, at, line), text[at:])
		}
		return after(text, len(text), "["+strings.Join(table, ".")+"]\n"+line)
	case first > 0 || first < 0 && len(all) > 0: // below the last line outside a table
		last := first - 1
		if first < 0 {
			last = len(all) - 1
		}
		at := len(bytes.Join(lines[:lastLine(lines, all, last)], nil))
		return slices.Concat(text[:at], pairAfter(text, at, line), text[at:])
	case first < 0: // nothing but comments
		return slices.Concat(text, pairAfter(text, len(text), line))
	}
	at := len(text) - len(bytes.TrimPrefix(text, mark))
	return slices.Concat(text[:at], asIn(text, line), text[at:])
}
