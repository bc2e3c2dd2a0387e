package mark

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestCopied(t *testing.T) {
	bar := For("> ") + "▎ " + End
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"one", "two"}, "one\ntwo"},
		{[]string{"one" + Joined(" "), "two"}, "one two"},
		{[]string{"on" + Joined(""), "e"}, "one"},
		{[]string{"on " + Joined(""), "e  ", "x"}, "on e\nx"},
		{[]string{For("\t") + "    " + End + "x" + Joined("\t"), "y"}, "\tx\ty"},
		{[]string{bar + "a" + Joined(" "), bar + "b", bar + "c"}, "> a b\n> c"},
		{[]string{Decoration + "── go ──", "x   ", "", "  y"}, "x\n\n  y"},
		{[]string{For("") + "12 + " + End + "added"}, "added"},
		{[]string{"\x1b[1m漢字\x1b[m!"}, "漢字!"},
	} {
		var got CopyBuffer
		for _, l := range c.lines {
			got.Add(l, 0, 1<<16)
		}
		if got.String() != c.want {
			t.Errorf("%q is copied as %q, want %q", c.lines, got.String(), c.want)
		}
	}
}

func TestCopiedColumns(t *testing.T) {
	line := For("\t") + "    " + End + "abc" + Joined(" ")
	for _, c := range []struct {
		from, to int
		want     string
	}{{0, 5, "\ta\nnext"}, {3, 4, "\t\nnext"}, {4, 6, "ab\nnext"}, {5, 99, "bc next"}} {
		var got CopyBuffer
		got.Add(line, c.from, c.to)
		got.Add("next", 0, 99)
		if got.String() != c.want {
			t.Errorf("columns %d to %d: %q, want %q", c.from, c.to, got.String(), c.want)
		}
	}
}

func TestMarksTakeNoColumn(t *testing.T) {
	line := For("\t") + "ab" + End + Joined(" ") + Decoration
	if w := ansi.StringWidth(line); w != 2 {
		t.Errorf("%d columns", w)
	}
	if got := Strip(line + "c"); got != "abc" {
		t.Errorf("stripped %q", got)
	}
}
