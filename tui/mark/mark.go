// Package mark notes in a drawn line what its cells stand for, so that a copy gives
// back what was written: a tab instead of spaces, no margins, no breaks that only the
// width of the screen made. A mark is an escape sequence (APC) that takes no column.
// Drawn text holds no other one, because paint shows every control character. Strip
// removes the marks before a line goes to a terminal. It performs no IO. Start with
// Copy.
package mark

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	open  = "\x1b_"
	close = "\x1b\\"
	// End ends the cells that For begins.
	End = open + "." + close
	// Decoration is a whole line that a copy leaves out.
	Decoration = open + "-" + close
)

// For begins cells that stand for text; "" leaves them out of a copy. The text is
// printable ASCII or tabs.
func For(text string) string {
	return open + "=" + strings.ReplaceAll(text, "\t", "~") + close
}

// Joined ends a line that goes on in the next one. The text stood at the break.
func Joined(text string) string {
	return open + "+" + strings.ReplaceAll(text, "\t", "~") + close
}

// Continues reports whether a line goes on in the next one, and what stood at the break.
func Continues(line string) (text string, ok bool) {
	_, after, ok := strings.Cut(line, open+"+")
	text, _, _ = strings.Cut(after, close)
	return strings.ReplaceAll(text, "~", "\t"), ok
}

// Strip removes the marks.
func Strip(line string) string {
	i := strings.Index(line, open)
	if i < 0 {
		return line
	}
	var b strings.Builder
	for ; i >= 0; i = strings.Index(line, open) {
		b.WriteString(line[:i])
		n := strings.Index(line[i:], close)
		if n < 0 {
			return b.String()
		}
		line = line[i+n+len(close):]
	}
	b.WriteString(line)
	return b.String()
}

// Lines removes the marks of several lines.
func Lines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = Strip(l)
	}
	return out
}

// CopyBuffer collects the text of lines from top to bottom.
type CopyBuffer struct {
	text strings.Builder
	// pad is blank cells that are written once a letter follows: those at the end of a
	// line are not text.
	pad    string
	any    bool // a line was taken
	joined bool // the last line goes on in the next one
}

// Add takes the columns from (inclusive) to to (exclusive) of a line.
func (c *CopyBuffer) Add(line string, from, to int) {
	rest := line
	joined, before := c.joined, ""
	if strings.Contains(line, Decoration) {
		return
	}
	c.joined = false
	c.pad = ""
	if c.any && !joined {
		c.text.WriteByte('\n')
	}
	c.any = true
	col, stands, inside, said, start := 0, "", false, false, joined
	for rest != "" {
		seq, w, n, _ := ansi.DecodeSequence(rest, ansi.NormalState, nil)
		rest = rest[max(n, 1):]
		switch {
		case strings.HasPrefix(seq, open):
			kind, text := markOf(seq)
			switch kind {
			case '=':
				stands, inside, said = text, true, false
			case '.':
				inside = false
			case '+':
				c.joined, before = to > col, text
			}
		case w == 0:
		default:
			at := col
			col += w
			switch {
			case at < from || at >= to:
			case inside:
				// The prefix of a line that goes on is not text.
				if !said && !start {
					c.write(stands)
				}
				said = true
			default:
				start = false
				c.write(seq)
			}
		}
	}
	if c.joined { // blanks before the break are text
		c.text.WriteString(c.pad + before)
	}
}

func (c *CopyBuffer) write(s string) {
	if strings.Trim(s, " ") == "" {
		c.pad += s
		return
	}
	c.text.WriteString(c.pad + s)
	c.pad = ""
}

// String is the text so far.
func (c *CopyBuffer) String() string { return c.text.String() }

func markOf(seq string) (kind byte, text string) {
	body := strings.TrimSuffix(strings.TrimPrefix(seq, open), close)
	if body == "" {
		return 0, ""
	}
	return body[0], strings.ReplaceAll(body[1:], "~", "\t")
}
