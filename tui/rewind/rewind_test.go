package rewind

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/undoing"
)

// past has three messages; two files changed after the second one.
type past struct {
	look undoing.Preview
	why  error
	did  string
}

func (p *past) Messages(context.Context) ([]Said, error) {
	return []Said{{N: 1, Text: "add it"}, {N: 2, Text: "rename it"}, {N: 3, Text: "test it"}}, nil
}
func (p *past) Look(context.Context, int) (undoing.Preview, error) { return p.look, p.why }
func (p *past) Back(_ context.Context, n int, talk, files bool) (Result, error) {
	p.did = strings.TrimSpace(strings.Repeat("talk ", b(talk)) + strings.Repeat("files ", b(files)))
	out := Result{}
	if talk {
		out.Gone = []message.Message{{Text: "rename it"}, {Text: "test it"}}
	}
	if files {
		out.Done = p.look.Files
	}
	return out, nil
}
func (p *past) Redo(context.Context) (Result, error) { return Result{}, errors.New("nothing to redo") }

func b(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// overlay is what an intent shows, after the work beside the screen.
func overlay(t *testing.T, i part.Intent) part.Overlay {
	t.Helper()
	switch i := i.(type) {
	case part.Idle:
		return overlay(t, i.Then)
	case part.Beside:
		return overlay(t, i(t.Context())())
	case part.Show:
		if load, ok := i.Overlay.Load().(part.Beside); ok {
			load(t.Context())()
		}
		return i.Overlay
	}
	t.Fatalf("it shows nothing: %#v", i)
	return nil
}

func press(o part.Overlay, k rune) part.Intent {
	i, _ := o.Key(tea.Key{Code: k})
	return i
}

// TestRewind: the list, what going back would do, and each of the three ways back.
func TestRewind(t *testing.T) {
	p := &past{look: undoing.Preview{Message: "rename it", Turns: 2, Files: []undoing.File{{Path: "/w/a.go", Does: "restore"}, {Path: "/w/d", Does: "remove", Of: 3}}, Conflicts: []undoing.File{{Path: "/w/c.go", Why: "changed"}}}}
	s := Screen{undoing.Screen{Setting: part.Setting{Keys: keys.Standard(), Now: time.Now, Folder: "/w"}, Jobs: func() int { return 0 }}, func() int { return 7 }}
	view := func(o part.Overlay, want ...string) {
		t.Helper()
		lines, _, _ := o.View(paint.New(true), 78, 16)
		for _, w := range want {
			if text := ansi.Strip(strings.Join(lines, "\n")); !strings.Contains(text, w) {
				t.Errorf("lacks %q:\n%s", w, text)
			}
		}
	}
	for downs, want := range []string{"talk", "files", "talk files"} {
		list := overlay(t, Show(s, p))
		view(list, "Go back to before a message", "› 3  test it")
		press(list, tea.KeyUp)
		what := overlay(t, press(list, tea.KeyEnter))
		view(what, "Before “rename it”", "› 1 Conversation: 2 messages and what followed", "2 Files: restores 1 file, deletes 3 files, leaves 1")
		for range downs {
			press(what, tea.KeyDown)
		}
		i := press(what, tea.KeyEnter)
		if downs > 0 {
			page := overlay(t, i)
			view(page, "Restores 1 file, deletes 3 files, leaves 1", "of 2 turns, since “rename it”", "restore  a.go", "c.go  changed", "Enter restores ")
			i = press(page, tea.KeyEnter)
		}
		done, err := i.(part.Turn).Work(t.Context())
		if d := done().(Done); err != nil || p.did != want || d.Shown != 7 || (len(d.Gone) == 2) != (downs != 1) || (d.Told != nil) != (downs > 0) {
			t.Errorf("%s: %q, %+v, %v", want, p.did, d, err)
		}
	}
	for _, c := range []struct {
		past past
		want string
	}{
		{past{why: errors.New("it is not recorded")}, "files: it is not recorded"},
		{past{}, "No file was changed since"},
	} {
		what := overlay(t, press(overlay(t, Show(s, &c.past)), tea.KeyEnter)).(*picker.Picker)
		if view(what, c.want, "Conversation: 1 message and"); len(func() []picker.Row { r, _ := what.Rows(); return r }()) != 1 {
			t.Error("files are offered")
		}
	}
	if _, err := Redo(s, p).(part.Turn).Work(t.Context()); err == nil {
		t.Error("no error")
	}
}

// TestEsc: two presses in a row, with no other key between them.
func TestEsc(t *testing.T) {
	var r Rewind
	now := time.Unix(99, 0)
	at := func(d time.Duration) bool { return r.Back(now.Add(d)) }
	if at(0) || !at(Window) || at(Window) || at(3*Window) {
		t.Error("two presses")
	}
	if r.Moved(); at(3 * Window) {
		t.Error("another key between")
	}
}
