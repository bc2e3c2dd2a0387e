package undoing

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/transcript"
)

// history has one turn of which nothing can be undone, and one before it.
type history struct{ err error }

func (h *history) Preview(context.Context) (Preview, error) {
	return Preview{Message: "rename it", Conflicts: []File{{Path: "/w/a.go", Why: "changed since"}}}, h.err
}
func (h *history) Earlier(context.Context) (Preview, error) {
	return Preview{Message: "add it", Files: []File{{Path: "/w/b.go", Does: "remove"}}}, h.err
}
func (h *history) Apply(context.Context) (Report, error) {
	return Report{Done: []File{{Path: "/w/b.go", Does: "remove"}}}, h.err
}

// looked is what looking at a turn comes to.
func looked(t *testing.T, intent part.Intent) part.Intent {
	t.Helper()
	idle, ok := intent.(part.Idle)
	if !ok || idle.Name != "/undo" {
		t.Fatalf("it is done while a turn runs: %#v", intent)
	}
	return idle.Then.(part.All)[1].(part.Beside)(t.Context())()
}

// TestUndo: a preview, the turn before it, and the report in the transcript.
func TestUndo(t *testing.T) {
	h := &history{}
	s := Screen{part.Setting{Keys: keys.Standard(), Now: func() time.Time { return time.Unix(0, 0) }, Home: "/home/ada", Folder: "/w"}, func() int { return 2 }}
	show := func() part.Intent { return Show(s, h) }
	view := func(o part.Overlay) string {
		lines, _, _ := o.View(paint.New(true), 70, 12)
		return ansi.Strip(strings.Join(lines, "\n"))
	}
	wants := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("lacks %q:\n%s", want, text)
			}
		}
	}
	last := looked(t, show()).(part.Show).Overlay
	wants(view(last), "“rename it”", "left as they are: 1", "a.go  changed since", "2 jobs may still write", "Enter shows the previous turn")
	earlier, _ := last.Key(tea.Key{Code: tea.KeyEnter})
	first := looked(t, earlier).(part.Show).Overlay
	wants(view(first), "Will be undone: 1", "remove   b.go", "Enter undoes these changes")
	undo, _ := first.Key(tea.Key{Code: tea.KeyEnter})
	done, err := undo.(part.Turn).Work(t.Context())
	wants(ansi.Strip(strings.Join(done().(*Undone).Draw(transcript.Canvas{Theme: paint.New(true), Width: 70}), "\n")), "undone: 1 file", "b.go")
	if err != nil {
		t.Error(err)
	}
	h.err = errors.New("the log is gone")
	if got := looked(t, show()); got != part.Fail("the log is gone") {
		t.Errorf("an error: %#v", got)
	}
}
