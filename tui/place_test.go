package tui

import (
	"context"
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/model"
	"codeagent/tui/footer"
	"codeagent/tui/tuitest"
)

// around are surroundings that note what they were told.
type around struct {
	branch, line string
	told         []footer.Standing
}

func (a *around) Branch(context.Context) string { return a.branch }
func (a *around) Line(_ context.Context, s footer.Standing) string {
	a.told = append(a.told, s)
	return a.line
}

func (r *rig) footer() string {
	lines := strings.Split(strings.TrimRight(r.screen(), "\n"), "\n")
	return lines[len(lines)-1]
}

// inPlace is a screen whose session has begun, in surroundings.
func inPlace(t *testing.T, w int, a *around) *rig {
	r := newRig(t, w, 20)
	r.app.offers.Surroundings = a
	r.app.box.post(session())
	r.do(r.send(inboxMsg{}))
	return r
}

func TestFooterNamesTheBranch(t *testing.T) {
	for w, want := range map[int]string{
		120: "scripted-1 · app (main) · workspace-write · accept edits · ▲ 1 not enforced",
		82:  "scripted-1 · app (main) · workspace-write · accept edits · ▲ 1 not enforced",
		75:  "scripted-1 · app · workspace-write · accept edits · ▲ 1 not enforced",
		69:  "scripted-1 · workspace-write · accept edits · ▲ 1 not enforced",
		40:  "workspace-write · accept edits · ▲ 1",
	} {
		r := inPlace(t, w, &around{branch: "main"})
		if got := strings.TrimSpace(r.footer()); got != want {
			t.Errorf("%d columns: %q, want %q", w, got, want)
		}
	}
	// After a turn it is looked at again; in the time between only once more.
	a := &around{branch: "main"}
	r := inPlace(t, 120, a)
	a.branch = "feature/" + strings.Repeat("x", 100)
	first := r.send(turnDoneMsg{})
	for range 5 {
		r.do(r.send(turnDoneMsg{}))
	}
	r.do(first)
	if !strings.Contains(r.footer(), "(feature/xxx") || len(a.told) != 3 {
		t.Errorf("looked %d times: %q", len(a.told), r.footer())
	}
}

func TestFooterShowsTheCost(t *testing.T) {
	r := newRig(t, 120, 20)
	r.emit(session())
	for _, c := range []struct {
		cost model.Cost
		want string
	}{
		{model.Cost{Settings: 0.0001}, "cost <0.01"},
		{model.Cost{Settings: 0.55}, "cost 0.55"},
		{model.Cost{Settings: 1.55, Unpriced: 3_000_000}, "cost 1.55+"}, // what a model without a price used is not in it
		{model.Cost{USD: 0.0001}, "<$0.01"},
		{model.Cost{USD: 0.12}, "$0.12"},
		{model.Cost{USD: 0.12, Unpriced: 1}, "$0.12+"},
		{model.Cost{USD: 0.12, Settings: 1.55}, "$0.12 + 1.55"},
		{model.Cost{USD: 1e300}, "$1000000000.00"},
	} {
		r.emit(event.UsageUpdated{Last: model.Usage{Input: 1}, Total: model.Usage{Input: 100, Cost: c.cost}})
		if got := r.footer(); !strings.HasSuffix(got, " "+c.want) {
			t.Errorf("after %+v: %q, want %q", c.cost, got, c.want)
		}
	}
	r.emit(event.UsageUpdated{Total: model.Usage{Input: 100, Cost: model.Cost{Settings: 1.55, Unpriced: 1}}})
	r.typeText("/status")
	r.press("enter")
	r.has("1.55+ by the prices of the settings")

	free := newRig(t, 120, 20)
	begin := session()
	begin.Uncounted = true
	free.emit(begin, event.UsageUpdated{Total: model.Usage{Input: 1000, Cost: model.Cost{Unpriced: 1000}}})
	free.typeText("/status")
	free.press("enter")
	free.has("1000 in, 0 cached, 0 out since the session was resumed")
	free.lacks("cost")
	free.lacks("$")
}

// The footer of the person's own keeps what codeagent says of the sandbox, whatever the
// command prints.
func TestStatusCommandsLine(t *testing.T) {
	a := &around{branch: "main", line: "\x1b[31mmine\x1b[0m main"}
	r := inPlace(t, 100, a)
	if got := r.footer(); !strings.HasPrefix(got, "  mine main  ") || !strings.HasSuffix(got, "  workspace-write · accept edits · ▲ 1 not enforced") {
		t.Errorf("%q", got)
	}
	if s := a.told[0]; s.Model != "scripted-1" || s.Branch != "main" || s.Folder != "/home/ada/src/app" || s.Sandbox != "workspace-write" || s.Approvals != "on-request" || s.Context != -1 {
		t.Errorf("it got %+v", s)
	}
	for _, nasty := range append(tuitest.Nasty(), strings.Repeat("▲ all enforced ", 50)) {
		for _, w := range []int{30, 80} {
			r := inPlace(t, w, &around{branch: nasty, line: nasty})
			if got := r.footer(); !strings.Contains(got, "workspace-write") {
				t.Errorf("%q leaves %q", nasty, got)
			}
			for line := range strings.SplitSeq(r.app.View().Content, "\n") {
				tuitest.Harmless(t, line)
			}
		}
	}
}

func TestNoThemeWithoutColours(t *testing.T) {
	r := newRig(t, 80, 24)
	r.app.offers.Look.none = true
	r.slash("/theme dark")
	r.has("no colours here")
	r.lacks("theme dark,")
}
