package undocmd

import (
	"slices"
	"strings"
	"testing"

	"codeagent/undo"
)

// TestResult: what was not restored has its reason, and what this run may not restore the way to do it.
func TestResult(t *testing.T) {
	p := &undo.Plan{
		Cut: true, More: "the disk is full",
		Conflicts: []undo.Skip{{Path: "/w/a", Why: "it was changed"}}, NotKept: []undo.Skip{{Path: "/w/b", Why: "too large"}},
		Closed: []undo.Obstacle{{Step: undo.Step{Path: "/o/c", Do: undo.Remove, Type: "file"}, Why: "undo may not write it"}},
	}
	r := undo.Report{Done: []undo.Step{{Path: "/w/\x1bd", Do: undo.Restore}}, Failed: []undo.Skip{{Path: "/w/e", Why: "gone"}}}
	got := ResultOf(p, r, ": codeagent undo --add-dir /o")
	if len(got.Did) != 1 || !strings.HasPrefix(got.Did[0], "restore   /w/") || strings.Contains(got.Did[0], "\x1b") {
		t.Errorf("did %q", got.Did)
	}
	want := []string{
		"the turn was cut off before its end", "left alone: /w/a: it was changed", "not kept: /w/b: too large", "failed: /w/e: gone",
		"not everything was saved: the disk is full", "saved, but not restored: /o/c: undo may not write it", "to restore it: codeagent undo --add-dir /o",
	}
	if !slices.Equal(got.Left, want) {
		t.Errorf("left %q", got.Left)
	}
	if left := ResultOf(p, r, "").Left; left[len(left)-1] != "saved, but not restored: /o/c: undo may not write it; remove it with rm" {
		t.Errorf("without a flag that helps: %q", left)
	}
}

// TestFurther: the command that passes over one more turn names the same session.
func TestFurther(t *testing.T) {
	if got := (undoHow{id: "x", skip: 1, dry: true}).further(); got != "codeagent undo x --skip --skip" {
		t.Error(got)
	}
}
