package visible

import "strings"

// Fenced returns s as a block of Markdown of a language, or of none, in which nothing is drawn as a link,
// a picture or a heading, and each line stays one. The fence is longer than every row of backquotes in s.
func Fenced(s, language string) string {
	longest, row := 2, 0
	for i := range len(s) {
		row++
		if s[i] != '`' {
			row = 0
		}
		longest = max(longest, row)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + s + "\n" + fence
}
