package exec

import (
	"strings"

	"codeagent/internal/short"
)

// noteBytes is what the line takes that says what was cut, without where it is.
const noteBytes = 48

// Shorten is text within most bytes: its head, its tail, and of what was between
// them the lines that look like errors. where says in words how to get the rest.
func Shorten(text string, most int, where string) string {
	if len(text) <= most {
		return text
	}
	if where != "" {
		where = ", " + where
	}
	room := max(most-noteBytes-len(where), 0)
	note := earlierNote(text)
	if len(note) > room/2 {
		note = ""
	}
	room -= len(note)
	head, tail := headOf(text, room/2), tailOf(text, room/3)
	between := text[len(head) : len(text)-len(tail)]
	if !strings.Contains(between, note) {
		note = ""
	}
	return withCut(head, int64(len(between)), where, note+markedWithin(between, room-len(head)-len(tail)), tail)
}

// headOf is the beginning of text, whole lines where that is most of it.
func headOf(text string, n int) string {
	head := short.Head(text, n)
	if i := strings.LastIndexByte(head, '\n') + 1; i > n/2 {
		head = head[:i]
	}
	return head
}

// tailOf is the end of text, whole lines where that is most of it.
func tailOf(text string, n int) string {
	tail := short.Tail(text, n)
	if i := strings.IndexByte(tail, '\n') + 1; i > 0 && i < n/2 {
		tail = tail[i:]
	}
	return tail
}

// earlierNote is the line that says where the whole of a text is that was cut
// before, if it is in text: it stays, as the output that it is a line of.
func earlierNote(text string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "[… ") && strings.Contains(l, " bytes cut, ") && strings.HasSuffix(l, " …]\n") {
			return l
		}
	}
	return ""
}

// markedWithin is the lines of text that look like errors, as many as n bytes hold:
// the first and the last ones.
func markedWithin(text string, n int) string {
	var m marks
	m.add([]byte(text))
	m.add([]byte("\n"))
	o := Output{Skipped: int64(len(text))}
	o.Marks, o.MoreMarks = m.all()
	for len(o.Marks) > 0 {
		if words := o.marked(); len(words) <= n {
			return words
		}
		i := len(o.Marks) / 2
		o.MoreMarks += o.Marks[i].Times
		o.Marks = append(o.Marks[:i:i], o.Marks[i+1:]...)
	}
	return ""
}

// Within is text within most bytes. All of it is kept in a file, unless it says
// already where that is.
func (r *Runner) Within(text string, most int) string {
	if len(text) <= most {
		return text
	}
	where := ""
	if earlierNote(text) == "" {
		if path := r.keep(text); path != "" {
			where = "whole in " + path
		}
	}
	return Shorten(text, most, where)
}

// keep writes text to a file beside those of outputs, and returns its path; "" where
// it could not be kept whole.
func (r *Runner) keep(text string) string {
	if r.options.SpillDir == "" {
		return ""
	}
	s, err := openSpill(r.spills, r.options.SpillDir, 0)
	if err != nil {
		return ""
	}
	s.write([]byte(text))
	path, length, why := s.close()
	if why.why != "" || length != int64(len(text)) {
		return ""
	}
	return path
}
