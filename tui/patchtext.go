package tui

import "strings"

// patchSpans colours the patch that an edit wants to apply. It is shown as written,
// because the files are not read before the answer.
func patchSpans(patch string) []span {
	var out []span
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
			s = added
		case strings.HasPrefix(line, "-"):
			s = gone
		}
		if len(out) > 0 {
			line = "\n" + line
		}
		out = append(out, s.span(line))
	}
	return out
}
