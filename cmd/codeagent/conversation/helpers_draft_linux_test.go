package conversation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/attack"
	"codeagent/model"
	"codeagent/undo"
)

// drafting has helpers on drafts make the calls of their number, and returns their results, how the call of delegate
// ended and what the model reads of it.
func (ses *hostileSession) drafting(more obj, each ...[]model.ToolCall) (results []map[string]string, end event.ToolFinished, report string) {
	ses.t.Helper()
	var mu sync.Mutex
	var tasks []obj
	left := slices.Clone(each)
	for range each {
		tasks, results = append(tasks, obj{"kind": "change", "task": "attack"}), append(results, map[string]string{})
	}
	ses.model.helper = func(r model.Request) []model.ToolCall {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for n < len(each)-1 && !strings.HasSuffix(r.CacheKey, fmt.Sprintf("-%d", n+1)) {
			n++
		}
		for _, i := range r.Items {
			if i.Kind == model.Result {
				results[n][i.CallID] = i.Text
			}
		}
		next := left[n][:min(len(left[n]), 100)]
		left[n] = left[n][len(next):]
		return next
	}
	defer func() { ses.model.helper = nil }()
	if more == nil {
		more = obj{}
	}
	more["tasks"] = tasks
	end, report = ses.call("delegate", more)
	return results, end, report
}

func shell(id, script string) model.ToolCall {
	return model.ToolCall{ID: id, Name: "shell", Arguments: fmt.Sprintf(`{"command": %q}`, script)}
}

// hasDrafts reports whether helpers have drafts in this setting, and checks what the model reads where they have none.
func (ses *hostileSession) hasDrafts() bool {
	ses.t.Helper()
	if ses.ses.Workspace.TryDraft(ses.t.Context()) == nil {
		return true
	}
	if _, end, report := ses.drafting(nil, nil); end.Outcome != word.Failed || !strings.Contains(report, "it needs a draft: ") {
		ses.t.Errorf("without drafts: %s: %q", end.Outcome, report)
	}
	return false
}

// TestHelperDrafts: helpers that work on drafts.
func TestHelperDrafts(t *testing.T) { inSettings(t, "^TestDraft.*InSetting$") }

// TestDraftReportInSetting: helpers work on drafts, and the report says what they changed.
func TestDraftReportInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestHelperDrafts")
	h := newHostileHost(t)
	s := h.scene("boxed")
	ses := h.session(s, true, "")
	t.Cleanup(ses.ses.Close)
	if !ses.hasDrafts() {
		return
	}
	for name, text := range map[string]string{"/.env": "key\n", "/node_modules/m/x": "dep\n", "/a": "old\n", "/gone": "x\n"} {
		err := os.MkdirAll(s.Work+"/node_modules/m", 0o755)
		if err == nil {
			err = os.WriteFile(s.Work+name, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	patch := model.ToolCall{ID: "p", Name: "apply_patch", Arguments: `{"patch": "*** Begin Patch\n*** Update File: a\n@@\n-old\n+one\n*** End Patch\n"}`}
	results, end, report := ses.drafting(nil, []model.ToolCall{shell("s", "cat .env node_modules/m/x; rm gone; echo 1 >new1"), patch, shell("t", "cat a; ls")}, []model.ToolCall{shell("s", "echo two >a; ls")})
	if end.Outcome != word.OK || !strings.Contains(results[0]["s"], "key\ndep") || !strings.Contains(results[0]["t"], "one\n") || strings.Contains(results[0]["t"], "gone") || strings.Contains(results[1]["s"], "new1") {
		t.Errorf("%s: %q", end.Outcome, results)
	}
	for _, want := range []string{": 1 deleted, 1 changed, 1 new; nothing of it is in the files.\n- \"" + s.Work + "/gone\"\n~ \"" + s.Work + "/a\"\n+ \"" + s.Work + "/new1\"\n", "Changed on more than one draft, and not merged: \"" + s.Work + "/a\" by helper 1 (change) and helper 2 (change)\n"} {
		if !strings.Contains(report, want) {
			t.Errorf("%q lacks %q", report, want)
		}
	}
	for name, want := range map[string]string{"/a": "old\n", "/gone": "x\n", "/new1": ""} {
		if text, _ := os.ReadFile(s.Work + name); string(text) != want {
			t.Errorf("%s in the files: %q", name, text)
		}
	}
	for _, h := range end.Helpers {
		if _, err := os.Stat(ses.ses.Workspace.Paths.Drafts + "/" + h.Draft + "/draft.json"); h.Draft == "" || err != nil {
			t.Errorf("the draft %q: %v", h.Draft, err)
		}
	}
}

// TestDraftKeepInSetting: one call tries two ways and keeps the first whose check passes, as an edit that undo takes
// back. A draft is kept or dropped later by its ID, and what was changed meanwhile is left alone.
func TestDraftKeepInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestHelperDrafts")
	h := newHostileHost(t)
	s := h.scene("boxed")
	ses := h.session(s, true, "")
	t.Cleanup(ses.ses.Close)
	if !ses.hasDrafts() {
		return
	}
	is := func(name, want string) {
		t.Helper()
		if text, _ := os.ReadFile(s.Work + "/" + name); string(text) != want {
			t.Errorf("%s has %q, want %q", name, text, want)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(s.Work+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	drafts := func() int {
		list, _ := os.ReadDir(ses.ses.Workspace.Paths.Drafts)
		return len(list)
	}
	write("a", "old\n")
	_, end, report := ses.drafting(obj{"check": "grep two a", "keep": true}, []model.ToolCall{shell("s", "echo one >a")}, []model.ToolCall{shell("s", "echo two >a; echo x >b")}, nil)
	if is("a", "two\n"); end.Outcome != word.OK || !strings.Contains(report, "The check failed:") || !strings.Contains(report, "The check passed:") || drafts() != 0 || len(end.Changes) != 2 {
		t.Errorf("%s, %d drafts, %v: %q", end.Outcome, drafts(), end.Changes, report)
	}
	is("b", "x\n")
	if n := len(ses.face.asked); n > 0 {
		t.Errorf("asked %q", ses.face.asked[0].Title)
	}
	plan, err := ses.ses.Undo.Plan(func(undo.Step) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	files, err := ses.ses.Workspace.Runner.Files(t.Context(), ses.ses.Gate.Ungranted(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if _, err := ses.ses.Undo.Apply(t.Context(), plan, files); err != nil {
		t.Error(err)
	}
	is("a", "old\n")
	is("b", "")

	if _, _, report = ses.drafting(obj{"check": "false", "keep": true}, []model.ToolCall{shell("s", "echo one >a; echo y >c; mkdir -p .git/hooks; echo z >d")}); !strings.Contains(report, "nothing was kept") || drafts() != 1 {
		t.Errorf("no check passes: %q", report)
	}
	id := strings.Fields(strings.SplitAfter(report, "Its draft is ")[1])[0]
	id = strings.TrimSuffix(id, ":")
	keep := func(arguments obj) string {
		t.Helper()
		arguments["draft"] = id
		_, text := ses.call("keep_draft", arguments)
		return text
	}
	if text := keep(obj{"paths": []string{"d"}}); !strings.Contains(text, "1 of 1 change kept") {
		t.Error(text)
	}
	is("d", "z\n")
	is("c", "")
	write("a", "mine\n")
	if text := keep(obj{}); !strings.Contains(text, "somebody else changed it meanwhile") {
		t.Error(text)
	}
	is("a", "mine\n")
	is("c", "y\n")
	if text := keep(obj{"drop": true}); text != "Dropped." || drafts() != 0 {
		t.Error(text)
	}
	if text := keep(obj{}); !strings.Contains(text, "no draft") {
		t.Error(text)
	}
}
