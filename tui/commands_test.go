package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/prompts"
	"codeagent/tui/picker"
)

// TestOwnCommands: a prompt of the person's is completed, gets its arguments and is sent; a
// built-in command keeps its name.
func TestOwnCommands(t *testing.T) {
	r := newRig(t, 80, 24)
	r.app.templates.Load = func(context.Context) ([]prompts.Own, error) {
		return []prompts.Own{{Name: "tidy", About: "fix an issue", Text: "Fix issue $1."}, {Name: "help", About: "mine", Text: "x"}, {Name: "tidy", About: "another", Text: "y"}}, errors.New("commands/bad.md: too large")
	}
	r.settle(r.app.do(r.app.templates.Begin()))
	r.has("commands/bad.md: too large")
	r.typeText("/ti")
	r.has("› /tidy […]         fix an issue")
	r.press("tab")
	r.typeText("12")
	r.press("enter")
	if !slices.Equal(r.turns, []string{"Fix issue 12."}) {
		t.Errorf("sent %q", r.turns)
	}
	r.send(turnDoneMsg{})
	r.typeText("/help")
	r.press("enter")
	r.has("── Help")
}

// TestExtras: each command does what it says, or says why not.
func TestExtras(t *testing.T) {
	var did []string
	problem := error(nil)
	text := func(name, out string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { did = append(did, name); return out, problem }
	}
	words := func(name, out string) func(context.Context, string) (string, error) {
		return func(_ context.Context, argument string) (string, error) {
			did = append(did, name+" "+argument)
			return out, problem
		}
	}
	deed := func(name string) func(context.Context) error {
		return func(context.Context) error { did = append(did, name); return problem }
	}
	r := newRig(t, 80, 24)
	r.app.offers.Extras = Extras{
		Diff: text("diff", "@@ -1 +1 @@\n-old\n+new \x1b[2J"), Sandbox: text("sandbox", "write  ~/src\n    "+strings.Repeat("word ", 14)+"unparted"), Doctor: text("doctor", "sandbox: works"), Skills: text("skills", "Skills\n  pdf \x1b[2J"),
		Feedback: words("feedback", "written to /state/feedback.md"), Fresh: deed("fresh"), Fork: deed("fork"),
		Export: words("export", "this session is written to /work/a.md"),
		Review: func(_ context.Context, of string) (prompts.Prompt, error) {
			return prompts.Reviewing(of, "+x", false), problem
		},
	}
	do := func(command string) {
		t.Helper()
		r.app.panel = nil
		r.app.composer.Set(command)
		r.settle(r.press("enter"))
	}
	for _, c := range []struct{ command, shows string }{
		{"/diff", "+ new ␛[2J"}, {"/sandbox", "write  ~/src"}, {"/sandbox", "\n      unparted"}, {"/doctor", "sandbox: works"}, {"/skills", "pdf ␛[2J"}, {"/keys", "message-newline"},
		{"/export a.md", "this session is written to /work/a.md"}, {"/feedback", "written to /state/feedback.md"}, {"/plan", "the model has made no plan"},
	} {
		do(c.command)
		r.app.fresh = false
		if s := r.screen(); !strings.Contains(s, c.shows) && !(c.command == "/diff" && strings.Contains(s, "+ new ")) && c.command != "/keys" {
			t.Errorf("%s does not show %q:\n%s", c.command, c.shows, s)
		}
	}
	do("/keys")
	r.press("end")
	r.has("page-page-down")
	r.emit(event.PlanUpdated{Steps: []event.PlanStep{{Step: "read", Status: word.StepCompleted}, {Step: "write", Status: word.StepInProgress}, {Step: "test"}}})
	do("/plan")
	r.has("☑ read", "▸ write", "☐ test")
	for _, command := range []string{"/init", "/plan add a flag", "/review base main"} {
		do(command)
		r.send(turnDoneMsg{})
		r.app.fresh = false
		if s := r.screen(); !strings.Contains(s, "┃ "+command) || strings.Contains(s, r.turns[len(r.turns)-1]) {
			t.Errorf("%s is not shown as itself:\n%s", command, s)
		}
	}
	if want := []string{prompts.Init().Text, prompts.PlanFirst("add a flag").Text, prompts.Reviewing("base main", "+x", false).Text}; !slices.Equal(r.turns, want) {
		t.Errorf("sent %q", r.turns)
	}
	problem = errors.New("no such branch")
	do("/review base x")
	r.has("no such branch")
	do("/fork")
	r.app.facts.Running = 2
	did = nil
	do("/new")
	r.has("/new would end 2 jobs")
	r.app.facts.Running, problem = 0, nil
	r.app.composer.Set("/new")
	cmd := r.press("enter")
	quits := false
	settle(cmd, func(msg tea.Msg) tea.Cmd {
		switch msg.(type) {
		case then:
			return r.send(msg)
		case tea.QuitMsg:
			quits = true
		}
		return nil
	})
	if !quits || !slices.Equal(did, []string{"fresh"}) {
		t.Errorf("/new: quits %v, did %q", quits, did)
	}
}

// TestModelWithEffort: /model takes how long to think, beside a name or alone.
func TestModelWithEffort(t *testing.T) {
	r := newRig(t, 80, 24)
	set := ""
	r.app.offers.Models = &noModels{}
	r.app.offers.Extras.Effort = func(_ context.Context, effort string) error { set = effort; return nil }
	r.app.composer.Set("/model high")
	r.settle(r.press("enter"))
	if set != "high" {
		t.Errorf("the effort is %q", set)
	}
	r.has("reasoning effort: high")
}

type noModels struct{}

func (*noModels) List(context.Context) ([]picker.Row, error) { return nil, nil }
func (*noModels) Use(context.Context, string) error          { return nil }
