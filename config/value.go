package config

import (
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
func (s setting) check(raw any) (value, error) {
	v, err := s.typed(raw)
	if err == nil && s.valid != nil {
		err = s.valid(v)
	}
	return v, err
}

// typed is check for the type only.
func (s setting) typed(raw any) (value, error) {
	var v value
	var ok bool
	switch s.kind {
	case text, choice:
		if v.text, ok = raw.(string); !ok {
			return v, s.mismatch(raw)
		}
		return v, s.checkText(v.text)
	case flag:
		if v.on, ok = raw.(bool); !ok {
			return v, s.mismatch(raw)
		}
	case number:
		if v.number, ok = raw.(int64); !ok {
			return v, s.mismatch(raw)
		}
		if v.number < 0 || v.number > s.most {
			return v, fmt.Errorf("invalid value %d; use %s", v.number, s.wants())
		}
	case texts:
		list, ok := raw.([]any)
		if !ok {
			return v, s.mismatch(raw)
		}
		v.texts = []string{}
		for i, element := range list {
			one, ok := element.(string)
			if !ok {
				return v, fmt.Errorf("element %d: got %s; use %s", i+1, describe(element), s.wants())
			}
			if err := s.checkText(one); err != nil {
				return v, fmt.Errorf("element %d: %w", i+1, err)
			}
			v.texts = append(v.texts, one)
		}
	case table:
		entries, ok := raw.(map[string]any)
		if !ok {
			return v, s.mismatch(raw)
		}
		v.table = map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if v.table[key], ok = entries[key].(string); !ok {
				return v, fmt.Errorf("%q: got %s; use a string", key, describe(entries[key]))
			}
		}
	}
	return v, nil
}

func (s setting) checkText(t string) error {
	switch {
	case len(s.choices) > 0 && !slices.Contains(s.choices, t):
		hint := ""
		if near := nearest(t, s.choices); near != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", near)
		}
		return fmt.Errorf("invalid value %s; use %s%s", quoted(t), s.wants(), hint)
	case s.kind == texts && t == "":
		return fmt.Errorf("must not be empty")
	case !utf8.ValidString(t) || strings.ContainsFunc(t, unicode.IsControl):
		return fmt.Errorf("invalid value %s: control characters are not allowed", quoted(t))
	}
	return nil
}

func (s setting) mismatch(raw any) error {
	return fmt.Errorf("got %s; use %s", describe(raw), s.wants())
}

// wants says which values the setting accepts.
func (s setting) wants() string {
	switch {
	case len(s.choices) > 0:
		var list []string
		for _, c := range s.choices {
			list = append(list, strconv.Quote(c))
		}
		if s.kind == texts {
			return "a list of " + strings.Join(list, ", ")
		}
		return "one of " + strings.Join(list, ", ")
	case s.kind == number:
		return fmt.Sprintf("a whole number from 0 to %d", s.most)
	case s.kind == flag:
		return string(flag)
	}
	return "a " + string(s.kind)
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
func (s setting) parseValue(t string) (value, error) {
	var holder map[string]any
	if err := toml.Unmarshal([]byte("v = "+t), &holder); err == nil && len(holder) == 1 {
		if v, err := s.check(holder["v"]); err == nil || s.kind != text && s.kind != choice {
			return v, err
		}
	} else if s.kind != text && s.kind != choice {
		return value{}, fmt.Errorf("invalid value %s; use %s, written as TOML", quoted(t), s.wants())
	}
	return s.check(t)
}

// nearest returns the most similar candidate, or "" if none is similar.
func nearest(t string, candidates []string) string {
	best, least := "", 1+max(1, len(t)/3)
	for _, c := range candidates {
		if d := distance(t, c); c != "" && d < least {
			best, least = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that change
// a into b.
func distance(a, b string) int {
	if len(a) > 100 {
		return 100
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
