package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/sandbox"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// put asks without a goroutine and returns where the answer goes.
func (r *rig) put(request approvals.Request) *question.Ask {
	a := &question.Ask{Request: request, Reply: make(chan approvals.Answer, 1)}
	r.app.box.post(a)
	r.send(inboxMsg{})
	return a
}

// rest lets 700 ms pass without a key.
func (r *rig) rest() { r.send(quietMsg{r.app.stirs}) }

func (r *rig) answered(a *question.Ask) (approvals.Answer, bool) {
	select {
	case ans := <-a.Reply:
		return ans, true
	default:
		return approvals.Answer{}, false
	}
}

func (r *rig) wantAnswer(a *question.Ask, decision approvals.Decision, reason string) {
	r.t.Helper()
	ans, ok := r.answered(a)
	if !ok || ans.Decision != decision || ans.Reason != reason {
		r.t.Errorf("answer = %+v, %v; want %q with reason %q\n%s", ans, ok, decision, reason, r.screen())
	}
}

func (r *rig) wantNone(a *question.Ask) {
	r.t.Helper()
	if ans, ok := r.answered(a); ok {
		r.t.Errorf("answered %+v without being asked to", ans)
	}
}

func TestQuestionNeverStealsTyping(t *testing.T) {
	r := newRig(t, 80, 30)
	a := r.put(npmRequest("q"))
	r.typeText("1 and 2, no")
	r.wantNone(a)
	if got := r.app.composer.Value(); got != "1 and 2, no" {
		t.Errorf("the message holds %q", got)
	}
	r.rest()
	r.typeText("s")
	r.wantNone(a)
	r.press("ctrl+y")
	r.press("1")
	r.wantAnswer(a, approvals.Once, "")
	if got := r.app.composer.Value(); got != "1 and 2, nos" {
		t.Errorf("the answer changed the message to %q", got)
	}
}

func TestQuestionArmsAfterSilence(t *testing.T) {
	r := newRig(t, 80, 30)
	a := r.put(npmRequest("q"))
	before := r.app.stirs
	r.press("left") // a key moves the clock
	r.send(quietMsg{before})
	r.press("2")
	r.wantNone(a)
	r.press("backspace")
	r.rest()
	r.has("Tab adds a note")
	r.press("2")
	r.wantAnswer(a, approvals.Session, "")
	r.lacks("wants to leave")
}

func TestEachQuestionArmsAnew(t *testing.T) {
	r := newRig(t, 80, 30)
	a := r.put(npmRequest("q"))
	second := npmRequest("q2")
	second.Action.Command = "npm install rightpad"
	b := r.put(second)
	r.has("1 more")
	r.rest()
	r.press("1")
	r.wantAnswer(a, approvals.Once, "")
	r.has("rightpad")
	r.press("1")
	r.wantNone(b)
	r.has("1 came too early: press it again")
	if r.app.composer.Value() != "" {
		t.Error("the answer that came too early is text")
	}
	r.rest()
	r.press("1")
	r.wantAnswer(b, approvals.Once, "")
}

func TestIdenticalQuestionsAreOne(t *testing.T) {
	r := newRig(t, 80, 30)
	a, b := r.put(npmRequest("q1")), r.put(npmRequest("q2"))
	r.has("×2")
	r.press("ctrl+y", "1")
	r.wantAnswer(a, approvals.Once, "")
	r.wantAnswer(b, approvals.Once, "")
}

func TestNoTakesAReason(t *testing.T) {
	r := newRig(t, 80, 30)
	a := r.put(npmRequest("q"))
	r.press("ctrl+y", "n")
	r.wantNone(a)
	r.has("no, because:")
	r.typeText("use the 1 vendored copy")
	r.press("enter")
	r.wantAnswer(a, approvals.Deny, "use the 1 vendored copy")
}

func TestEscOrder(t *testing.T) {
	r := newRig(t, 80, 30)
	r.app.offers.Still = false
	r.typeText("go")
	r.press("enter")
	a := r.put(npmRequest("q"))
	r.press("ctrl+y", "n")
	r.press("esc") // the field
	r.press("ctrl+o")
	r.has("closes the full view")
	r.press("esc") // the panel
	r.lacks("closes the full view")
	if r.stops != 0 {
		t.Fatal("Esc interrupted the turn too early")
	}
	r.press("esc") // disarms
	r.rest()       // and silence does not arm it again
	r.press("1")
	r.wantNone(a)
	r.press("backspace")
	if r.stops != 0 {
		t.Fatal("Esc on an armed question interrupted the turn")
	}
	r.clock = r.clock.Add(grace) // after the panel
	r.press("esc")
	if r.stops != 1 {
		t.Error("Esc did not reach the turn")
	}
	r.press("ctrl+y", "1")
	r.wantAnswer(a, approvals.Once, "")
}

func TestWithdrawnQuestionGoes(t *testing.T) {
	r := newRig(t, 80, 30)
	a, b := r.put(npmRequest("q1")), r.put(npmRequest("q2"))
	r.app.box.post(part.Withdrawn{Ask: a})
	r.send(inboxMsg{})
	r.has("wants to leave the sandbox")
	r.app.box.post(part.Withdrawn{Ask: b})
	r.send(inboxMsg{})
	r.lacks("wants to leave the sandbox")
}

// An answer that is not offered is not shown; why is one dim line.
func TestWithheldAnswersSayWhy(t *testing.T) {
	r := newRig(t, 80, 30)
	q := npmRequest("q")
	q.Withheld = []string{"outside for the session: it can run files of its folder"}
	a := r.put(q)
	r.has("withheld outside for the session: it can run files of its folder")
	r.press("ctrl+y", "4")
	r.wantNone(a)
	if got := r.app.composer.Value(); got != "4" {
		t.Errorf("a key that is no answer wrote %q", got)
	}
}

func TestPasteWhileArmedIsNoAnswer(t *testing.T) {
	r := newRig(t, 80, 30)
	a := r.put(npmRequest("q"))
	r.rest()
	r.send(tea.PasteMsg{Content: "1"})
	r.wantNone(a)
	if r.app.composer.Value() != "1" {
		t.Error("the paste is lost")
	}
	r.press("1")
	r.wantNone(a)
}

// A question whose command does not fit says so and shows all of it on demand.
func TestLongCommandIsNeverSilentlyCut(t *testing.T) {
	r := newRig(t, 60, 24)
	q := npmRequest("q")
	for range 40 {
		q.Action.Command += " && echo step"
	}
	q.Action.Command = "echo FIRST && " + strings.Replace(q.Action.Command, "step", "MIDDLE", 21) + " && rm -rf LAST"
	q.Action.Command = strings.Replace(strings.ReplaceAll(q.Action.Command, "MIDDLE", "step"), strings.Repeat("step && echo ", 20), strings.Repeat("step && echo ", 20)+"MIDDLE && echo ", 1)
	r.put(q)
	r.has("FIRST", "LAST", "more lines: Ctrl+O")
	r.lacks("MIDDLE")
	r.press("ctrl+o")
	for range 40 {
		if contains(r.screen(), "MIDDLE") {
			return
		}
		r.press("down")
	}
	t.Error("the middle of the command cannot be seen")
}

// An edit is shown as what it changes, not as a command; all of it on demand.
func TestEditQuestionShowsThePatch(t *testing.T) {
	r := newRig(t, 70, 40)
	patch := "*** Begin Patch\n*** Update File: /home/ada/notes.txt\n@@ list\n milk\n-bread\n+rye\n*** End Patch\n"
	q := approvals.Request{
		ID: "e", Title: "apply_patch wants to write ~/notes.txt",
		Action:  approvals.Action{Kind: word.KindEdit, Tool: "apply_patch", Title: "edit ~/notes.txt", Command: patch, Paths: []string{"/home/ada/notes.txt"}},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "this once"}},
	}
	r.put(q)
	r.has("Update File: /home/ada/notes.txt", "│ − bread", "│ + rye", "allows   + write ~/notes.txt")
	r.lacks("$ ")
	r.lacks("Begin Patch")
	long := newRig(t, 70, 40)
	q.Action.Command = strings.Replace(patch, "+rye\n", strings.Repeat("+rye\n", 20)+"+MIDDLE\n"+strings.Repeat("+rye\n", 20)+"+LAST\n", 1)
	long.put(q)
	long.has("LAST", "more lines: Ctrl+O")
	long.lacks("MIDDLE")
	long.press("ctrl+o")
	for range 40 {
		if contains(long.screen(), "MIDDLE") {
			return
		}
		long.press("down")
	}
	t.Error("the middle of the change cannot be seen")
}

// TestEditQuestionHasLineNumbers: where it is known what a patch does, the question shows that with line
// numbers. Numbers that the model writes do not count, and a change that is not shown whole is shown as the patch.
func TestEditQuestionHasLineNumbers(t *testing.T) {
	text := func(s string) *string { return &s }
	q := approvals.Request{
		ID: "e", Title: "apply_patch wants to write ~/greet.go",
		Action: approvals.Action{Kind: word.KindEdit, Tool: "apply_patch", Title: "edit ~/greet.go", Paths: []string{"/home/ada/greet.go"},
			Command: "\n*** Begin Patch\n*** Update File: greet.go\n@@ -999,2 +999,2 @@\n-\treturn \"hello\"\n+\treturn \"good day\"\n--- gone\nindex 0\n*** End Patch\n"},
		Changes: []event.FileChange{{Path: "/home/ada/greet.go", Kind: sandbox.Updated, Added: 1, Removed: 1, Before: text(""), After: text(""),
			Diff: "--- a/greet.go\n+++ b/greet.go\n@@ -6,3 +6,3 @@\n func greet() string {\n-\treturn \"hello\"\n+\treturn \"good day\"\n }\n"}},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "this once"}, {Key: "n", Decision: approvals.Deny, Label: "no, because …"}},
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
		r := newRig(t, size[0], size[1])
		r.put(q)
		golden.Check(t, fmt.Sprintf("question-edit-%dx%d.txt", size[0], size[1]), r.screen())
	}
	for name, changes := range map[string][]event.FileChange{
		"not known": nil,
		"cut":       {{Path: "/home/ada/greet.go", Added: 2, Removed: 1, Diff: q.Changes[0].Diff}},
		"binary":    {{Path: "/home/ada/greet.go", Diff: "(binary or very large: not shown)\n"}},
		"nothing":   {{Path: "/home/ada/greet.go"}},
	} {
		q.Changes = changes
		r := newRig(t, 80, 40)
		r.put(q)
		for _, want := range []string{"@@ -999,2 +999,2 @@", "│ −     return \"hello\"", "│ +     return \"good day\"", "│ − -- gone", "│ index 0"} {
			if !contains(r.screen(), want) {
				t.Errorf("%s: lacks %q:\n%s", name, want, r.screen())
			}
		}
		r.lacks("999 ")
	}
}

func TestQuestionFitsSmallScreens(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {40, 8}, {30, 5}, {20, 3}, {10, 2}, {5, 1}} {
		r := newRig(t, size[0], size[1])
		r.emit(session())
		a := r.put(npmRequest("q"))
		r.app.View()
		if size[1] >= 12 {
			r.has("1 this once")
		}
		r.press("ctrl+y", "1") // not all of it fits
		r.wantNone(a)
		r.press("s")
		r.wantAnswer(a, approvals.Stop, "")
	}
}

func TestOutsideIsToldAsOutside(t *testing.T) {
	r := newRig(t, 100, 40)
	q := npmRequest("q")
	r.emit(event.ToolStarted{CallID: q.CallID, Kind: "command", Command: "npm install"},
		event.PermissionRequested{ID: q.ID, CallID: q.CallID, Title: q.Title, Wanted: q.Grant})
	a := r.put(q)
	r.press("ctrl+y", "3")
	r.wantAnswer(a, approvals.Outside, "")
	r.emit(event.PermissionAnswered{ID: q.ID, CallID: q.CallID, Answer: "once"})
	r.has("allowed once, outside the sandbox")
	r.lacks("allowed once: write")
}

// A question of the program itself has no command, no grant, and a plain no.
func TestPlainQuestion(t *testing.T) {
	r := newRig(t, 80, 30)
	a := r.put(approvals.Request{
		ID: "t", Title: "Remove the files it made?", Warnings: []string{"/w/codeagent-tour.txt"},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "remove them"}, {Key: "n", Label: "keep them"}},
	})
	r.has("Remove the files it made?", "/w/codeagent-tour.txt", "1 remove them   n keep them")
	r.lacks("beyond the sandbox")
	r.press("ctrl+y", "n")
	r.wantAnswer(a, approvals.Deny, "")
}

// A fetch shows the whole address: what it says is what is sent.
func TestAFetchShowsItsWholeAddress(t *testing.T) {
	r := newRig(t, 80, 30)
	url := "https://docs.example/manual?" + strings.Repeat("word=", 20) + "secret"
	r.put(approvals.Request{
		ID: "q", Title: "fetch_url wants to reach docs.example:443",
		Action:  approvals.Action{Tool: "fetch_url", Kind: word.KindFetch, Title: "fetch " + url, Command: url},
		Grant:   sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "docs.example", Port: 443}}},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "this once"}, {Key: "n", Decision: approvals.Deny, Label: "no"}},
	})
	screen := r.screen()
	for _, want := range []string{"fetch_url wants to reach docs.example:443", "GET", "https://docs.example/manual?", "secret", "docs.example:443"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the question lacks %q:\n%s", want, screen)
		}
	}
}

// A person may leave a question for hours: nothing moves until it is answered.
func TestAWaitingQuestionTicksNothing(t *testing.T) {
	r := newRig(t, 80, 30)
	r.app.offers.Still = false
	r.typeText("go")
	r.press("enter")
	if !r.app.ticking {
		t.Fatal("a turn runs, and nothing ticks")
	}
	a := r.put(npmRequest("q"))
	r.send(tickMsg{})
	if r.app.ticking {
		t.Error("it ticks while the question waits")
	}
	r.rest()
	r.press("1")
	r.wantAnswer(a, approvals.Once, "")
	if !r.app.ticking {
		t.Error("nothing ticks after the answer")
	}
}
