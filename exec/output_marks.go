package exec

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

const (
	// marksKept is how many of the first and how many of the last lines that look
	// like errors are kept of what is cut out of an output.
	marksKept = 10
	// markBytes is how much of one such line is kept.
	markBytes = 300
	// marksScan is how much is looked through: a flood must not cost more than it
	// takes to be copied.
	marksScan = 32 << 20
)

// errorWords are what lines that tell of an error have in common, whatever program
// printed them. Without its first letter a word is found in both cases. Together
// they have less than wordSeen letters.
var errorWords = [][]byte{
	[]byte("rror"), []byte("ERROR"), []byte("FAIL"), []byte("ailed"), []byte("ailure"), []byte("panic"), []byte("atal"), []byte("FATAL"),
	[]byte("xception"), []byte("raceback"), []byte("denied"), []byte("not found"), []byte("No such"), []byte("ndefined"), []byte("annot "),
}

// noErrorWords take a line back: what went well speaks of errors too.
var noErrorWords = [][]byte{[]byte(" 0 error"), []byte("no error"), []byte("No error"), []byte(" 0 failed"), []byte(" 0 failure")}

// Mark is a line that looks like an error.
type Mark struct {
	// Text is the line, at most 300 bytes of it, without its end.
	Text string
	// Times is how often it stood there in a row.
	Times int
}

// marks collects, of the bytes that are cut out of an output, the lines that look
// like errors: the first and the last ones. Its memory does not grow.
type marks struct {
	first, last []Mark // last is a ring once it is full
	next        int    // where it goes on then
	count       int    // of all that were seen
	scanned     int64

	// A line whose end has not come yet: its beginning, and how far its words were
	// followed.
	part  []byte
	state byte
	hit   bool
}

// add takes the next bytes.
func (m *marks) add(data []byte) {
	if m.scanned += int64(len(data)); m.scanned > marksScan {
		return
	}
	if len(m.part) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			m.begin(data)
			return
		}
		m.begin(data[:end])
		if m.hit {
			m.keep(m.part)
		}
		m.part, m.state, m.hit = m.part[:0], 0, false
		data = data[end+1:]
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	m.lines(data[:whole])
	m.begin(data[whole:])
}

// begin takes a part of a line whose end has not come yet.
func (m *marks) begin(data []byte) {
	m.part = append(m.part, data[:min(len(data), markBytes-len(m.part))]...)
	words := errorAutomaton()
	for i := 0; i < len(data) && !m.hit; i++ {
		m.state = words[m.state][data[i]]
		m.hit = m.state&wordSeen != 0
	}
}

// lines looks through whole lines.
func (m *marks) lines(data []byte) {
	words := errorAutomaton()
	state := byte(0)
	for at := 0; at < len(data); at++ {
		if state = words[state][data[at]]; state&wordSeen == 0 {
			continue
		}
		begin := bytes.LastIndexByte(data[:at], '\n') + 1
		end := len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n
		}
		m.keep(data[begin:end])
		at, state = end, 0
	}
}

// wordSeen marks the states in which a word has come to its end.
const wordSeen = 0x80

// errorAutomaton finds all errorWords in one sweep (Aho and Corasick): from a state
// and a byte to the next state. State 0 is the beginning.
var errorAutomaton = sync.OnceValue(func() *[wordSeen][256]byte {
	var next [wordSeen][256]byte
	ends := map[byte]bool{}
	states := byte(1)
	for _, word := range errorWords {
		at := byte(0)
		for _, c := range word {
			if next[at][c] == 0 {
				next[at][c] = states
				states++
			}
			at = next[at][c]
		}
		ends[at] = true
	}
	// What a state has no way on for goes on as in the longest end of it that
	// begins a word: breadth first, so that that one is done already.
	var fall [wordSeen]byte
	var queue []byte
	for _, to := range next[0] {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		ends[at] = ends[at] || ends[fall[at]]
		for c, to := range next[at] {
			if to == 0 {
				next[at][c] = next[fall[at]][c]
				continue
			}
			fall[to] = next[fall[at]][c]
			queue = append(queue, to)
		}
	}
	for at := range next {
		for c, to := range next[at] {
			if ends[to] {
				next[at][c] |= wordSeen
			}
		}
	}
	return &next
})

func (m *marks) keep(line []byte) {
	line = bytes.TrimSpace(line[:min(len(line), markBytes)])
	spaced := append([]byte{' '}, line...)
	for _, word := range noErrorWords {
		if bytes.Contains(spaced, word) {
			return
		}
	}
	m.count++
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if last := m.latest(); last != nil && last.Text == text {
		last.Times++
		return
	}
	mark := Mark{Text: text, Times: 1}
	switch {
	case len(m.first) < marksKept:
		m.first = append(m.first, mark)
	case len(m.last) < marksKept:
		m.last = append(m.last, mark)
	default:
		m.last[m.next] = mark
		m.next = (m.next + 1) % marksKept
	}
}

// latest is the line that was kept last; nil before the first.
func (m *marks) latest() *Mark {
	switch {
	case len(m.last) > 0:
		return &m.last[(m.next+len(m.last)-1)%len(m.last)]
	case len(m.first) > 0:
		return &m.first[len(m.first)-1]
	}
	return nil
}

// all returns what is kept, in order, and how many more lines there were.
func (m *marks) all() (kept []Mark, more int) {
	kept = append(append(append(kept, m.first...), m.last[m.next:]...), m.last[:m.next]...)
	more = m.count
	for _, k := range kept {
		more -= k.Times
	}
	return kept, more
}

// marked tells the lines that look like errors in what was cut, "" without any.
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
