package question

import (
	"strings"
	"unicode"

	"codeagent/internal/visible"
)

// fact returns a text with names that others chose, such as a path, for a row of codeagent's
// own. Wide gaps and symbols could imitate another row with its mark, so they are shown as what
// they are: each of several spaces as "␣", a symbol by its number.
func fact(s string) string {
	if !strings.Contains(s, "  ") && strings.IndexFunc(s, symbol) < 0 {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		beside := i > 0 && runes[i-1] == ' ' || i+1 < len(runes) && runes[i+1] == ' '
		switch {
		case symbol(r):
			b.WriteString(visible.Codepoint(r))
		case r == ' ' && beside:
			b.WriteRune('␣')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// symbol reports pictures, box drawing and the like, which no letter or punctuation is.
func symbol(r rune) bool { return unicode.Is(unicode.So, r) }
