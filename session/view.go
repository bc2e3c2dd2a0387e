package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"codeagent/model"
)

// view is a file opened for reading: its head, and its records in [start, end). An incomplete
// last line, without a newline, is after end.
type view struct {
	f          io.ReaderAt
	head       head
	start, end int64
}

// maxHead is the longest first line: a path and the beginning of a message.
const maxHead = 16 << 10

// look reads the head and finds the end. The head may be known even if there is an error.
func look(f *os.File) (view, error) {
	info, err := f.Stat()
	if err != nil {
		return view{}, err
	}
	v := view{f: f}
	if v.head, v.start, err = readHead(f); err != nil {
		return v, err
	}
	v.end, err = lastNewline(f, v.start, info.Size())
	return v, err
}

// readHead reads the first line and returns where the second begins.
func readHead(f io.ReaderAt) (head, int64, error) {
	buf := make([]byte, 4<<10)
	n, err := f.ReadAt(buf, 0)
	i := bytes.IndexByte(buf[:n], '\n')
	if i < 0 && err == nil {
		buf = make([]byte, maxHead)
		n, err = f.ReadAt(buf, 0)
		i = bytes.IndexByte(buf[:n], '\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return head{}, 0, err
	}
	if i < 0 {
		return head{}, 0, errors.New("it is damaged: it does not begin like a session")
	}
	h, err := decodeHead(buf[:i])
	return h, int64(i) + 1, err
}

// lastNewline returns the position after the last newline in [start, size).
func lastNewline(f io.ReaderAt, start, size int64) (int64, error) {
	b := backward{r: f}
	for at, n := size, int64(firstChunk); at > start; n = chunk {
		if !b.fill(max(start, at-n), at) {
			return 0, b.err
		}
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 {
			return b.bufAt + int64(i) + 1, nil
		}
		at = b.bufAt
	}
	return start, nil
}

// found is a record found while reading backward.
type found struct {
	offset, size int64
	kind         string
	line         []byte // valid until the next record
}

// live yields the records of the conversation, last first, without those that a "back" record
// removes. The second value is set for a line that cannot be read, and at the end for an
// error of the file.
func (v view) live() iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		b := &backward{r: v.f, start: v.start, pos: v.end}
		for b.next() {
			r := found{offset: b.offset, size: int64(len(b.line)) + 1, kind: kindOf(b.line), line: b.line}
			if r.kind == kindBack {
				to, err := v.target(r)
				if err == nil {
					b.pos = to
					continue
				}
				r.kind = ""
			}
			var err error
			if r.kind == "" {
				err = errDamaged
			}
			if !yield(r, err) {
				return
			}
		}
		if b.err != nil {
			yield(found{}, b.err)
		}
	}
}

// errDamaged marks a line that is not a record.
var errDamaged = errors.New("a record is damaged")

// target returns the position that a back record leads to. It is before the record, so that
// reading always ends, and at the beginning of a line.
func (v view) target(r found) (int64, error) {
	var back record
	if err := json.Unmarshal(r.line, &back); err != nil {
		return 0, errDamaged
	}
	to := r.offset - back.Bytes
	if back.Bytes <= 0 || to < v.start {
		return 0, errDamaged
	}
	var before [1]byte
	if _, err := v.f.ReadAt(before[:], to-1); err != nil || before[0] != '\n' {
		return 0, errDamaged
	}
	return to, nil
}

func (v view) label() (Label, error) {
	r, err := v.last(hasTitle, v.start)
	return r.Label, err
}

// total is what all runs used: nothing before the first turn, nil where the last turn does not say.
func (v view) total() (*model.Usage, error) {
	r, err := v.last(func(kind string) bool { return kind == kindTurn }, v.start)
	if r.Kind == "" {
		return new(model.Usage), err
	}
	return r.Total, err
}

// last decodes the last record of a kind, removed or not, at or after from; the zero record
// without one.
func (v view) last(kind func(string) bool, from int64) (record, error) {
	b := &backward{r: v.f, start: v.start, pos: v.end}
	for b.pos > from && b.next() {
		if !kind(kindOf(b.line)) {
			continue
		}
		var r record
		if json.Unmarshal(b.line, &r) == nil {
			return r, nil
		}
	}
	return record{}, b.err
}

// before returns the position of message n, from 1, without removed ones.
func (v view) before(n int) (int64, error) {
	said, err := v.said()
	if err == nil && (n < 1 || n > len(said)) {
		err = fmt.Errorf("there is no message %d: the session has %d", n, len(said))
	}
	if err != nil {
		return 0, err
	}
	return said[n-1].offset, nil
}

// items yields all items that were not removed, first to last, with their times, and each
// summary at the position where it replaced what came before. It skips what cannot be read.
func (v view) items() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var all []found
		for r, err := range v.live() {
			if err != nil && !errors.Is(err, errDamaged) {
				yield(record{}, err)
				return
			}
			if isItem(r.kind) || r.kind == kindCompacted {
				all = append(all, found{offset: r.offset, size: r.size})
			}
		}
		for _, at := range slices.Backward(all) {
			line := make([]byte, at.size)
			if _, err := v.f.ReadAt(line, at.offset); err != nil {
				yield(record{}, fmt.Errorf("read the session: %w", err))
				return
			}
			var r record
			if json.Unmarshal(line, &r) != nil {
				continue
			}
			if i := slices.IndexFunc(r.Items, isSummary); r.Kind == kindCompacted && i >= 0 {
				r.Item = &r.Items[i]
			}
			if r.Item != nil && !yield(r, nil) {
				return
			}
		}
	}
}
