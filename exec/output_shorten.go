package exec

import (
	"strings"

	"codeagent/internal/short"
)

// noteBytes is the length of the note about what was cut, without the file's path.
const noteBytes = 48

// Shorten cuts text to at most most bytes: it keeps the head and the tail. where says how to get
// the rest.
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
	head, tail := headOf(text, room/2), tailOf(text, room/2)
	between := text[len(head) : len(text)-len(tail)]
	if !strings.Contains(between, note) {
		note = ""
	}
	return withCut(head, int64(len(between)), where, note, tail)
}

// headOf returns the beginning of text, cut at a line end if that keeps most of it.
func headOf(text string, n int) string {
	head := short.Head(text, n)
	if i := strings.LastIndexByte(head, '\n') + 1; i > n/2 {
		head = head[:i]
	}
	return head
}

// tailOf returns the end of text, cut at a line end if that keeps most of it.
func tailOf(text string, n int) string {
	tail := short.Tail(text, n)
	if i := strings.IndexByte(tail, '\n') + 1; i > 0 && i < n/2 {
		tail = tail[i:]
	}
	return tail
}

// earlierNote returns the note of an earlier cut if text contains one. The note stays,
// since it names the file with the whole output.
func earlierNote(text string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "[… ") && strings.Contains(l, " bytes cut, ") && strings.HasSuffix(l, " …]\n") {
			return l
		}
	}
	return ""
}

// Within returns text within most bytes. It writes all of text to a file, unless text
// already names a file that has it.
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

// keep writes text to a file in the spill folder, and returns its path, or "" if not all of
// it could be written.
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
