package footer

import (
	"context"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/model"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// folder are surroundings that count the looks at them.
type folder struct{ looks int }

func (a *folder) Branch(context.Context) string { return "main" }
func (a *folder) Line(_ context.Context, s Standing) string {
	if a.looks++; s.Branch != "main" || s.Sandbox != "workspace-write" || s.Context != 25 {
		return "wrong"
	}
	return ""
}

// TestFooter: the line says what its events said, and looks at the folder once at a time.
func TestFooter(t *testing.T) {
	var f Footer
	preset, mode := func() string { return "workspace-write" }, func() string { return "on-request" }
	shows := func(want string) {
		t.Helper()
		if got := strings.Join(strings.Fields(ansi.Strip(f.View(paint.New(true), 120, preset(), mode()))), " "); got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	}
	a := &folder{}
	shows("")
	if f.Look(a, preset, mode) != nil {
		t.Error("it looks before there is a session")
	}
	f.Apply(event.SessionStarted{ID: "1", Model: "maker/large", Folder: "/home/ada/app", Window: 4000})
	shows("maker/large · app · workspace-write · asks on request")
	f.Apply(event.UsageUpdated{Context: 1000, Total: model.Usage{Input: 1500}})
	f.Apply(event.BackgroundChanged{Running: 2})
	shows("maker/large · app · workspace-write · asks on request · 2 running 25% of context · 1.5k used")
	first := f.Look(a, preset, mode).(part.Beside)
	if f.Look(a, preset, mode) != nil {
		t.Error("it looks twice at once")
	}
	again, _ := first(context.Background())().(part.Beside)
	shows("maker/large · app (main) · workspace-write · asks on request · 2 running 25% of context · 1.5k used")
	if again == nil || again(context.Background())() != nil || a.looks != 2 {
		t.Errorf("looked %d times, want once more after the first", a.looks)
	}
}

func TestCutWords(t *testing.T) {
	for _, c := range []struct {
		text string
		w    int
		want string
	}{
		{"app on main", 11, "app on main"},
		{"app on main", 10, "app on…"},
		{"app on main", 7, "app on…"},
		{"app on, main", 10, "app on…"},
		{"application", 5, "appl…"},
		{"", 5, ""},
	} {
		if got := cutWords(c.text, c.w); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.w, got, c.want)
		}
	}
}
