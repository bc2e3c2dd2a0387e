package question

import (
	"strings"

	"codeagent/tui/paint"
)

// patchSpans colours the patch that an edit wants to apply. It is shown as written,
// because the files are not read before the answer.
func patchSpans(patch string) []paint.Span {
	var out []paint.Span
	for _, line := range strings.Split(strings.TrimSuffix(patch, "\n"), "\n") {
		s := paint.Dim
		switch {
		case line == "*** Begin Patch", line == "*** End Patch":
			continue
		case strings.HasPrefix(line, "*** "):
			line, s = strings.TrimPrefix(line, "*** "), paint.Strong
		case strings.HasPrefix(line, "@@"):
			s = paint.Faint
		case strings.HasPrefix(line, "+"):
			s = paint.Added
		case strings.HasPrefix(line, "-"):
			s = paint.Gone
		}
		if len(out) > 0 {
			line = "\n" + line
		}
		out = append(out, s.Span(line))
	}
	return out
}
