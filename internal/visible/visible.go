// Package visible names the characters that a terminal interprets or that a reader cannot
// see: controls, bidirectional marks, invisible characters and tags. It is pure; every
// room that shows text from a model, a command or a file uses it. Start reading at Name,
// then Line and Text.
package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Name returns the visible name of a rune that must not be shown as itself, or "".
func Name(r rune) string {
	switch {
	case r < 0x20:
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case r < 0xa0 && r >= 0x80, unicode.Is(hidden, r):
		return Codepoint(r)
	}
	return ""
}

// Codepoint formats a rune as <U+202E>.
func Codepoint(r rune) string { return fmt.Sprintf("<U+%04X>", r) }

// Joins reports an invisible rune that forms emoji and ligatures with the runes around
// it: it is harmless after a visible rune that is not ASCII.
func Joins(r rune) bool {
	return r == '\u200c' || r == '\u200d' || r == '\ufe0e' || r == '\ufe0f'
}

// Line returns s as one line: hidden runes and invalid bytes are named, a line break becomes
// a mark, and a tab four spaces.
func Line(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return Name(r) != "" || r == unicode.ReplacementChar }) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for _, r := range s {
		name := Name(r)
		switch {
		case r == '\n':
			b.WriteString("⏎")
		case r == '\t':
			b.WriteString("    ")
		case r == unicode.ReplacementChar:
			b.WriteString(Codepoint(r))
		case name == "", Joins(r) && before >= 0x80 && Name(before) == "":
			b.WriteRune(r)
		default:
			b.WriteString(name)
		}
		before = r
	}
	return b.String()
}

// Text returns s with its lines and tabs, and everything else as in Line. Line breaks at the
// end are removed.
func Text(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line, ended := strings.CutSuffix(line, "\n")
		for i, piece := range strings.Split(strings.TrimSuffix(line, "\r"), "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(Line(piece))
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// hidden are the invisible runes that change direction, join, space or tag text (Unicode 17:
// Cf without the visible Arabic and Syriac signs, the line separators, and the letters that
// are drawn as nothing).
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1}, {0x034f, 0x034f, 1}, {0x061c, 0x061c, 1},
		{0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1},
		{0x200b, 0x200f, 1}, {0x2028, 0x202e, 1}, {0x2060, 0x206f, 1},
		{0x2800, 0x2800, 1}, {0x3164, 0x3164, 1}, {0xfe00, 0xfe0f, 1},
		{0xfeff, 0xfeff, 1}, {0xffa0, 0xffa0, 1}, {0xfff0, 0xfffb, 1},
	},
	R32: []unicode.Range32{
		{0x13430, 0x13455, 1}, {0x1bca0, 0x1bca3, 1}, {0x1d173, 0x1d17a, 1}, {0xe0000, 0xe0fff, 1},
	},
}

// JSON encodes v with a \u escape for each character that a terminal would interpret or a
// reader would not see; a decoder gets the same value. All JSON that codeagent prints comes
// from here. indent is empty for one line.
func JSON(v any, indent string) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", indent)
	if indent == "" {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return nil, err
	}
	return Escaped(data), nil
}

// Escaped returns JSON with hidden characters escaped, and what a CI system would obey in its log
// (Log). Characters beyond ASCII and # occur only in strings, where such an escape is valid.
func Escaped(data []byte) []byte {
	data = unobeyed(data)
	hides := func(r rune) bool { return r >= 0x7f && Name(r) != "" }
	if bytes.IndexFunc(data, hides) < 0 {
		return data
	}
	var b []byte
	for _, r := range string(data) {
		if !hides(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}
