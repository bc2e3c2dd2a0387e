package paint

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/palette"
	"codeagent/tui/tuitest"
)

func TestHostileTextIsShown(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"\x1b[2J", "␛[2J"},
		{"\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"},
		{"a\x00b\x7f", "a␀b␡"},
		{"\u009b31m", "<U+009B>31m"},
		{"rm \u202egnp.exe", "rm <U+202E>gnp.exe"},
		{"a\u2066b\u2069", "a<U+2066>b<U+2069>"},
		{"zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"},
		{"soft\u00adhyphen", "soft<U+00AD>hyphen"},
		{"tag\U000e0041", "tag<U+E0041>"},
		{"line\u2028sep", "line<U+2028>sep"},
		{"filler\u3164.", "filler<U+3164>."},
		{"\u0301alone", "<U+0301>alone"},
		{"bad\xff\xfeutf", "bad\uFFFD\uFFFDutf"},
		{"one\r\ntwo", "one␍␊two"},
		{"é ñ 漢字 👩‍👩‍👧 ✔️", "é ñ 漢字 👩‍👩‍👧 ✔️"},
		{"e\u0301", "e\u0301"},
	} {
		if got := Show(c.in); got != c.want {
			t.Errorf("show(%q) = %q, want %q", c.in, got, c.want)
		}
		if got, want := Width(c.in), ansi.StringWidth(c.want); got != want {
			t.Errorf("width(%q) = %d, shown it takes %d", c.in, got, want)
		}
	}
}

func TestStackedMarksAreBounded(t *testing.T) {
	s := Show("a" + strings.Repeat("\u0301", 1000))
	if !strings.Contains(s, "<U+0301>") {
		t.Errorf("a thousand combining marks were drawn into one cell: %d bytes", len(s))
	}
}

// Text of marks alone once took a second per 20 KB.
func TestMarksAloneAreReadOnce(t *testing.T) {
	s := strings.Repeat("\u0301", 1<<17)
	if got := Width(s); got != 8<<17 {
		t.Errorf("width = %d", got)
	}
}

func TestTabsStopEveryFourColumns(t *testing.T) {
	for in, want := range map[string]string{"\tx": "    x", "a\tx": "a   x", "abc\tx": "abc x", "abcd\tx": "abcd    x"} {
		if got := Show(in); got != want {
			t.Errorf("show(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"漢字漢字", 5, "漢字…"}, {"漢字漢字", 4, "漢…"}, {"x", 0, ""}, {"\x1b\x1b\x1b", 2, "␛…"}} {
		if got := Cut(c.in, c.w); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

func TestOutputLines(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil}, {"\n", nil}, {"a\nb\n", []string{"a", "b"}}, {"a\r\nb", []string{"a", "b"}}, {"a\n\nb", []string{"a", "", "b"}},
		{"10%\r20%\rdone\n", []string{"10%", "20%", "done"}},
		{"\x1b[32mok\x1b[0m", []string{"ok"}},
		{"\x1b]8;;http://evil\x1b\\text\x1b]8;;\x07.", []string{"text."}},
		{"\x1b[2Jx\x1b]8;;http", []string{"\x1b[2Jx\x1b]8;;http"}},
	} {
		if got := OutputLines(c.in); strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
			t.Errorf("outputLines(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzCells(f *testing.F) {
	for _, s := range tuitest.Nasty() {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, w int) { checkCells(t, s, w) })
}

// checkCells holds for every text: it is consumed, harmless, measured as it is
// shown, and never wider than its bounds.
func checkCells(t *testing.T, s string, w int) {
	w = 1 + (w%80+80)%80
	tuitest.Harmless(t, Show(s))
	if c := Cut(s, w); ansi.StringWidth(c) > w && w > 9 {
		t.Errorf("cut(%q, %d) is %d wide: %q", s, w, ansi.StringWidth(c), c)
	}
	th := New(true)
	for _, hard := range []bool{false, true} {
		for _, l := range (Wrapper{Theme: th, Width: w, Hard: hard}).Lines(Accent.Span(s)) {
			tuitest.Harmless(t, l)
			if n := ansi.StringWidth(l); n > w && w > 9 {
				t.Errorf("a line wrapped at %d is %d wide: %q", w, n, l)
			}
		}
	}
}

func TestCellsOnNastyText(t *testing.T) {
	for i, s := range tuitest.Nasty() {
		checkCells(t, s, 10+i*7)
	}
}

// TestEveryRoleIsInThePalettes: an ink or a tint without a role would have no colour.
func TestEveryRoleIsInThePalettes(t *testing.T) {
	for _, role := range append(inkRoles[inkText+1:], tintRoles[plainTint+1:]...) {
		if palette.For(true).Colour(role) == "" || palette.For(false).Colour(role) == "" {
			t.Errorf("%q has no colour", role)
		}
	}
}

// TestTildes: paths below the home folder are shortened in words, and only those.
func TestTildes(t *testing.T) {
	for text, want := range map[string]string{
		"open /home/ada/x: permission denied": "open ~/x: permission denied", "/home/ada": "~", "written to /home/ada/a and (/home/ada/b)": "written to ~/a and (~/b)",
		"/home/adam/x": "/home/adam/x", "/mnt/home/ada/x": "/mnt/home/ada/x", "at /home/ada: no": "at ~: no", "x=/home/ada/y '/home/ada/z'": "x=/home/ada/y '/home/ada/z'", "": "",
	} {
		if got := Tildes(text, "/home/ada"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Tildes("/a /", "/") + Tildes("/a", ""); got != "/a //a" {
		t.Errorf("%q", got)
	}
}
