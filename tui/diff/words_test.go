package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

// The words that differ are bold, on a background of their own.
func TestChangedWordsAreMarked(t *testing.T) {
	marked := func(spans []paint.Span) string {
		var b strings.Builder
		for _, s := range spans {
			if s.Style.Tint == paint.TintAdded || s.Style.Tint == paint.TintGone {
				b.WriteString("[" + s.Text + "]")
			} else {
				b.WriteString(s.Text)
			}
		}
		return b.String()
	}
	long := strings.Repeat("a ", maxWords)
	for _, c := range []struct{ diff, want string }{
		{"-return a + b\n+return a - b\n", "return a [+] b|return a [-] b"},
		{"-x := old(1)\n-same\n+x := fresh(1)\n+other thing\n", "x := [old](1)|same|x := [fresh](1)|other thing"},
		{"-one\n+entirely different words\n", "one|entirely different words"},
		{"-if ok {\n+if ok && more {\n+\tadded\n", "if ok {|if ok [&& more ]{|\tadded"},
		{"-gone\n context\n+gone!\n", "gone|context|gone!"},
		{"-a  b\n+a b\n", "a  b|a b"},
		{"-" + long + "\n+" + long + "b\n", long + "|" + long + "b"},
	} {
		all := read("--- a/x.go\n@@ -1 +1 @@\n"+c.diff, false)
		var got []string
		for _, h := range all[1:] {
			got = append(got, marked(h.spans))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q is marked %q, want %q", c.diff, s, c.want)
		}
	}
}

// checkDiff holds for every text that is drawn as a change.
func checkDiff(t *testing.T, s string, w int) {
	t.Helper()
	for _, l := range Lines(paint.New(true), w, Rows(s)) {
		tuitest.Harmless(t, l)
		if got := ansi.StringWidth(l); got > w {
			t.Errorf("%d columns of %d: %q", got, w, l)
		}
	}
	var shown strings.Builder
	for _, row := range Patch(s) {
		for _, span := range slices.Concat(row.Gutter, row.Text) {
			shown.WriteString(span.Text)
		}
		shown.WriteString("\n")
	}
	rest := shown.String()
	for l := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") { // nothing that is said yes to is left out
		if l == "*** Begin Patch" || l == "*** End Patch" {
			continue
		}
		var is string
		is, rest, _ = strings.Cut(rest, "\n")
		if l = strings.TrimPrefix(l, "*** "); !strings.HasSuffix(is, l[min(len(l), 1):]) {
			t.Errorf("%q is shown for %q", is, l)
		}
	}
}

func TestNastyChanges(t *testing.T) {
	for i, s := range tuitest.Nasty() {
		checkDiff(t, "@@ -1 +1 @@\n-"+s+"\n+"+s+"x", 12+4*i)
		checkDiff(t, "*** Begin Patch\n*** Update File: a\n@@ f\n-"+s+"\n+"+s+"x\n*** End Patch", 12+4*i)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("@@ -1,2 +1,2 @@\n-a b\n+a c\n\\ x\n", 30)
	f.Fuzz(func(t *testing.T, s string, w int) { checkDiff(t, s, 10+(w%100+100)%100) })
}
