package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/sandbox"
	"codeagent/tui/trying"
)

// fakeDrafts has one command on a draft, and what was decided about it.
type fakeDrafts struct {
	last    *trying.Tried
	kept    []trying.Choice
	dropped int
}

func (f *fakeDrafts) Try(_ context.Context, command string) (*trying.Tried, error) {
	f.last = &trying.Tried{Draft: f, ID: "20260102-030405-ABC", Command: command, Changes: []trying.Change{
		{FileChange: event.FileChange{Path: "/home/ada/src/app/gen/old.go", Kind: sandbox.Deleted, Removed: 9}},
		{FileChange: event.FileChange{Path: "/home/ada/src/app/gen/api.go", Kind: sandbox.Updated, Added: 2, Removed: 2, Diff: "--- a/gen/api.go\n+++ b/gen/api.go\n@@ -3,1 +3,1 @@\n-var one = 1\n+var one = 2\n@@ -30,1 +30,1 @@\n-var two = 1\n+var two = 2\n"}, Note: "mode 0644 to 0755",
			Hunks: []trying.Hunk{{At: 3, Lines: []string{"− var one = 1", "+ var one = 2"}}, {At: 30, Lines: []string{"− var two = 1", "+ var two = 2"}}}},
		{FileChange: event.FileChange{Path: "/home/ada/src/app/gen/deep/types.go", Kind: sandbox.Added, Added: 1, Diff: "--- /dev/null\n+++ b/gen/deep/types.go\n@@ -0,0 +1,1 @@\n+package deep\n"}},
		{FileChange: event.FileChange{Path: "/home/ada/src/app/pipe\x1b[2J", Kind: sandbox.Added}, Note: "special", Why: "it is a pipe, a socket or a device"},
	}}
	return f.last, nil
}
func (f *fakeDrafts) Last(context.Context) (*trying.Tried, error) { return f.last, nil }
func (f *fakeDrafts) Drop(context.Context) error                  { f.dropped++; f.last = nil; return nil }
func (f *fakeDrafts) Keep(_ context.Context, chosen []trying.Choice) (trying.Report, error) {
	f.kept = chosen
	return trying.Report{Kept: 1, Left: []trying.Left{{Path: "/home/ada/src/app/gen/old.go", Why: "somebody else changed it meanwhile"}}}, nil
}

func trial(t *testing.T, w, h int) (*rig, *fakeDrafts) {
	r, _ := offers(t, w, h)
	f := &fakeDrafts{}
	r.app.offers.Writing.Run = func(context.Context, string) error { return nil }
	r.app.offers.Writing.Drafts = f
	return r, f
}

// TestTry: !! runs on a draft; only the row that says so keeps something, Esc never does, and !! shows it again.
func TestTry(t *testing.T) {
	r, f := trial(t, 90, 40)
	try := func(text string) { r.typeText(text); r.settle(r.press("enter")) }
	try("!!make generate")
	r.has("── Draft", "1 deleted, 1 changed, 2 new", "− gen/old.go", "deep/", "+ types.go", "Cannot be kept: 1", "var two = 2")
	r.typeText("yes 1")
	r.press("enter")
	r.has("── Draft", "Esc keeps nothing")
	r.press("esc")
	if r.lacks("── Draft"); f.kept != nil || f.dropped > 0 {
		t.Error("Esc decides")
	}
	try("!!")
	r.press("enter")
	r.has("1 Keep all", "1 deleted, 1 changed, 2 new. /undo", "3 Drop")
	r.press("2")
	r.has("Keep the chosen: 0 of 4", "[ ] − gen/old.go", "cannot be kept")
	r.press("enter")
	r.has("nothing is chosen yet")
	r.press("down", "down", "down", "down", "enter")
	r.has("Keep the chosen: 1 of 4", "[-] ~ gen/api.go", "[x] line 3", "[ ] line 30")
	r.press("home")
	r.settle(r.press("enter"))
	r.has("kept 1 of 4 changes; /undo takes it back", "not kept: gen/old.go: somebody else changed it meanwhile", "stays in the draft")
	if c := f.kept; len(c) != 4 || c[0].Any() || c[1].All || !c[1].Hunks[0] || c[1].Hunks[1] || c[2].Any() || c[3].Any() {
		t.Errorf("kept %+v", f.kept)
	}
	try("!!")
	r.press("enter", "2", "down", "enter")
	r.has("Keep the chosen: 3 of 4")
	r.press("enter")
	r.has("Keep the chosen: 0 of 4")
	r.press("esc")
	r.settle(r.press("3"))
	if r.has("dropped: 1 deleted"); f.dropped != 1 {
		t.Error("it was not dropped")
	}
	try("!!")
	r.has("!! and a command runs it on a draft")
}

// TestDraftOfTheSession: /draft shows what the session changed on its draft, and ends the screen once it is decided.
func TestDraftOfTheSession(t *testing.T) {
	r, f := trial(t, 90, 40)
	f.last, _ = f.Try(context.Background(), "this session")
	f.last.Session, r.app.offers.Extras.OnDraft = true, true
	enter := func(text string) tea.Cmd { r.typeText(text); return r.press("enter") }
	r.settle(enter("/undo"))
	r.has("nothing of this session is in your files yet")
	r.settle(enter("/draft"))
	r.has("── Draft", "1 deleted, 1 changed, 2 new", "/draft shows this again", "changed by this session")
	r.press("enter")
	r.has("Keep what “this session” changed?")
	r.press("esc", "esc")
	r.settle(enter("/draft all"))
	r.has("/draft keep keeps all, /draft drop drops all")
	r.settle(enter("/draft keep"))
	r.has("kept 1 of 4 changes", "what was not kept stays in the draft: /draft shows it again")
	if len(f.kept) != 4 || !f.kept[0].All {
		t.Errorf("kept %+v", f.kept)
	}
	r.settle(enter("/draft drop"))
	if f.dropped != 1 {
		t.Error("it was not dropped")
	}
}

// TestTryWhileWriting: the page takes no keys from somebody who writes.
func TestTryWhileWriting(t *testing.T) {
	r, _ := trial(t, 90, 30)
	r.typeText("!!make")
	cmd := r.press("enter")
	r.typeText("and then")
	r.settle(cmd)
	r.has("on a draft: 1 deleted", "› and then")
	if strings.Contains(r.screen(), "── Draft") {
		t.Error("it opened over the message")
	}
}
