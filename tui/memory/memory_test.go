package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/internal/golden"
	"codeagent/tui/keys"
	"codeagent/tui/memory"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// rig is the list over files that are a map.
type rig struct {
	t     *testing.T
	at    part.Overlay
	files map[string]string
	notes string
	err   error
}

func start(t *testing.T, text string) *rig {
	r := &rig{t: t, files: map[string]string{}}
	l := memory.List{
		Setting: part.Setting{Keys: keys.Standard(), Now: time.Now},
		Places: func(context.Context) ([]memory.Place, error) {
			return []memory.Place{
				{Path: "/home/ada/.config/codeagent/AGENTS.md", Name: "~/.config/codeagent/AGENTS.md", Source: "yours, new"},
				{Path: "/w/CLAUDE.md", Name: "CLAUDE.md", Source: "this project"},
				{Path: "/w/deep/.cursor/rules/style.mdc", Name: "deep/.cursor/rules/style.mdc", Source: "this project"},
			}, nil
		},
		Add: func(_ context.Context, path, line string) (string, error) {
			if strings.Contains(path, "style") {
				return "", errors.New("style.mdc: permission denied")
			}
			r.files[path] += line + "\n"
			return "added to " + path, nil
		},
	}
	r.do(l.Show(text))
	return r
}

func (r *rig) do(intent part.Intent) {
	switch w := intent.(type) {
	case part.Show:
		r.at = w.Overlay
		r.do(w.Overlay.Load())
	case part.Beside:
		r.do(w(r.t.Context())())
	case part.Turn:
		var then func() part.Intent
		if then, r.err = w.Work(r.t.Context()); then != nil {
			r.do(then())
		}
	case part.Note:
		r.notes += string(w)
	}
}

func (r *rig) press(codes ...rune) {
	for _, c := range codes {
		k := tea.Key{Code: c}
		if c < tea.KeyExtended && c != tea.KeyEnter {
			k.Text = string(c)
		}
		intent, _ := r.at.Key(keys.Key(k))
		r.do(intent)
	}
}

func (r *rig) screen(w, h int) string {
	lines, _, _ := r.at.View(paint.New(true), w, h)
	for i, l := range lines {
		if ansi.StringWidth(l) > w {
			r.t.Errorf("line %d is wider than %d: %q", i, w, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (r *rig) golden(name string) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
		golden.Check(r.t, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), r.screen(size[0], size[1]))
	}
}

// TestMemory: the files with their sources; a line is written there, or comes with the command.
func TestMemory(t *testing.T) {
	r := start(t, "")
	r.golden("memory")
	r.press(tea.KeyDown, tea.KeyEnter)
	r.press([]rune("use tabs")...)
	r.golden("memory-line")
	if r.press(tea.KeyEnter); r.files["/w/CLAUDE.md"] != "use tabs\n" || r.notes != "added to /w/CLAUDE.md" {
		t.Errorf("%q %q", r.files, r.notes)
	}
	// An empty line adds nothing.
	if r.press(tea.KeyEnter, tea.KeyEnter); r.files["/w/CLAUDE.md"] != "use tabs\n" {
		t.Errorf("%q", r.files)
	}
	r = start(t, " never use a goroutine where a loop does ")
	r.golden("memory-text")
	if r.press(tea.KeyEnter); r.files["/home/ada/.config/codeagent/AGENTS.md"] != "never use a goroutine where a loop does\n" {
		t.Errorf("%q", r.files)
	}
	if r.press(tea.KeyDown, tea.KeyDown, tea.KeyEnter); r.err == nil {
		t.Error("a line that was not written is no error")
	}
}
