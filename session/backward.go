package session

import (
	"bytes"
	"fmt"
	"io"
)

// chunk is how many bytes are read at once; the first reads are smaller, because most
// callers need only the last lines.
const (
	chunk      = 256 << 10
	firstChunk = 8 << 10
)

// backward reads the lines of a file from its end, so that reading the last records costs the
// same in a session of two hundred megabytes as in one of two.
type backward struct {
	r io.ReaderAt
	// The unread lines are in [start, pos); pos is after a newline.
	start, pos int64

	// offset and line are the line that next has found. A line longer than maxLine is nil.
	offset int64
	line   []byte
	err    error

	buf   []byte // the bytes of the file from bufAt on
	bufAt int64
	size  int64 // size of the last read
}

// next finds the previous line, and reports whether there is one.
func (b *backward) next() bool {
	if b.err != nil || b.pos <= b.start {
		return false
	}
	if b.pos > b.bufAt+int64(len(b.buf)) || b.pos <= b.bufAt {
		b.size = min(max(2*b.size, firstChunk), chunk)
		if !b.fill(max(b.start, b.pos-b.size), b.pos) {
			return false
		}
	}
	end := b.pos - 1 // its newline
	for size := 2 * b.size; ; size *= 2 {
		i := bytes.LastIndexByte(b.buf[:end-b.bufAt], '\n')
		if i >= 0 || b.bufAt <= b.start {
			b.offset = b.bufAt + int64(i) + 1
			b.line = b.buf[i+1 : end-b.bufAt]
			if len(b.line) > maxLine {
				b.line = nil
			}
			b.pos = b.offset
			return true
		}
		if end-b.bufAt > maxLine {
			b.line, b.buf = nil, nil // it is longer than any record
			b.offset, b.err = lastNewline(b.r, b.start, end)
			b.pos = b.offset
			return b.err == nil
		}
		if !b.fill(max(b.start, b.pos-size), b.pos) {
			return false
		}
	}
}

func (b *backward) fill(from, to int64) bool {
	n := int(to - from)
	if cap(b.buf) < n {
		b.buf = make([]byte, n)
	}
	b.buf, b.bufAt = b.buf[:n], from
	if _, err := b.r.ReadAt(b.buf, from); err != nil {
		b.err = fmt.Errorf("read the session: %w", err)
		return false
	}
	return true
}
