package tools

import (
	"regexp"
	"strings"
)

// escapes matches a terminal's control sequences: CSI, the strings (OSC, DCS, SOS, PM, APC)
// up to their end, charset selection, and the short ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]+[0-~]|[0-Z\\\\`-~])")

// terminalText returns roughly what a terminal shows of an output: without control
// sequences, and with overwritten lines and erased letters in their last state.
func terminalText(s string) string {
	s = escapes.ReplaceAllString(s, "")
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
