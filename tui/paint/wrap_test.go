package paint

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/tuitest"
)

// A number stays with its unit where both fit a line.
func TestNumbersStayWithTheirUnits(t *testing.T) {
	theme := New(true)
	for _, c := range []struct {
		w    int
		text string
		want []string
	}{
		{20, "of read app.py: 14 ms", []string{"of read app.py:", "14 ms"}},
		{19, "of read app.py: 14 ms", []string{"of read app.py:", "14 ms"}},
		{18, "of read app.py: 14 ms", []string{"of read app.py:", "14 ms"}},
		{17, "of read app.py: 14 ms", []string{"of read app.py:", "14 ms"}},
		{21, "of read app.py: 14 ms", []string{"of read app.py: 14 ms"}},
		{12, "used 3 tokens, 20 MB", []string{"used", "3 tokens,", "20 MB"}},
		{12, "about 100 % of it", []string{"about 100 %", "of it"}},
		{11, "it was 2024 everything", []string{"it was 2024", "everything"}}, // no unit
		{4, "12 ms", []string{"12", "ms"}},                                    // they do not fit
		{6, "1 tokens", []string{"1", "tokens"}},
		{8, "a 1 ms b", []string{"a 1 ms b"}},
		{7, "12345678 ms", []string{"1234567", "8 ms"}},
	} {
		got := tuitest.Stripped(Wrapper{Theme: theme, Width: c.w}.Lines(Text.Span(c.text)))
		want := tuitest.Stripped(c.want)
		if got != want {
			t.Errorf("%q in %d columns:\n%swant:\n%s", c.text, c.w, got, want)
		}
	}
	for w := 1; w < 30; w++ {
		drawn := tuitest.Stripped(Wrapper{Theme: theme, Width: w}.Lines(Text.Span("1 a 22 bb 333 ccc 4444 dddd 55555 eeeee 7 % 8 kB")))
		for line := range strings.Lines(drawn) {
			if line = strings.TrimSuffix(line, "\n"); Width(line) > w {
				t.Errorf("%d columns: %q", w, line)
			}
		}
	}
}

// TestWordsWithDigits: only a number stays with the word behind it, and a row that must part them is filled first.
func TestWordsWithDigits(t *testing.T) {
	for text, want := range map[string][]string{
		"word0 word1 word2 word3 word4 word5": {"word0 word1 word2", "word3 word4 word5"},
		"step1 of a long one and 12 ms":       {"step1 of a long", "one and 12 ms"},
		"it took about all 120 tokens":        {"it took about all", "120 tokens"},
		"1 a 2 b 3 c 4 d 5 e 6 f 7 g 8 h":     {"1 a 2 b 3 c 4 d", "5 e 6 f 7 g 8 h"},
		"of 1.5 h and 1,200 ms and more":      {"of 1.5 h and", "1,200 ms and more"},
	} {
		var got []string
		for _, line := range New(true).Wrap(18, Text.Span(text)) {
			got = append(got, strings.TrimRight(ansi.Strip(line), " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
