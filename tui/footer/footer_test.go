package footer

import (
	"context"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/model"
	"codeagent/sandbox"
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
		if got := strings.Join(strings.Fields(ansi.Strip(f.View(paint.New(true), 120, Now{Preset: preset(), Word: "accept edits", Effort: "high"}))), " "); got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	}
	a := &folder{}
	shows("")
	if f.Look(a, preset, mode) != nil {
		t.Error("it looks before there is a session")
	}
	f.Apply(event.SessionStarted{ID: "1", Model: "maker/large", Folder: "/home/ada/app", Window: 4000})
	shows("maker/large high · app · workspace-write · accept edits")
	f.Apply(event.UsageUpdated{Context: 1000, Total: model.Usage{Input: 1500}})
	f.Apply(event.BackgroundChanged{Running: 2})
	shows("maker/large high · app · workspace-write · accept edits · 2 running ctx 1k/4k · billed 1.5k")
	first := f.Look(a, preset, mode).(part.Beside)
	if f.Look(a, preset, mode) != nil {
		t.Error("it looks twice at once")
	}
	again, _ := first(context.Background())().(part.Beside)
	shows("maker/large high · app (main) · workspace-write · accept edits · 2 running ctx 1k/4k · billed 1.5k")
	f.OnDraft = true
	shows("maker/large high · app (main) · workspace-write · draft · accept edits · 2 running ctx 1k/4k · billed 1.5k")
	if again == nil || again(context.Background())() != nil || a.looks != 2 {
		t.Errorf("looked %d times, want once more after the first", a.looks)
	}
}

// TestNarrow: as the line narrows the branch goes first, what is left keeps its label, and the sandbox stays.
func TestNarrow(t *testing.T) {
	var f Footer
	f.Apply(event.SessionStarted{
		ID: "1", Model: "large-1", Folder: "/home/ada/app", Window: 128_000, Assumed: true,
		Enforcement: sandbox.Enforcement{Weaknesses: []sandbox.Weakness{{}}},
	})
	f.place.branch = "main"
	f.Apply(event.UsageUpdated{Context: 5000, Total: model.Usage{Input: 22_000, Cost: model.Cost{Settings: 0.22}}})
	f.Apply(event.BackgroundChanged{Running: 1})
	for w, want := range map[int]string{
		140: "large-1 high · app (main) · workspace-write · accept edits · ▲ 1 not enforced · 1 running ctx 5k/128k? · billed 22k · cost 0.22",
		130: "large-1 high · app · workspace-write · accept edits · ▲ 1 not enforced · 1 running ctx 5k/128k? · billed 22k · cost 0.22",
		121: "large-1 high · workspace-write · accept edits · ▲ 1 not enforced · 1 running ctx 5k/128k? · billed 22k · cost 0.22",
		110: "large-1 high · workspace-write · accept edits · ▲ 1 not enforced · 1 running ctx 5k/128k? · cost 0.22",
		100: "large-1 high · workspace-write · accept edits · ▲ 1 · 1 running ctx 5k/128k? · cost 0.22",
		90:  "large-1 · workspace-write · accept edits · ▲ 1 · 1 running ctx 5k/128k? · cost 0.22",
		85:  "large-1 · workspace-write · accept edits · ▲ 1 · 1 running ctx 3% · cost 0.22",
		80:  "large-1 · workspace-write · accept edits · ▲ 1 · 1 running ctx 3%",
		68:  "workspace-write · accept edits · ▲ 1 · 1 running ctx 3%",
		60:  "workspace-write · accept edits · ▲ 1 · 1 running ctx 3%",
		52:  "workspace-write · accept edits · ▲ 1 · 1 running",
		40:  "workspace-write · ▲ 1 · 1 running",
		30:  "workspace-write · ▲ 1",
	} {
		line := ansi.Strip(f.View(paint.New(true), w, Now{Preset: "workspace-write", Word: "accept edits", Effort: "high"}))
		if got := strings.Join(strings.Fields(line), " "); got != want || paint.Width(line) > w-1 {
			t.Errorf("%d columns: %q, want %q", w, got, want)
		}
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
