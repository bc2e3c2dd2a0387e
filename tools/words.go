package tools

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"codeagent/internal/short"
)

// show quotes a piece of text from the model or a file: one line, bounded, with control
// characters escaped.
func show(s string) string {
	return short.Quote(s, 100)
}

// oneLine converts a text to a title: its first line, bounded, without control characters.
func oneLine(s string) string {
	const most = 200
	s = strings.TrimSpace(s)
	line, rest, _ := strings.Cut(s, "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, strings.TrimSpace(short.Head(line, 4*most)))
	if len(line) > most {
		return short.Cut(line, most)
	}
	if strings.TrimSpace(rest) != "" {
		line += " …"
	}
	return line
}

// nearest returns the name most similar to s, or "" if none is similar.
func nearest(s string, names []string) string {
	s = strings.ToLower(s)
	best := short.Nearest(s, names)
	if best != "" || len(s) < 3 {
		return best
	}
	for _, name := range names {
		if strings.Contains(s, name) || strings.Contains(name, s) {
			return name
		}
	}
	return ""
}

// escapes matches a terminal's control sequences: CSI, the strings (OSC, DCS, SOS, PM, APC)
// up to their end, charset selection, and the short ones.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]+[0-~]|[0-Z\\\\`-~])")
})

// terminalText returns roughly what a terminal shows of an output: without control
// sequences, and with overwritten lines and erased letters in their last state.
func terminalText(s string) string {
	s = escapes().ReplaceAllString(s, "")
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		lines[i] = takenBack(line)
	}
	return strings.Join(lines, "\n")
}

// takenBack applies backspaces and drops bells.
func takenBack(line string) string {
	if !strings.ContainsAny(line, "\b\a") {
		return line
	}
	var out []rune
	for _, r := range line {
		switch {
		case r == '\b':
			out = out[:max(len(out)-1, 0)]
		case r != '\a':
			out = append(out, r)
		}
	}
	return string(out)
}
