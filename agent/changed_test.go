package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// changing returns a command that made these changes: "add /w/a".
func changing(list ...string) deed {
	r := tools.Result{Text: "fine", Outcome: word.OK, Changed: changesOf(list...)}
	return deed{action: approvals.Action{Command: "make"}, run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) { return r, nil }}
}

func changesOf(list ...string) (c sandbox.Changes) {
	for _, one := range list {
		kind, path, _ := strings.Cut(one, " ")
		c.Add(sandbox.Change{Path: path, Kind: sandbox.ChangeKind(kind)})
	}
	return c
}

// Changes by commands are reported, and known to every summary and to the next process,
// whether it continues from a summary or from later items. Before that the model is not
// informed.
func TestWhatCommandsChangeIsKept(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"first": changing("add /w/new.go", "add /w/gone", "delete /w/d/"), "then": changing("update /w/new.go", "delete /w/gone", "update /w/late")},
		play("", call("1", "first")), play("done"))
	if err := r.Turn(t.Context(), Input{Text: "build it"}); err != nil {
		t.Fatal(err)
	}
	if done := told[event.ToolFinished](r.face); len(done) != 1 || done[0].Changed.Words("/w", 9) != "new.go (new), gone (new), d/ (deleted)" {
		t.Errorf("told %+v", done)
	}
	for _, i := range r.model.requests[1].Items {
		if strings.Contains(i.Text, "new.go") {
			t.Errorf("the model reads: %q", i.Text)
		}
	}
	beside := []event.BackgroundEnded{{Job: 1, Message: "ended", Changed: changesOf("add /w/beside")}}
	r.Agent.cfg.News = func() (now []event.BackgroundEnded) {
		now, beside = beside, nil
		return now
	}
	r.talk(t, 4, 600)
	if _, err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	has := func(what string, items []model.Item, want string) {
		t.Helper()
		_, list, _ := strings.Cut(summaryOf(t, items).Text, "Files changed so far by your tools and commands:\n")
		if got, _, _ := strings.Cut(list, "\n\n"); !strings.HasPrefix(got+"\n", want) || strings.Count(got, "\n") > strings.Count(want, "\n") {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	first := "- add /w/new.go\n- add /w/gone\n- delete /w/d/\n- add /w/beside\n"
	has("a summary", r.check(t), first)
	r.model.list = append(r.model.list, play("", call("2", "then")), play("done"))
	if err := r.Turn(t.Context(), Input{Text: "once more"}); err != nil {
		t.Fatal(err)
	}
	next := newRig(approvals.OnRequest, toolbox{})
	next.Agent.restart(r.log.items)
	next.Agent.restart(r.log.items) // as after a rewind
	next.talk(t, 4, 600)
	if _, err := next.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	has("after a resume", next.check(t), "- add /w/new.go\n- delete /w/d/\n- add /w/beside\n- update /w/late\n")
}

// Files of a folder that a command removed are not listed as existing.
func TestAFolderIsTakenAway(t *testing.T) {
	var c digest
	c.note(event.ToolFinished{Changes: []event.FileChange{{Path: "/w/d/mine.go", Kind: "add"}, {Path: "/w/d.go", Kind: "update"}}})
	c.note(event.ToolFinished{Changed: changesOf("add /w/new/")})
	c.note(event.ToolFinished{Changed: changesOf("add /w/new/x")})
	c.note(event.ToolFinished{Changed: changesOf("delete /w/d/", "delete /w/new/")})
	if got := strings.Join(c.words(1<<20).Changes, ", "); got != "update /w/d.go, delete /w/d/" || len(c.Files) != 2 {
		t.Errorf("%q, %v", got, c.Files)
	}
}

// A command that changes thousands of files does not displace files that were edited on
// purpose, and the omission is reported.
func TestACommandThatChangesMuch(t *testing.T) {
	var much sandbox.Changes
	for n := range 20_000 {
		much.Add(sandbox.Change{Path: fmt.Sprintf("/w/%05d", n), Kind: sandbox.Added})
	}
	var c digest
	c.note(event.ToolFinished{Changes: []event.FileChange{{Path: "/w/mine.go", Kind: "update"}}})
	c.note(event.ToolFinished{Changed: much})
	words := c.words(1 << 20).Changes
	if len(words) != 102 || words[0] != "update /w/mine.go" || words[101] != "(and 19900 more changes, by commands)" {
		t.Errorf("%d lines: %q", len(words), words)
	}
	for n := range 10 {
		var build sandbox.Changes
		for m := range 100 {
			build.Add(sandbox.Change{Path: fmt.Sprintf("/w/%d-%d", n, m), Kind: sandbox.Added})
		}
		c.note(event.ToolFinished{Changed: build})
	}
	c.note(event.ToolFinished{Changes: []event.FileChange{{Path: "/w/9-0", Kind: "update"}}})
	var next digest
	next.resume([]model.Item{{Kind: model.Summary, Carried: c.stored()}})
	next.note(event.ToolFinished{Changed: much})
	for _, c := range []digest{c, next} {
		kinds := map[string]sandbox.ChangeKind{}
		byCommand := 0
		for _, f := range c.Files {
			if kinds[f.Path] = f.Kind; f.ByCommand {
				byCommand++
			}
		}
		if kinds["/w/mine.go"] != sandbox.Updated || kinds["/w/9-0"] != sandbox.Added || len(c.Files) != mostPaths || len(kinds) != mostPaths || byCommand != mostPaths-2 {
			t.Errorf("of %d files, %d paths and %d of commands what was written on purpose is %q and %q", len(c.Files), len(kinds), byCommand, kinds["/w/mine.go"], kinds["/w/9-0"])
		}
		if c.Unnamed+byCommand != 20_999 && c.Unnamed+byCommand != 40_999 {
			t.Errorf("%d changes of commands are counted, and %d named", c.Unnamed, byCommand)
		}
	}
	if kept := kept(event.ToolFinished{Changed: much}); len(kept) > 16<<10 {
		t.Errorf("an item carries %d bytes", len(kept))
	}
	c.resume([]model.Item{{Kind: model.Result, Carried: kept(event.ToolFinished{Changed: sandbox.Changes{Partial: true}})}})
	if words = c.words(1 << 20).Changes; words[len(words)-1] != "(and what commands changed beyond what can be noted)" {
		t.Errorf("not all could be noted: %q", words)
	}
	c.resume(nil)
	c.resume([]model.Item{{Kind: model.Summary, Carried: kept(event.BackgroundEnded{Changed: sandbox.Changes{Partial: true}})}})
	if !c.Partial {
		t.Error("a summary does not carry that not all could be noted")
	}
	if kept := kept(event.ToolFinished{}); kept != nil {
		t.Errorf("nothing changed, and an item carries %s", kept)
	}
}

// The next process knows edits and the plan from the items of the log, also without a summary.
func TestEditsAndPlansOutliveAResume(t *testing.T) {
	edit := deed{action: approvals.Action{Command: "edit"}, run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		return tools.Result{Text: "fine", Outcome: word.OK, Changes: []event.FileChange{{Path: "/w/b.go", From: "/w/a.go", Kind: sandbox.Moved}},
			Plan: []event.PlanStep{{Step: "move it", Status: word.StepInProgress}}}, nil
	}}
	r := newRig(approvals.OnRequest, toolbox{"edit": edit}, play("", call("1", "edit")), play("done"))
	if err := r.Turn(t.Context(), Input{Text: "move it"}); err != nil {
		t.Fatal(err)
	}
	next := newRig(approvals.OnRequest, toolbox{})
	next.Agent.restart(r.log.items)
	words := next.digest.words(1 << 20)
	if got := strings.Join(words.Changes, ", "); got != "delete /w/a.go, add /w/b.go" || len(words.Plan) != 1 || words.Plan[0].Step != "move it" {
		t.Errorf("%q, %+v", got, words.Plan)
	}
}
