package visible

import (
	"strings"
	"unicode"
)

// Fact returns a text with names that others chose, such as a path, for a row of codeagent's
// own. Wide gaps and symbols could imitate another row with its mark, so they are shown as what
// they are: each of several spaces as "␣", a tab as "␉", a symbol by its number. Other hidden
// characters stay: Line names them.
func Fact(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == '\t' || wide(r) || symbol(r) }) && !strings.Contains(s, "  ") {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		beside := i > 0 && unicode.IsSpace(runes[i-1]) || i+1 < len(runes) && unicode.IsSpace(runes[i+1])
		switch {
		case symbol(r), wide(r) && beside:
			b.WriteString(Codepoint(r))
		case r == '\t':
			b.WriteRune('␉')
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

// wide reports the spaces beyond ASCII: several make a gap too.
func wide(r rune) bool { return r > ' ' && unicode.Is(unicode.Zs, r) }
