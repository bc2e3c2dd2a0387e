package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Common is one of the settings that people change.
type Common struct {
	Key, Value string
	// Doc says what it does, in Markdown. Choices are its values; empty: others than true and false are written.
	Doc     string
	Choices []string
	Origin  Origin
}

// Common returns the settings that people change, in the order of the table. Full access is no choice: it has to
// be spelled out in the file.
func (c Config) Common() (out []Common) {
	link := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	for _, s := range settings {
		if !s.often {
			continue
		}
		one := Common{Key: s.key, Value: fmt.Sprint(s.at(&c, "").Interface()), Doc: link.ReplaceAllString(s.doc, "$1"), Origin: c.Origin(s.key)}
		one.Choices = slices.DeleteFunc(slices.Clone(s.choices), func(v string) bool { return s.key == "sandbox.mode" && v == FullAccess })
		if s.kind() == flag {
			one.Choices = []string{"true", "false"}
		}
		out = append(out, one)
	}
	return out
}

// Parse returns what text, as a person writes it, is for the setting key: a string, a bool or an int64.
func Parse(key, text string) (any, error) {
	s, _, ok := find(splitKey(key))
	if !ok {
		return nil, fmt.Errorf("%s", unknown(splitKey(key)))
	}
	return s.parseValue(strings.TrimSpace(text))
}
