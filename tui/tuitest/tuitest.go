// Package tuitest has what tests of the screen's rooms share: hostile texts, and
// checks of drawn lines. It performs no IO and imports none of our rooms. Start with
// Nasty, the texts that every part of the screen must draw harmlessly.
package tuitest

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Nasty are texts that try to control a terminal or to break its lines.
func Nasty() []string {
	return []string{
		"\x1b]0;title\x07", "\x1b[31;1mred", "\x1b[?1049l", "\x1bc", "\x9b2J", "\u009d52;c;x\u009c", "\u202e\u2066\u200f\u061c",
		"\x1b]8;;file:///etc/passwd\x1b\\click\x1b]8;;\x1b\\", strings.Repeat("x", 5000), strings.Repeat("漢", 300), strings.Repeat("a\u0301\u0302", 50),
		"\r\rover", "tab\tand\x0bvertical\x0c", "\xff\xfe\xfd", "👨‍👩‍👧‍👦🏳️‍🌈🇩🇪", "\u200d\u200d", "\ufe0f", "```\n\x1b[2J\n```", "# \x1b[H\n\n| a | \x07 |\n|---|---|\n| \u202e | b |\n",
		"[text](javascript:\x1b]0;x\x07)", "&#27;[2J &#x202e;", "<script>\x1b</script>", "> > > > > > > > > > > > > > > > deep", strings.Repeat("- ", 40) + "x", "\n\n\n\n",
	}
}

// styles are the sequences that set colours and attributes, and the marks of room mark,
// which the screen removes.
var styles = regexp.MustCompile(`\x1b\[[0-9;:]*m|\x1b_[=+.-][ -~]*?\x1b\\`)

// Harmless checks that a drawn line has no control character but styles.
func Harmless(t testing.TB, line string) {
	t.Helper()
	for _, r := range styles.ReplaceAllString(line, "") {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\ufeff' {
			t.Errorf("a drawn line holds %U: %q", r, line)
			return
		}
	}
	if !utf8.ValidString(line) {
		t.Errorf("a drawn line is not UTF-8: %q", line)
	}
}

// Stripped are lines without styles and trailing spaces.
func Stripped(lines []string) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(ansi.Strip(l), " "))
	}
	return strings.Join(out, "\n") + "\n"
}
