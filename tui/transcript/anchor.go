package transcript

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/mark"
)

// anchor keeps what is being read where it is while entries grow, shrink, go and are
// drawn in another width.
type anchor struct {
	at    place
	entry *entry
	lines []string // of the entry, as they were
	// width and height of the view.
	width, height int
}

// hold moves the top to where its line stands now.
func (t *list) hold(c Canvas) {
	was := t.held
	if was.entry == nil || was.at != t.top {
		return // scrolled since
	}
	if t.top.at >= len(t.entries) || t.entries[t.top.at] != was.entry {
		i := slices.Index(t.entries, was.entry)
		if i < 0 {
			return
		}
		t.top.at = i
	}
	off, ok := moved(was.lines, t.lines(t.top.at, c), t.top.off)
	t.top.off = off
	if t.held.at = t.top; !ok {
		t.held = anchor{}
	}
}

// start is the first visible place. If what follows would not fill the screen, the
// transcript follows its end again. What shrinks at the end leaves rows empty, until
// others fill them or the person scrolls.
func (t *list) start(c Canvas) place {
	t.hold(c)
	tail := t.tail(c, t.Height)
	if past := t.top.at > tail.at || t.top.at == tail.at && t.top.off >= tail.off; t.Follow || past {
		t.Follow = true
		unmoved := t.held.entry != nil && t.held.at == t.top && t.held.width == c.Width && t.held.height == t.Height
		if !past || !unmoved || t.between(c, tail, t.top) > t.Height/3 {
			t.top = tail
		}
	}
	if t.top.at < len(t.entries) {
		t.held = anchor{t.top, t.entries[t.top.at], t.lines(t.top.at, c), c.Width, t.Height}
	}
	return t.top
}

// between is the number of lines from one place to a later one.
func (t *list) between(c Canvas, from, to place) int {
	n := to.off - from.off
	for i := from.at; i < to.at && i < len(t.entries); i++ {
		n += len(t.lines(i, c))
	}
	return n
}

// moved is where line off of an entry stands after the entry was drawn again: in the
// same line, or else behind as much text. Where there is no longer as much, ok is false,
// and the entry is read from its beginning.
func moved(before, after []string, off int) (at int, ok bool) {
	if off == 0 || off < len(before) && off < len(after) && before[off] == after[off] {
		return off, true
	}
	n := 0
	for _, l := range before[:min(off, len(before))] {
		n += ink(l)
	}
	for i, l := range after {
		if n -= ink(l); n < 0 {
			return i, true
		}
	}
	return 0, false
}

// ink is the number of characters of a line that do not depend on the width.
func ink(line string) int {
	if strings.Contains(line, mark.Decoration) {
		return 0
	}
	n := 0
	for _, r := range ansi.Strip(line) {
		if r != ' ' && r != '─' {
			n++
		}
	}
	return n
}
