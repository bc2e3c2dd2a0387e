package paint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/charmbracelet/x/ansi"
)

// Everything that reaches the screen is measured and made harmless here. Text
// from the model, from commands and from files is hostile: a control character, a
// bidirectional override or an invisible character in it is shown by name and
// never obeyed, so the person reads what is really there.

// tabWidth is the distance of tab stops in shown text.
const tabWidth = 4

// maxCluster bounds one grapheme cluster in bytes: stacked combining marks
// beyond it are shown by name. The longest emoji in use, a family with skin
// tones, has 41.
const maxCluster = 64

// Cell takes the first grapheme cluster of s (not empty), standing in column
// col. It returns how many bytes it spans, what to show for it, and how many
// columns that takes. shown holds no control and no tab.
func Cell(s string, col int) (size int, shown string, width int) {
	c := s[0]
	if c >= 0x20 && c < 0x7f && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, s[:1], 1
	}
	if c == '\t' {
		n := tabWidth - col%tabWidth
		return 1, "    "[:n], n
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return 1, "\uFFFD", 1
	}
	if name := visible.Name(r); name != "" {
		return n, name, len([]rune(name))
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		// A combining mark without a letter would vanish or move to a neighbour.
		return n, visible.Codepoint(r), len(visible.Codepoint(r))
	}
	// The bound: otherwise text of combining marks alone would be read to its end for each
	// of them.
	cluster, w := ansi.FirstGraphemeCluster(short.Head(s, maxCluster+utf8.UTFMax), ansi.GraphemeWidth)
	if len(cluster) > maxCluster || cluster == "" {
		cluster, w = s[:n], ansi.StringWidth(s[:n])
	}
	if end := harmless(cluster); end < len(cluster) {
		if end == 0 {
			return n, visible.Codepoint(r), len(visible.Codepoint(r))
		}
		cluster = cluster[:end]
		w = ansi.StringWidth(cluster)
	}
	if w <= 0 {
		return n, visible.Codepoint(r), len(visible.Codepoint(r))
	}
	return len(cluster), cluster, w
}

// harmless returns how many bytes of a cluster may be shown as they are: up to
// the first rune that hides something. Joiners and variation selectors pass
// only where they form an emoji or a ligature, behind a visible rune.
func harmless(cluster string) int {
	for i, r := range cluster {
		if i == 0 {
			continue
		}
		if visible.Joins(r) {
			continue
		}
		if visible.Name(r) != "" || r == utf8.RuneError {
			return i
		}
	}
	return len(cluster)
}

// plain reports whether s is printable ASCII: shown as it is, a column a byte.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Show makes s harmless in one line: a newline is shown too.
func Show(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	col := 0
	for len(s) > 0 {
		n, shown, w := Cell(s, col)
		b.WriteString(shown)
		s, col = s[n:], col+w
	}
	return b.String()
}

// Width is the number of columns show(s) takes.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	col := 0
	for len(s) > 0 {
		n, _, w := Cell(s, col)
		s, col = s[n:], col+w
	}
	return col
}

// Cut shows s in at most w columns; a shortened one ends in ….
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if plain(s) && len(s) <= w {
		return s
	}
	var b strings.Builder
	col, keep := 0, 0
	for rest := s; len(rest) > 0; {
		n, shown, cw := Cell(rest, col)
		if col+cw > w {
			return b.String()[:keep] + "…"
		}
		b.WriteString(shown)
		rest, col = rest[n:], col+cw
		if col < w {
			keep = b.Len()
		}
	}
	return b.String()
}

// unstyle removes colours and hyperlink frames from a program's output: without them
// they can hide nothing, and the text stays. cell shows every other control
// character.
func unstyle(s string) string {
	if !strings.ContainsRune(s, 0x1b) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, 0x1b)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		if n := styleSequence(s); n > 0 {
			s = s[n:]
			continue
		}
		b.WriteByte(0x1b)
		s = s[1:]
	}
}

// styleSequence returns the length of the SGR sequence or OSC 8 frame at the
// start of s, or 0.
func styleSequence(s string) int {
	switch {
	case strings.HasPrefix(s, "\x1b["):
		for i := 2; i < len(s); i++ {
			switch c := s[i]; {
			case c == 'm':
				return i + 1
			case c >= '0' && c <= '9', c == ';', c == ':':
			default:
				return 0
			}
		}
	case strings.HasPrefix(s, "\x1b]8;"):
		for i := 4; i < len(s) && i < 4096; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] < 0x20:
				return 0
			}
		}
	}
	return 0
}

// OutputLines splits a command's output into lines. A carriage return within a line
// starts a new line, so that a program cannot hide output by writing over it.
func OutputLines(s string) []string {
	s = strings.TrimRight(unstyle(strings.ReplaceAll(s, "\r\n", "\n")), "\r\n")
	if s == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(s, "\r", "\n"), "\n")
}
