// Package mask hides secrets in texts that leave a session: lines of a log, and what a
// collector gets. It performs no IO. Start with New.
//
// A text can hold a secret in two ways. It repeats the value of a variable whose name looks
// like a secret's: those values are known. Or it has the shape in which secrets are usually
// written (Authorization headers, NAME_TOKEN=..., passwords in URLs).
package mask

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mark stands for a secret.
const Mark = "[secret]"

// leastValue is the least length of a value that is searched for: a shorter one is part of
// ordinary words.
const leastValue = 6

// Mask hides secrets. Its nil value hides those with a known shape only.
type Mask struct{ values []string }

// New returns a Mask for the values of the variables of environ whose names secret accepts.
func New(environ []string, secret func(name string) bool) *Mask {
	m := &Mask{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !secret(name) {
			continue
		}
		m.add(value)
		for pair := range strings.SplitSeq(value, ",") { // NAME=VALUE,NAME=VALUE, as of headers
			_, v, _ := strings.Cut(pair, "=")
			m.add(v)
		}
	}
	// The longest first, since one may be the beginning of another.
	slices.SortFunc(m.values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return m
}

func (m *Mask) add(value string) {
	if value = strings.TrimSpace(value); len(value) >= leastValue {
		m.values = append(m.values, value)
	}
}

// shapes match texts with a secret; their first group stays.
var shapes = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[a-z0-9+/=._~-]{8,}`),
		regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:key|secret|token|password|passwd|credential)[a-z0-9_.-]*["']?\s*[=:]\s*["']?)[^\s"'&;|]{4,}`),
		regexp.MustCompile(`(?i)(--?[a-z0-9-]*(?:api-?key|secret|token|password|passwd|credential)[a-z0-9-]*\s+["']?)[^\s"'&;|-][^\s"'&;|]{3,}`),
		regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`),
	}
})

// Text returns text with a mark for each secret. Cut a text only after it was masked: the
// rest of a cut secret would not be found.
func (m *Mask) Text(text string) string {
	if m != nil {
		for _, v := range m.values {
			text = strings.ReplaceAll(text, v, Mark)
		}
	}
	for i, shape := range shapes() {
		with := "${1}" + Mark
		if i == len(shapes())-1 {
			with += "@"
		}
		text = shape.ReplaceAllString(text, with)
	}
	return text
}
