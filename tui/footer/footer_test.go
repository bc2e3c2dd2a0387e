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

// TestFooter: the line says what its events said, and looks at the folder once at a time.
func TestFooter(t *testing.T) {
	var f Footer
	shows := func(want string) {
		t.Helper()
		if got := strings.Join(strings.Fields(ansi.Strip(f.View(paint.New(true), 120, Now{Preset: "workspace-write", Word: "accept edits", Effort: "high"}))), " "); got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	}
	looks := 0
	branch := func(context.Context) string { looks++; return "main" }
	shows("")
	if f.Look(branch) != nil {
		t.Error("it looks before there is a session")
	}
	f.Apply(event.SessionStarted{ID: "1", Model: "maker/large", Folder: "/home/ada/app", Window: 4000})
	shows("maker/large high · app · workspace-write · accept edits")
	f.Apply(event.UsageUpdated{Context: 1000, Total: model.Usage{Input: 1500}})
	f.Apply(event.BackgroundChanged{Running: 2})
	shows("maker/large high · app · workspace-write · accept edits · 2 running ctx 1k/4k · billed 1.5k")
	first := f.Look(branch).(part.Beside)
	if f.Look(branch) != nil {
		t.Error("it looks twice at once")
	}
	again, _ := first(context.Background())().(part.Beside)
	shows("maker/large high · app (main) · workspace-write · accept edits · 2 running ctx 1k/4k · billed 1.5k")
	f.OnDraft = true
	shows("maker/large high · app (main) · workspace-write · draft · accept edits · 2 running ctx 1k/4k · billed 1.5k")
	if again == nil || again(context.Background())() != nil || looks != 2 {
		t.Errorf("looked %d times, want once more after the first", looks)
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
