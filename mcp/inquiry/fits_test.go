package inquiry

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func at(n float64) *float64 { return &n }

// TestParse has a row for what a person may write into each kind of field.
func TestParse(t *testing.T) {
	colours := []string{"red", "green", "2"}
	for _, c := range []struct {
		field Field
		text  string
		want  any
		err   string
	}{
		{Field{Kind: String}, " Ada ", " Ada ", ""},
		{Field{Kind: String}, "  ", nil, ""},
		{Field{Kind: String, Required: true}, "  ", nil, "needs a value"},
		{Field{Kind: String, Least: at(3)}, "éé", "éé", "must be at least 3 characters"},
		{Field{Kind: String, Most: at(2)}, "éé", "éé", ""},
		{Field{Kind: String, Most: at(2)}, "abc", "abc", "must be at most 2 characters"},
		{Field{Kind: String, Format: "email"}, "ada@example.org", "ada@example.org", ""},
		{Field{Kind: String, Format: "email"}, "ada", "ada", "must be an e-mail address"},
		{Field{Kind: String, Format: "email"}, "a@b@c", "a@b@c", "must be an e-mail address"},
		{Field{Kind: String, Format: "uri"}, "https://example.org", "https://example.org", ""},
		{Field{Kind: String, Format: "uri"}, "example.org", "example.org", "must be a URI"},
		{Field{Kind: String, Format: "date"}, "2026-02-30", "2026-02-30", "must be a date, such as 2006-01-02"},
		{Field{Kind: String, Format: "date"}, "2026-02-28", "2026-02-28", ""},
		{Field{Kind: String, Format: "date-time"}, "2026-02-28T10:00:00Z", "2026-02-28T10:00:00Z", ""},
		{Field{Kind: String, Format: "date-time"}, "10:00", "10:00", "must be a time, such as 2006-01-02T15:04:05Z"},
		{Field{Kind: Number}, " 2.5 ", 2.5, ""},
		{Field{Kind: Number}, "NaN", nil, "must be a number"},
		{Field{Kind: Number}, "many", nil, "must be a number"},
		{Field{Kind: Integer}, "2.5", nil, "must be a whole number"},
		{Field{Kind: Integer}, "1e300", nil, "must be a whole number"},
		{Field{Kind: Integer, Least: at(18)}, "17", 17.0, "must be at least 18"},
		{Field{Kind: Integer, Least: at(18)}, "18", 18.0, ""},
		{Field{Kind: Integer}, "", nil, ""},
		{Field{Kind: Boolean}, "Yes", true, ""},
		{Field{Kind: Boolean}, "no", false, ""},
		{Field{Kind: Boolean}, "perhaps", nil, "must be yes or no"},
		{Field{Kind: Choice, Choices: colours}, "green", "green", ""},
		{Field{Kind: Choice, Choices: colours}, "1", "red", ""},
		{Field{Kind: Choice, Choices: colours}, "2", "2", ""}, // the word before the number
		{Field{Kind: Choice, Choices: colours}, "4", nil, "is not one of the choices"},
		{Field{Kind: Choices, Choices: colours}, "1, green,red", []string{"red", "green"}, ""},
		{Field{Kind: Choices, Choices: colours, Most: at(1)}, "red,green", nil, "must be at most 1 of them"},
		{Field{Kind: Choices, Choices: colours}, "red,blue", nil, "is not one of the choices"},
	} {
		got, err := c.field.Parse(c.text)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != c.err || c.err == "" && !cmp.Equal(got, c.want) {
			t.Errorf("%+v from %q: %#v, %q, want %#v, %q", c.field, c.text, got, said, c.want, c.err)
		}
		if c.err == "" && got != nil {
			if again, err := c.field.Parse(c.field.Written(got)); err != nil || !cmp.Equal(again, got) {
				t.Errorf("%+v: %#v, written and parsed, is %#v, %v", c.field, got, again, err)
			}
		}
	}
}

// TestFits: values come from other programs too, in types that no person types.
func TestFits(t *testing.T) {
	q := Question{Fields: []Field{{Name: "a", Kind: Integer, Required: true}, {Name: "b", Kind: String, Title: "Bee"}}}
	for _, c := range []struct {
		values map[string]any
		err    string
	}{
		{map[string]any{"a": 1.0}, ""},
		{map[string]any{"a": 1.0, "b": "x"}, ""},
		{map[string]any{}, "a: needs a value"},
		{map[string]any{"a": "1"}, "a: must be a whole number"},
		{map[string]any{"a": math.Inf(1)}, "a: must be a whole number"},
		{map[string]any{"a": 1.0, "b": []string{"x"}}, "Bee: must be text"},
		{map[string]any{"a": 1.0, "c": "x"}, "there is a value that was not asked for"},
	} {
		said := ""
		if err := q.Fits(c.values); err != nil {
			said = err.Error()
		}
		if said != c.err {
			t.Errorf("%v: %q, want %q", c.values, said, c.err)
		}
	}
}

func TestWants(t *testing.T) {
	for _, c := range []struct {
		field Field
		want  string
	}{
		{Field{Kind: String}, "text"},
		{Field{Kind: String, Format: "email", Most: at(80)}, "an e-mail address, at most 80 characters"},
		{Field{Kind: Integer, Least: at(1), Most: at(5)}, "a whole number, 1 to 5"},
		{Field{Kind: Choices, Least: at(2), Most: at(2)}, "any of these, exactly 2 of them"},
		{Field{Kind: Number, Least: at(-0.5)}, "a number, at least -0.5"},
	} {
		if got := c.field.Wants(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.field, got, c.want)
		}
	}
}
