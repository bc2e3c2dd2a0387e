package tools

import (
	"strings"
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
