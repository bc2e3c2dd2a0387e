package paint

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"codeagent/tui/tuitest"
)

func TestPrinted(t *testing.T) {
	names := map[Style]string{Dim: "", Bad: "bad", Good: "good", Warn: "warn", Accent: "accent", Code: "code", Text: "text", Dim.With(Bold): "bold", Bad.With(Bold): "BAD"}
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a\nb\n\n", "a|b"},
		{"\x1b[31mred\nstill\x1b[0m off", "bad:red|bad:still, off"},
		{"\x1b[1;31mloud\x1b[22m less\x1b[m none", "BAD:loud,bad: less, none"},
		{"\x1b[38;5;196mr\x1b[38;2;0;200;0mg\x1b[38;5;244mgrey\x1b[39mx", "bad:r,good:g,greyx"},
		{"\x1b[94mb\x1b[33my\x1b[35mm\x1b[37mw", "accent:b,warn:y,code:m,text:w"},
		{"\x1b[48;5;1;32mon red", "good:on red"},
		{"\x1b[8mhidden\x1b[30;40mblack", "hiddenblack"},
		{"\x1b[2J\x1b]0;t\x07", "\x1b[2J\x1b]0;t\x07"},
		{"\x1b]8;;http://evil\x1b\\text\x1b]8;;\x07.", "text."},
		{"10%\r20%\rdone\x1b[0m\n", "10%|20%|done"},
		{"\x1b[38;5m\x1b[38mx\x1b[;;;m", "x"},
	} {
		var lines []string
		for _, l := range Printed(c.in, Dim) {
			var spans []string
			for _, s := range l {
				name, known := names[s.Style]
				if !known {
					name = fmt.Sprint(s.Style)
				}
				spans = append(spans, strings.TrimPrefix(name+":"+s.Text, ":"))
			}
			lines = append(lines, strings.Join(spans, ","))
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%q is drawn as %q, want %q", c.in, got, c.want)
		}
	}
}

// What Printed keeps is what OutputLines keeps, and draws only styles and text.
func FuzzPrinted(f *testing.F) {
	for _, s := range append(tuitest.Nasty(), "\x1b[38;2;1;2;3;4;5m\x1b[1mx", "a\r\n\r\rb") {
		f.Add(s)
	}
	th := New(false)
	f.Fuzz(func(t *testing.T, s string) {
		var text []string
		for _, l := range Printed(s, Text) {
			all := ""
			for _, span := range l {
				all += span.Text
			}
			text = append(text, all)
			tuitest.Harmless(t, th.Row(40, l...))
		}
		if got, want := strings.TrimRight(strings.Join(text, "\n"), "\n"), strings.Join(OutputLines(s), "\n"); got != want {
			t.Errorf("%q: kept %q, want %q", s, got, want)
		}
	})
}

// TestPrintedIsLinear: what it takes grows with the output, however often the style is set.
func TestPrintedIsLinear(t *testing.T) {
	for _, unit := range []string{"a\x1b[0m", "\x1b[", "a\x1b[31mb\x1b[32m", "\r"} {
		took := func(n int) uint64 {
			var from, to runtime.MemStats
			runtime.ReadMemStats(&from)
			Printed(strings.Repeat(unit, n), Dim)
			runtime.ReadMemStats(&to)
			return to.TotalAlloc - from.TotalAlloc
		}
		if little, much := took(1<<10), took(16<<10); much > 64*little {
			t.Errorf("%q: %d bytes, for 16 times as much %d", unit, little, much)
		}
	}
}
