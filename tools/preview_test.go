package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
)

// TestPreview: the preview of an edit is what the edit then does. It changes nothing, and shows nothing
// that the policy hides, nor a file that the judged path leads to only since then.
func TestPreview(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "one\n", "gone.txt": "x\n", "hidden.txt": "key\n"})
	p.policy.DenyRead = []string{filepath.Join(p.ws, "hidden.txt")}
	p.stage.Exec = p.runner()
	look := func(name, patch string, meanwhile func(*approvals.Action)) []event.FileChange {
		call, err := p.plan("apply_patch", args{"patch": "*** Begin Patch\n" + patch + "\n*** End Patch"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a := call.Action()
		if meanwhile != nil {
			meanwhile(&a)
		}
		return Preview(t.Context(), p.stage.Exec, p.options.Files, p.policy, a)
	}
	before := p.tree(filepath.Dir(p.ws))
	type change struct{ path, from, old, now string }
	text := func(s *string) string {
		if s == nil {
			return "(none)"
		}
		return *s
	}
	var got []change
	for _, c := range look("all", "*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: d/new.txt\n+new\n*** Delete File: gone.txt\n*** Update File: "+p.out+"/secret\n@@\n-secret\n+open", nil) {
		got = append(got, change{c.Path, c.From, text(c.Before), text(c.After)})
	}
	want := []change{
		{p.ws + "/a.txt", "", "one\n", "1\n"}, {p.ws + "/d/new.txt", "", "(none)", "new\n"},
		{p.ws + "/gone.txt", "", "x\n", "(none)"}, {p.out + "/secret", "", "secret\n", "open\n"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); diff != "" {
		t.Error(diff)
	}
	const update = "*** Update File: a.txt\n@@\n-one\n+1"
	for name, c := range map[string]struct {
		patch     string
		meanwhile func(*approvals.Action)
	}{
		"hidden":         {"*** Update File: hidden.txt\n@@\n-key\n+x", nil},
		"does not apply": {"*** Update File: a.txt\n@@\n-two\n+1", nil},
		"no edit":        {update, func(a *approvals.Action) { a.Kind = word.KindCommand }},
	} {
		if got := look(name, c.patch, c.meanwhile); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if diff := cmp.Diff(before, p.tree(filepath.Dir(p.ws))); diff != "" {
		t.Errorf("a preview changed something: %s", diff)
	}
	if got := look("led elsewhere", update, func(*approvals.Action) {
		if err := os.Remove(filepath.Join(p.ws, "a.txt")); err != nil {
			t.Fatal(err)
		}
		p.link("../out/same", "a.txt")
		p.write("../out/same", "one\n")
	}); got != nil {
		t.Errorf("through a link that came later: %+v", got)
	}
}
