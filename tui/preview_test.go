package tui

import (
	"errors"
	"fmt"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/internal/golden"
	"codeagent/sandbox"
)

// previewRequest asks for a write, and can be tried first.
func previewRequest(tried *int, again string, deleted int) approvals.Request {
	q := npmRequest("q")
	q.Title, q.Action.Title, q.Action.Command = "make wants to write ~/gen", "$ make generate", "make generate"
	q.Grant, q.Denials, q.Justification = sandbox.Grant{Write: []string{"/home/ada/gen"}}, nil, "the generated files lie there"
	q.Options = []approvals.Option{q.Options[0], q.Options[1], q.Options[3], q.Options[4]}
	q.Preview = func() (approvals.Tried, error) {
		*tried++
		x := approvals.Tried{Said: "exit status 0 after 1.2 s", Again: again}
		for i := range deleted {
			x.Changes = append(x.Changes, approvals.TriedChange{FileChange: event.FileChange{Path: fmt.Sprintf("/home/ada/gen/old%02d.go", i), Kind: sandbox.Deleted, Removed: 9}})
		}
		x.Changes = append(x.Changes,
			approvals.TriedChange{FileChange: event.FileChange{Path: "/home/ada/gen/api.go", Kind: sandbox.Updated, Added: 1, Removed: 1, Diff: "--- a/gen/api.go\n+++ b/gen/api.go\n@@ -3,1 +3,1 @@\n-var one = 1\n+var one = 2\n"}},
			approvals.TriedChange{FileChange: event.FileChange{Path: "/home/ada/src/app/new.go", Kind: sandbox.Added, Added: 1, Diff: "--- /dev/null\n+++ b/new.go\n@@ -0,0 +1,1 @@\n+package new\n"}})
		return x, nil
	}
	return q
}

// TestPreview: t runs the command on a draft, once, and shows what a yes would keep, with the answers below it.
func TestPreview(t *testing.T) {
	tried := 0
	r := newRig(t, 90, 40)
	a := r.put(previewRequest(&tried, "", 2))
	r.typeText("t")
	if r.press("backspace"); tried > 0 {
		t.Error("text is no key of the question")
	}
	r.rest()
	r.has("t try it first")
	cmd := r.press("t")
	r.has("it runs on a draft…")
	r.press("t")
	r.settle(cmd)
	if r.has("2 deleted, 1 changed, 1 new; exit status 0 after 1.2 s", "a yes keeps exactly this", "Deleted: 2", "− ~/gen/old01.go", "var one = 2", "+ write ~/gen", "1 this once"); tried != 1 {
		t.Errorf("tried %d times", tried)
	}
	r.lacks("try it first")
	r.wantNone(a)
	r.press("1")
	r.wantAnswer(a, approvals.Once, "")

	// no yes before each deletion was seen
	a = r.put(previewRequest(&tried, "in has changed since", 60))
	r.press("ctrl+y")
	r.settle(r.press("t"))
	r.has("a yes runs it again: in has changed since", "60 deleted", "old00.go")
	r.lacks("old59.go")
	r.press("1")
	r.wantNone(a)
	for range 4 {
		r.press("pgdown")
	}
	r.press("1")
	r.wantAnswer(a, approvals.Once, "")

	q := previewRequest(&tried, "", 0)
	q.Preview = func() (approvals.Tried, error) { return approvals.Tried{}, errors.New("no room") }
	a = r.put(q)
	r.press("ctrl+y")
	r.settle(r.press("t"))
	r.has("It could not be tried: no room", "t try it first")
	r.press("n")
	r.press("enter")
	r.wantAnswer(a, approvals.Deny, "")
	r.put(npmRequest("other"))
	r.lacks("try it first")
}

// TestPreviewScreens: as it looks.
func TestPreviewScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
		tried := 0
		r := newRig(t, size[0], size[1])
		r.put(previewRequest(&tried, "", 2))
		r.press("ctrl+y")
		golden.Check(t, fmt.Sprintf("preview-offered-%dx%d.txt", size[0], size[1]), r.screen())
		r.settle(r.press("t"))
		golden.Check(t, fmt.Sprintf("preview-%dx%d.txt", size[0], size[1]), r.screen())
	}
}
