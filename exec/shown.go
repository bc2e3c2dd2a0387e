package exec

import (
	"regexp"
	"strings"
	"sync"
)

// Shown returns what a terminal would finally show of an output, for a reader without a
// terminal. Colours and other sequences are removed, a line that was overwritten (a progress
// bar) keeps its last state, and other control characters become replacement characters.
func Shown(output string) string {
	output = strings.ReplaceAll(escapes().ReplaceAllString(strings.ToValidUTF8(output, "\uFFFD"), ""), "\r\n", "\n")
	if strings.IndexFunc(output, odd) < 0 {
		return output
	}
	var b strings.Builder
	for line := range strings.Lines(output) {
		text, end := strings.CutSuffix(line, "\n")
		text = strings.TrimRight(text, "\r")
		text = text[strings.LastIndexByte(text, '\r')+1:]
		b.WriteString(strings.Map(func(r rune) rune {
			if odd(r) {
				return '\uFFFD'
			}
			return r
		}, text))
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// odd reports a control character that is not part of a text.
func odd(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

// escapes matches terminal control sequences: CSI with its parameters and a letter, a string up
// to BEL or ESC \, and the short ones. An unterminated one ends at the end of its line.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[\x20-\x3f]*[\x40-\x7e]?|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[\x20-\x2f]*[\x30-\x7e]?)`)
})
