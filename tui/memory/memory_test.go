package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"codeagent/tui/keys"
	"codeagent/tui/memory"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/tuitest/overlaytest"
)

// rig is the list over files that are a map.
type rig struct {
	overlaytest.Person
	files map[string]string
}

func start(t *testing.T, text string) *rig {
	r := &rig{Person: overlaytest.Person{T: t}, files: map[string]string{}}
	l := memory.List{
		Setting: part.Setting{Keys: keys.Standard(), Now: time.Now},
		Places: func() []picker.Row {
			return []picker.Row{
				{Id: "/home/ada/.config/codeagent/AGENTS.md", Text: "~/.config/codeagent/AGENTS.md", About: "yours, new"},
				{Id: "/w/CLAUDE.md", Text: "CLAUDE.md", About: "this project"},
				{Id: "/w/deep/.cursor/rules/style.mdc", Text: "deep/.cursor/rules/style.mdc", About: "this project"},
			}
		},
		Add: func(_ context.Context, path, line string) (string, error) {
			if strings.Contains(path, "style") {
				return "", errors.New("style.mdc: permission denied")
			}
			r.files[path] += line + "\n"
			return "added to " + path, nil
		},
	}
	r.Do(l.Show(text))
	return r
}

// TestMemory: the files with their sources; a line is written there, or comes with the command.
func TestMemory(t *testing.T) {
	r := start(t, "")
	r.Golden("memory")
	r.Press("down", "enter")
	r.Write("use tabs")
	r.Golden("memory-line")
	if r.Press("enter"); r.files["/w/CLAUDE.md"] != "use tabs\n" || r.Notes != "added to /w/CLAUDE.md\n" {
		t.Errorf("%q %q", r.files, r.Notes)
	}
	// An empty line adds nothing.
	if r.Press("enter", "enter"); r.files["/w/CLAUDE.md"] != "use tabs\n" {
		t.Errorf("%q", r.files)
	}
	r = start(t, " never use a goroutine where a loop does ")
	r.Golden("memory-text")
	if r.Press("enter"); r.files["/home/ada/.config/codeagent/AGENTS.md"] != "never use a goroutine where a loop does\n" {
		t.Errorf("%q", r.files)
	}
	if r.Press("down", "down", "enter"); r.Err == nil {
		t.Error("a line that was not written is no error")
	}
}
