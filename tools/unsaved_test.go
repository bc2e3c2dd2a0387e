package tools

import (
	"context"
	"strings"
	"testing"
)

// TestUnsaved: an editor's text is what the model reads if it has other lines than the file. How an
// editor ends lines is no change.
func TestUnsaved(t *testing.T) {
	for name, c := range map[string]struct {
		disk, editor string
		unsaved      bool
	}{
		"the same":                 {"a\nb\n", "a\nb\n", false},
		"lines joined":             {"a\nb\n", "a\nb", false},
		"a line end added":         {"a\nb", "a\nb\n", false},
		"CRLF on disk":             {"a\r\nb\r\n", "a\nb\n", false},
		"CR on disk":               {"a\rb\r", "a\nb", false},
		"a byte order mark":        {"\ufeffa\n", "a\n", false},
		"of another encoding":      {"caf\xe9\n", "café\n", false},
		"a changed line":           {"a\nb\n", "a\nc\n", true},
		"an empty line at the end": {"a\n", "a\n\n", true},
		"CRLF and a change":        {"a\r\nb\r\n", "a\nc\n", true},
		"emptied":                  {"a\n", "", true},
	} {
		p := newPlace(t, map[string]string{"f": c.disk})
		p.options.Unsaved = func(context.Context, string) (string, bool) { return c.editor, true }
		r := p.ok("read_file", args{"path": "f"})
		if got := strings.HasPrefix(r.Text, unsavedNote); got != c.unsaved {
			t.Errorf("%s: unsaved is %v: %q", name, got, r.Text)
		}
	}
}
