package exec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const (
	// marksKept is how many error-like lines are kept from the beginning, and how many from
	// the end, of the part that is cut out.
	marksKept = 10
	// markBytes is how much of such a line is kept.
	markBytes = 300
	// marksScan is how many bytes are searched: on a flood of output the search must not cost
	// more than the copying.
	marksScan = 32 << 20
)

// errorWords occur in error messages of all programs. Most lack their first letter, so that
// they match in upper and lower case. Their total length is less than wordSeen.
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

	// The beginning of a line whose end has not come yet, and the automaton's state in it.
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

// begin takes the beginning of a line whose end has not come yet.
func (m *marks) begin(data []byte) {
	m.part = append(m.part, data[:min(len(data), markBytes-len(m.part))]...)
	words := errorAutomaton()
	for i := 0; i < len(data) && !m.hit; i++ {
		m.state = words[m.state][data[i]]
		m.hit = m.state&wordSeen != 0
	}
}

// lines searches whole lines.
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

// wordSeen is the bit of the states in which a word is complete.
const wordSeen = 0x80

// errorAutomaton finds all errorWords in one pass (Aho-Corasick). It maps a state and a
// byte to the next state. State 0 is the start.
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
	// fall is the failure link: the state of the longest proper suffix that begins a word.
	// States are visited breadth first, so that state is complete already.
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
