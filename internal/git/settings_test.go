package git

import (
	"strings"
	"testing"
)

// TestCopySettings: settings that name a program are refused unless they were there, and a new work tree is
// left out.
func TestCopySettings(t *testing.T) {
	const tree = "[core]\n\tbare = false\n\tworktree = ../../../sub\n"
	for _, c := range []struct{ text, before, want, refused string }{
		{text: "[user]\n\tname = a\n", want: "[user]\n\tname = a\n"},
		{text: "[core]\n\tfsmonitor = ./x\n", refused: "core.fsmonitor"},
		{text: "[core]\n\tfsmonitor = ./x\n", before: "[core]\n\tfsmonitor = ./y\n", refused: "core.fsmonitor"},
		{text: "[core]\n\tfsmonitor = ./x\n", before: "[core]\n\tfsmonitor = ./x\n", want: "[core]\n\tfsmonitor = ./x\n"},
		{text: "[core]\n\tfsmonitor = ./x\n", before: "not settings", refused: "core.fsmonitor"},
		{text: tree, want: "[core]\n\tbare = false\n"},
		{text: tree, before: tree, want: tree},
		{text: "[core] worktree = ../sub\n", refused: "core.worktree"},
		{text: "not settings", refused: "git could not parse"},
	} {
		got, err := CopySettings([]byte(c.text), []byte(c.before))
		if c.refused == "" && (err != nil || string(got) != c.want) || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%q after %q: %q, %v", c.text, c.before, got, err)
		}
	}
}
