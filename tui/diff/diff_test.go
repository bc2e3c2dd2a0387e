package diff

import (
	"testing"

	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

func TestDiffLines(t *testing.T) {
	const diff = "--- a/x\n+++ b/x\n@@ -8,3 +8,3 @@ func\n eight\n-nine\n+neun\n ten\n@@ -98,2 +98,3 @@\n context\n+added\n+\ttab\n\\ No newline at end of file\n"
	want := "  ⋮ func\n  8   eight\n  9 − nine\n  9 + neun\n 10   ten\n  ⋮\n 98   context\n 99 + added\n100 +     tab\n      No newline at end of file\n"
	if got := tuitest.Stripped(Lines(paint.New(true), 60, Rows(diff))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDiffOfNothingUseful(t *testing.T) {
	for _, s := range []string{"", "no hunks\nat all", "@@", "@@ -x +y @@\nz", "@@ -1 +1 @@\n\n"} {
		Lines(paint.New(true), 10, Rows(s)) // must not panic
	}
	if got := tuitest.Stripped(Lines(paint.New(true), 20, Rows("@@ -0,0 +1 @@\n+new\n"))); got != " 1 + new\n" {
		t.Errorf("got %q", got)
	}
}
