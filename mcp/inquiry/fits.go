package inquiry

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Label is what a person calls the field: its title, or else its name.
func (f Field) Label() string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}

// Wants says in codeagent's words what the field takes, such as "a whole number, 1 to 5".
func (f Field) Wants() string {
	what := map[Kind]string{String: "text", Number: "a number", Integer: "a whole number", Boolean: "yes or no", Choice: "one of these", Choices: "any of these"}[f.Kind]
	if words := formats[f.Format]; words != "" && f.Kind == String {
		what = words
	}
	unit := map[Kind]string{String: " characters", Choices: " of them"}[f.Kind]
	switch least, most := bound(f.Least), bound(f.Most); {
	case least != "" && least == most:
		what += ", exactly " + most + unit
	case least != "" && most != "":
		what += ", " + least + " to " + most + unit
	case least != "":
		what += ", at least " + least + unit
	case most != "":
		what += ", at most " + most + unit
	}
	return what
}

// formats are the formats that are checked, in words.
var formats = map[string]string{
	"email": "an e-mail address", "uri": "a URI", "date": "a date, such as 2006-01-02", "date-time": "a time, such as 2006-01-02T15:04:05Z",
}

func bound(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// ErrMissing: a required field has no value.
var ErrMissing = errors.New("needs a value")

// Parse is the value that a person wrote for the field, nil for an empty text. A choice is written
// as it is shown, or by its number from 1 on; several with commas between them. The error says in
// a few words why the value does not fit.
func (f Field) Parse(text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	var v any
	switch f.Kind {
	case String:
		v = text
	case Number, Integer:
		n, err := strconv.ParseFloat(trimmed, 64)
		if trimmed != "" && err != nil {
			return nil, f.kindError()
		}
		v = n
	case Boolean:
		switch strings.ToLower(trimmed) {
		case "yes", "y", "true":
			v = true
		case "no", "n", "false":
			v = false
		default:
			v = trimmed
		}
	case Choice:
		v = f.chosen(trimmed)
	case Choices:
		taken := []string{}
		for part := range strings.SplitSeq(trimmed, ",") {
			if c := f.chosen(strings.TrimSpace(part)); c != "" && !slices.Contains(taken, c) {
				taken = append(taken, c)
			}
		}
		v = taken
	}
	if trimmed == "" {
		v = nil
	}
	return v, f.Fits(v)
}

// chosen is the choice that a word means, or the word.
func (f Field) chosen(word string) string {
	if n, err := strconv.Atoi(word); err == nil && !slices.Contains(f.Choices, word) && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1]
	}
	return word
}

// Fits reports whether a value is one that the field takes; nil is no value. The error says in a
// few words why not.
func (f Field) Fits(v any) error {
	if v == nil {
		if f.Required {
			return ErrMissing
		}
		return nil
	}
	switch v := v.(type) {
	case string:
		if f.Kind == Choice && slices.Contains(f.Choices, v) {
			return nil
		}
		if f.Kind == String {
			return f.fitsText(v)
		}
	case float64:
		if f.Kind == Integer && v == math.Trunc(v) && math.Abs(v) <= 1<<53 || f.Kind == Number && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return f.within(v, "")
		}
	case bool:
		if f.Kind == Boolean {
			return nil
		}
	case []string:
		if f.Kind == Choices && !slices.ContainsFunc(v, func(s string) bool { return !slices.Contains(f.Choices, s) }) {
			return f.within(float64(len(v)), " of them")
		}
	}
	return f.kindError()
}

func (f Field) kindError() error {
	switch f.Kind {
	case Choice, Choices:
		return errors.New("is not one of the choices")
	}
	return errors.New("must be " + Field{Kind: f.Kind}.Wants())
}

func (f Field) fitsText(s string) error {
	ok := true
	switch f.Format {
	case "email":
		user, host, found := strings.Cut(s, "@")
		ok = found && user != "" && host != "" && !strings.ContainsAny(s, " \t\n<>") && !strings.Contains(host, "@")
	case "uri":
		u, err := url.Parse(s)
		ok = err == nil && u.Scheme != ""
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		ok = err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		ok = err == nil
	}
	if !ok {
		return errors.New("must be " + formats[f.Format])
	}
	return f.within(float64(utf8.RuneCountInString(s)), " characters")
}

func (f Field) within(n float64, unit string) error {
	switch {
	case f.Least != nil && n < *f.Least:
		return fmt.Errorf("must be at least %s%s", bound(f.Least), unit)
	case f.Most != nil && n > *f.Most:
		return fmt.Errorf("must be at most %s%s", bound(f.Most), unit)
	}
	return nil
}

// Written is a value as Parse reads it.
func (f Field) Written(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		return strings.Join(v, ", ")
	}
	return ""
}

// Defaults are the values that the server proposes, by field name.
func (q Question) Defaults() map[string]any {
	values := map[string]any{}
	for _, f := range q.Fields {
		if f.Default != nil {
			values[f.Name] = f.Default
		}
	}
	return values
}

// Fits reports whether the values are an answer to the question: each field's fits, and there are
// no others. The error names the field.
func (q Question) Fits(values map[string]any) error {
	known := 0
	for _, f := range q.Fields {
		v, given := values[f.Name]
		if given {
			known++
		}
		if err := f.Fits(v); err != nil {
			return fmt.Errorf("%s: %w", f.Label(), err)
		}
	}
	if known < len(values) {
		return errors.New("there is a value that was not asked for")
	}
	return nil
}

// Positional reads the values of fields from a text, in the order of the fields: a word each, or what
// stands in double quotes; the last field takes all that is left. What has no value is absent.
func Positional(fields []Field, text string) map[string]string {
	out := map[string]string{}
	for i, f := range fields {
		one, rest := firstWord(text)
		if i == len(fields)-1 {
			one, rest = strings.TrimSpace(text), ""
		}
		if text = rest; one != "" {
			out[f.Name] = one
		}
	}
	return out
}

// firstWord is the first word of a text, or what it has in double quotes.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		if word, rest, ok = strings.Cut(quoted, `"`); ok {
			return word, rest
		}
	}
	word, rest, _ = strings.Cut(text, " ")
	return word, rest
}
