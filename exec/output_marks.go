package exec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const (
	// marksKept is how many error-like lines are kept from the beginning, and how many from
	// the end, of the part that is cut out.
	marksKept = 10
	// markBytes is how much of such a line is kept.
	markBytes = 300
	// marksScan is how many bytes are searched: a flood of output must not cost the search of all of it.
	marksScan = 32 << 20
)

// errorWords occur in error messages of all programs. Most lack their first letter, so that
// they match in upper and lower case.
var errorWords = [][]byte{
	[]byte("rror"), []byte("ERROR"), []byte("FAIL"), []byte("ailed"), []byte("ailure"), []byte("panic"), []byte("atal"), []byte("FATAL"),
	[]byte("xception"), []byte("raceback"), []byte("denied"), []byte("not found"), []byte("No such"), []byte("ndefined"), []byte("annot "),
}

// noErrorWords unmark a line that reports success ("0 errors").
var noErrorWords = [][]byte{[]byte(" 0 error"), []byte("no error"), []byte("No error"), []byte(" 0 failed"), []byte(" 0 failure")}

// Mark is a line that looks like an error.
type Mark struct {
	// Text is the line without its end, at most 300 bytes.
	Text string
	// Times is how often the line was repeated in a row.
	Times int
}

// marks collects error-like lines from the part of an output that is cut out: the first
// and the last ones. Its memory does not grow.
type marks struct {
	kept    []Mark
	count   int // of all lines found
	scanned int64

	part []byte // the beginning of a line whose end has not come yet
}

// add takes the next bytes.
func (m *marks) add(data []byte) {
	if m.scanned += int64(len(data)); m.scanned > marksScan {
		return
	}
	for line := range bytes.Lines(data) {
		whole := line[len(line)-1] == '\n'
		if len(m.part) > 0 || !whole {
			m.part = append(m.part, line[:min(len(line), markBytes-len(m.part))]...)
			line = m.part
		}
		if whole {
			m.line(line)
			m.part = m.part[:0]
		}
	}
}

// line keeps a line that looks like an error.
func (m *marks) line(line []byte) {
	line = line[:min(len(line), markBytes)]
	if slices.ContainsFunc(errorWords, func(word []byte) bool { return bytes.Contains(line, word) }) {
		m.keep(line)
	}
}

func (m *marks) keep(line []byte) {
	line = bytes.TrimSpace(line)
	spaced := append([]byte{' '}, line...)
	if slices.ContainsFunc(noErrorWords, func(word []byte) bool { return bytes.Contains(spaced, word) }) {
		return
	}
	m.count++
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if n := len(m.kept); n > 0 && m.kept[n-1].Text == text {
		m.kept[n-1].Times++
		return
	}
	if m.kept = append(m.kept, Mark{Text: text, Times: 1}); len(m.kept) > 2*marksKept {
		m.kept = slices.Delete(m.kept, marksKept, marksKept+1)
	}
}

// all returns the kept lines, in order, and how many more were found.
func (m *marks) all() (kept []Mark, more int) {
	more = m.count
	for _, k := range m.kept {
		more -= k.Times
	}
	return m.kept, more
}

// marked returns the error-like lines of the cut part as text, or "".
func (o Output) marked() string {
	if len(o.Marks) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("[lines of it that look like errors")
	if o.Skipped > marksScan {
		fmt.Fprintf(&b, ", in its first %d MiB", marksScan>>20)
	}
	if o.MoreMarks > 0 {
		all := o.MoreMarks
		for _, k := range o.Marks {
			all += k.Times
		}
		fmt.Fprintf(&b, ", the first and the last of %d", all)
	}
	b.WriteString(":]\n")
	for _, k := range o.Marks {
		b.WriteString(k.Text)
		if k.Times > 1 {
			fmt.Fprintf(&b, " [%d times]", k.Times)
		}
		b.WriteByte('\n')
	}
	b.WriteString("[end of these lines]\n")
	return b.String()
}
