package tui

import (
	"fmt"
	"strings"
)

// patchLines draws the patch that an edit asks to apply: it is shown as it was
// written, since the files it fits are not read before the answer.
func patchLines(t *theme, w int, patch string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimSuffix(patch, "\n"), "\n") {
		s := dim
		switch {
		case line == "*** Begin Patch", line == "*** End Patch":
			continue
		case strings.HasPrefix(line, "*** "):
			line, s = strings.TrimPrefix(line, "*** "), strong
		case strings.HasPrefix(line, "@@"):
			s = faint
		case strings.HasPrefix(line, "+"):
			s = style{ink: inkAdded}
		case strings.HasPrefix(line, "-"):
			s = style{ink: inkGone}
		}
		out = append(out, wrapper{
			theme: t, width: w - 1, hard: true, first: []span{{"   ", text}}, rest: []span{{"     ", text}},
		}.lines(span{line, s})...)
	}
	return out
}

// folded keeps the first of more than most lines and says how to see the rest:
// nobody says yes to what was silently left out.
func folded(t *theme, w int, lines []string, most int, full bool, whole string) []string {
	if full || len(lines) <= most {
		return lines
	}
	hidden := len(lines) - most + 1
	say := fmt.Sprintf("     … %d more lines: %s shows %s", hidden, keyName(keyFor(everywhere, actToggle)), whole)
	return append(lines[:most-1:most-1], t.row(w-1, span{say, warn}))
}
