package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/internal/short"
)

// show quotes a piece of text from the model or a file: one line, bounded,
// control characters escaped.
func show(s string) string {
	return short.Quote(s, 100)
}

// oneLine makes a text fit for a title: its first line, bounded, without
// control characters.
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

// nearest returns the name that is most like s, if one is like it at all.
func nearest(s string, names []string) string {
	s = strings.ToLower(s)
	best, least := "", len(s)/3+2
	for _, name := range names {
		if d := distance(s, name); d < least {
			best, least = name, d
		}
	}
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

// distance is Levenshtein's, on short words; longer ones are unlike.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
