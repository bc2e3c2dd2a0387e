package webtext

import "strings"

// lines writes words into lines. Breaks, spaces and marks are written only before the
// next word, so that an element without words leaves nothing.
type lines struct {
	out    strings.Builder
	breaks int  // pending newlines, at most 2
	space  bool // a space is pending
	cells  int  // pending borders of table cells
	opened int  // pending brackets of links
	place
}

// place is the beginning of lines: indent, and mark for the first line.
type place struct {
	indent, mark string
	marked       bool // the first line is not written yet
}

func (l *lines) full() bool { return l.out.Len() >= maxText }

// owe makes the next word begin a line; with 2 an empty line comes before it.
func (l *lines) owe(breaks int) {
	l.breaks = max(l.breaks, breaks)
	if breaks > 0 {
		l.space = false
	}
}

// begin indents what follows, its first line after mark, and returns the place to end with.
func (l *lines) begin(indent, mark string) place {
	outer := l.place
	if len(l.indent) >= maxIndent {
		return outer
	}
	if !l.marked {
		l.mark = l.indent
	}
	l.mark, l.indent, l.marked = l.mark+mark, l.indent+indent, true
	return outer
}

func (l *lines) end(outer place) {
	// A mark that was pending before is still pending if no word came.
	outer.marked = outer.marked && l.marked
	l.place = outer
}

// layout are characters that only say where a line may break. They are frequent in pages and
// carry no meaning.
var layout = strings.NewReplacer("\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "")

// text writes running text: white space of any kind is one space.
func (l *lines) text(s string) {
	s = layout.Replace(s)
	words := strings.Fields(s)
	if len(words) == 0 {
		l.space = l.space || s != ""
		return
	}
	l.space = l.space || strings.TrimLeft(s[:1], " \t\n\f\r") == ""
	for _, word := range words {
		l.word(word)
		l.space = true
	}
	l.space = strings.TrimLeft(s[len(s)-1:], " \t\n\f\r") == ""
}

// word writes one word, after everything that is pending.
func (l *lines) word(s string) {
	switch {
	case l.breaks > 0 || l.out.Len() == 0:
		l.newline(l.breaks)
		l.out.WriteString(strings.Repeat("| ", min(l.cells, maxIndent)))
	case l.cells > 0:
		l.out.WriteString(" " + strings.Repeat("| ", min(l.cells, maxIndent)))
	case l.space:
		l.out.WriteByte(' ')
	}
	l.out.WriteString(strings.Repeat("[", min(l.opened, maxIndent)))
	l.out.WriteString(s)
	l.breaks, l.space, l.cells, l.opened = 0, false, 0, 0
}

// newline begins a line; the first one has no newline before it.
func (l *lines) newline(breaks int) {
	if l.out.Len() > 0 {
		l.out.WriteString(strings.Repeat("\n", breaks))
	}
	begin := l.indent
	if l.marked {
		begin, l.marked = l.mark, false
	}
	l.out.WriteString(begin)
}

// verbatim writes text unchanged, between fences that do not occur in it.
func (l *lines) verbatim(s string) {
	s = strings.Trim(strings.ReplaceAll(s, "\r", ""), "\n")
	if strings.TrimSpace(s) == "" {
		return
	}
	fence := "```"
	for strings.Contains(s, fence) && len(fence) < 16 {
		fence += "`"
	}
	l.owe(2)
	l.word(fence)
	for line := range strings.SplitSeq(s, "\n") {
		if l.full() {
			return
		}
		l.newline(1)
		l.out.WriteString(strings.TrimRight(line, " \t"))
	}
	l.newline(1)
	l.out.WriteString(fence)
	l.owe(2)
}
