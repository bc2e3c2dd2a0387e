package exec

import "strings"

// Shown returns what a terminal would finally show of an output, for a reader without a
// terminal. Colours and other sequences are removed, a line that was overwritten (a progress
// bar) keeps its last state, and other control characters become replacement characters.
func Shown(output string) string {
	output = strings.ReplaceAll(stripEscapes(strings.ToValidUTF8(output, "\uFFFD")), "\r\n", "\n")
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

// stripEscapes removes terminal control sequences. An unterminated one ends at the end of
// its line.
func stripEscapes(s string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(s, 0x1b)
		if at < 0 && b.Len() == 0 {
			return s
		}
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at])
		s = s[at+escapeLength(s[at:]):]
	}
}

// escapeLength returns the length of the sequence at the start of s.
func escapeLength(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // parameters, and a letter
		for i := 2; i < len(s); i++ {
			switch c := s[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1
			case c < 0x20 || c > 0x7e:
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_': // a string, to BEL or ESC \
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n' || s[i] == 0x1b:
				return i
			}
		}
		return len(s)
	}
	end := 1
	for end < len(s) && s[end] >= 0x20 && s[end] <= 0x2f {
		end++
	}
	if end < len(s) && s[end] >= 0x30 && s[end] <= 0x7e {
		end++
	}
	return end
}
