package conversation

import (
	"slices"
	"testing"
)

// TestNamed has a row for each way in which a text can name a resource, or not.
func TestNamed(t *testing.T) {
	known := func(name string) bool { return name == "files" || name == "t" }
	there := func(path string) bool { return slices.Contains([]string{"a.go", "a b.go", "a.go:7", "10:30"}, path) }
	for _, c := range []struct {
		text string
		want []resource
	}{
		{"", nil},
		{"@files:file:///a/b.txt", []resource{{"files", "file:///a/b.txt"}}},
		{"see @t:note:1, and (@t:note:2).", []resource{{"t", "note:1"}, {"t", "note:2"}}},
		{"@t:x @t:x", []resource{{"t", "x"}}},
		{`the "@t:x" and @"t:a b"!`, []resource{{"t", "x"}, {"t", "a b"}}},
		{"line\n@t:x\n", []resource{{"t", "x"}}},
		{"mail ada@t:x", nil},
		{"@main.go#20 and (@src/a.go#20-45), see @main.go", []resource{{"", "main.go#20"}, {"", "src/a.go#20-45"}}},
		{`@"a b.go"#7-9. @"a b.go" #1`, []resource{{"", "a b.go#7-9"}}},
		{"@a.go#0 @a.go#9-2 @t:x#1", []resource{{"", "a.go#0"}, {"", "a.go#9-2"}, {"t", "x#1"}}},
		{"@a.go# @a.go#x @#1 ada@a.go#2 @a.go#1-2-3", nil},
		{`@a.go:20-45, @a.go#20-45 and @"a b.go":3.`, []resource{{"", "a.go#20-45"}, {"", "a b.go#3"}}},
		{"@a.go:7 @gone.go:8 @10:30 @a.go:1-2-3 @a.go:", nil},
		{"@other:x @file.go:3 @t @t: @ @@ t:x", nil},
		{"@@t:x", nil},
		{`@"t:never closed`, []resource{{"t", "never closed"}}},
		{"@t:mailto:a@t:b", []resource{{"t", "mailto:a@t:b"}}},
	} {
		if got := named(c.text, known, there); !slices.Equal(got, c.want) {
			t.Errorf("%q names %v, want %v", c.text, got, c.want)
		}
	}
}
