package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"codeagent/internal/short"
)

// check converts a decoded TOML value to a value of the setting, or returns an error that
// says what is expected.
func (s setting) check(raw any) (any, error) {
	v, err := s.typed(raw)
	if err == nil && s.valid != nil {
		err = s.valid(v)
	}
	return v, err
}

// typed is check for the type only.
func (s setting) typed(raw any) (any, error) {
	kind := s.kind()
	switch v := raw.(type) {
	case string:
		if kind == text || kind == choice {
			return v, s.checkText(v)
		}
	case bool:
		if kind == flag {
			return v, nil
		}
	case int64:
		if kind == number && (v < 0 || v > s.most) {
			return v, fmt.Errorf("invalid value %d; use %s", v, s.wants())
		}
		if kind == number {
			return v, nil
		}
	case []any:
		if kind == texts {
			return s.checkTexts(v)
		}
		if kind == tables {
			return checkHooks(v)
		}
	case map[string]any:
		if kind == table {
			return checkTable(v)
		}
	}
	return nil, fmt.Errorf("got %s; use %s", describe(raw), s.wants())
}

func (s setting) checkTexts(list []any) ([]string, error) {
	out := make([]string, len(list))
	for i, element := range list {
		var ok bool
		if out[i], ok = element.(string); !ok {
			return nil, fmt.Errorf("element %d: got %s; use %s", i+1, describe(element), s.wants())
		}
		if err := s.checkText(out[i]); err != nil {
			return nil, fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return out, nil
}

func checkTable(entries map[string]any) (map[string]string, error) {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		var ok bool
		if out[key], ok = entries[key].(string); !ok {
			return nil, fmt.Errorf("%q: got %s; use a string", key, describe(entries[key]))
		}
	}
	return out, nil
}

func (s setting) checkText(t string) error {
	switch {
	case len(s.choices) > 0 && !slices.Contains(s.choices, t):
		return fmt.Errorf("invalid value %s; use %s%s", quoted(t), s.wants(), short.Meant(t, s.choices))
	case s.kind() == texts && t == "":
		return errors.New("must not be empty")
	case !utf8.ValidString(t) || strings.ContainsFunc(t, unicode.IsControl):
		return fmt.Errorf("invalid value %s: control characters are not allowed", quoted(t))
	}
	return nil
}

func (s setting) wants() string {
	kind := s.kind()
	var choices []string
	for _, c := range s.choices {
		choices = append(choices, strconv.Quote(c))
	}
	switch {
	case len(choices) > 0 && kind == texts:
		return "a list of " + strings.Join(choices, ", ")
	case len(choices) > 0:
		return "one of " + strings.Join(choices, ", ")
	case kind == number:
		return fmt.Sprintf("a whole number from 0 to %d", s.most)
	case kind == flag:
		return string(flag)
	}
	return "a " + string(kind)
}

func describe(raw any) string {
	switch raw := raw.(type) {
	case string:
		return "the string " + quoted(raw)
	case bool:
		return fmt.Sprint(raw)
	case int64, float64:
		return fmt.Sprintf("the number %v", raw)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

// quoted returns foreign text for a message: escaped and bounded.
func quoted(t string) string {
	return short.Quote(t, 60)
}

// parseValue parses the text after "key=" on the command line: TOML, or for a string the bare
// text.
func (s setting) parseValue(t string) (any, error) {
	bare := s.kind() == text || s.kind() == choice
	var holder map[string]any
	if err := toml.Unmarshal([]byte("v = "+t), &holder); err == nil && len(holder) == 1 {
		if v, err := s.check(holder["v"]); err == nil || !bare {
			return v, err
		}
	} else if !bare {
		return nil, fmt.Errorf("invalid value %s; use %s, written as TOML", quoted(t), s.wants())
	}
	return s.check(t)
}

// parseFlag parses the values of a flag: all of them for a list, else the last.
func (s setting) parseFlag(values []string) (any, error) {
	if s.kind() != texts {
		return s.parseValue(values[len(values)-1])
	}
	list := make([]any, len(values))
	for i, one := range values {
		list[i] = one
	}
	return s.check(list)
}
