package patch

import (
	"bytes"
	"slices"
	"strings"
)

const bom = "\ufeff"

// UTF16 reports whether data begins with a byte order mark of UTF-16 and has a zero byte, as each line end there.
func UTF16(data []byte) bool {
	return (bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))) && bytes.IndexByte(data, 0) > 0
}

// text is a file as lines. Each keeps its own line ending, so that what a patch
// does not name stays as it was, byte for byte.
type text struct {
	bom   bool
	lines []string
	// eols[i] is "\n", "\r\n", or "" for a last line without one.
	eols []string
	// eol is the line ending of a new line without a neighbour.
	eol string
}

func splitText(data []byte) text {
	s := string(data)
	var t text
	s, t.bom = strings.CutPrefix(s, bom)
	n := strings.Count(s, "\n") + 1
	t.lines, t.eols = make([]string, 0, n), make([]string, 0, n)
	crlf, lf := 0, 0
	for s != "" {
		line, rest, found := strings.Cut(s, "\n")
		eol := ""
		if found {
			eol = "\n"
			lf++
			if strings.HasSuffix(line, "\r") {
				line, eol = line[:len(line)-1], "\r\n"
				crlf, lf = crlf+1, lf-1
			}
		}
		t.lines, t.eols = append(t.lines, line), append(t.eols, eol)
		s = rest
	}
	t.eol = "\n"
	if crlf > lf {
		t.eol = "\r\n"
	}
	return t
}

func (t text) crlf() bool { return slices.Contains(t.eols, "\r\n") }

// edits is what hunks do to a text, in terms of its own lines.
type edits struct {
	deleted []bool
	// before[i] are new lines in front of line i; before[len(lines)] at the end.
	before map[int][]string
	final  Final
}

func (t text) apply(e edits) []byte {
	var b bytes.Buffer
	if t.bom {
		b.WriteString(bom)
	}
	// pending is the ending of the line written last. It is held back because
	// the last line of all may have to go without, and one that was last and
	// had none needs one.
	pending, any := "", false
	put := func(line, eol string) {
		if any {
			if pending == "" {
				pending = t.eol
			}
			b.WriteString(pending)
		}
		b.WriteString(line)
		pending, any = eol, true
	}
	for i := 0; i <= len(t.lines); i++ {
		for _, l := range e.before[i] {
			put(l, t.neighbour(i))
		}
		if i < len(t.lines) && !e.deleted[i] {
			put(t.lines[i], t.eols[i])
		}
	}
	final := len(t.lines) == 0 || t.eols[len(t.lines)-1] != ""
	switch e.final {
	case FinalNewline:
		final = true
	case FinalNone:
		final = false
	}
	if any && final {
		if pending == "" {
			pending = t.eol
		}
		b.WriteString(pending)
	}
	return b.Bytes()
}

// neighbour is the line ending for a new line before line i: that of the line above,
// which may be replaced, else of the line below.
func (t text) neighbour(i int) string {
	if i > 0 && t.eols[i-1] != "" {
		return t.eols[i-1]
	}
	if i < len(t.lines) && t.eols[i] != "" {
		return t.eols[i]
	}
	return t.eol
}
