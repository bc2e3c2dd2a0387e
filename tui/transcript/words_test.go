package transcript

import (
	"strings"
	"testing"

	"codeagent/tui/paint"
)

// The words that differ are bold, on a background of their own.
func TestChangedWordsAreMarked(t *testing.T) {
	marked := func(spans []paint.Span) string {
		var b strings.Builder
		for _, s := range spans {
			if s.Style.Tint != 0 && s.Style.Attr == paint.Bold {
				b.WriteString("[" + s.Text + "]")
			} else {
				b.WriteString(s.Text)
			}
		}
		return b.String()
	}
	for _, c := range []struct{ diff, want string }{
		{"-return a + b\n+return a - b\n", "return a [+] b|return a [-] b"},
		{"-x := old(1)\n-same\n+x := fresh(1)\n+other thing\n", "x := [old](1)||x := [fresh](1)|"},
		{"-one\n+entirely different words\n", "|"},
		{"-if ok {\n+if ok && more {\n+\tadded\n", "if ok {|if ok [&][&][ ][more][ ]{|"},
		{"-gone\n context\n+gone!\n", "||"},
		{"-a  b\n+a b\n", "|"},
		{"-" + strings.Repeat("a ", maxWords) + "\n+" + strings.Repeat("a ", maxWords) + "b\n", "|"},
	} {
		hunks := parseDiff("@@ -1 +1 @@\n" + c.diff)
		markWords(hunks)
		var got []string
		for _, h := range hunks {
			got = append(got, marked(h.spans))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q is marked %q, want %q", c.diff, s, c.want)
		}
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("@@ -1,2 +1,2 @@\n-a b\n+a c\n\\ x\n", 30)
	f.Fuzz(func(t *testing.T, s string, w int) { checkDiff(t, s, 10+(w%100+100)%100) })
}
