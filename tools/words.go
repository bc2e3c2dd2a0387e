package tools

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// cut returns the first n bytes of s, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// show quotes a piece of text from the model or a file: one line, bounded,
// control characters escaped.
func show(s string) string {
	const most = 100
	if len(s) > most {
		return strconv.Quote(cut(s, most)) + "…"
	}
	return strconv.Quote(s)
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
	}, strings.TrimSpace(cut(line, 4*most)))
	if len(line) > most {
		return cut(line, most) + "…"
	}
	if strings.TrimSpace(rest) != "" {
		line += " …"
	}
	return line
}

// plural writes "1 file", "2 files".
func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// seconds writes a duration as a reader wants it.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
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
