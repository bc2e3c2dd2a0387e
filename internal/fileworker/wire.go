package fileworker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
)

// A frame is a length (4 bytes, big endian) and that many bytes: consecutive fields, with
// numbers as varints, and strings and contents with their length before them. It is not JSON,
// since file names are bytes and must arrive unchanged.

// ErrFrame reports a frame that is too long, cut short or not well formed.
var ErrFrame = errors.New("file worker: malformed frame")

func writeFrame(w io.Writer, body []byte) error {
	if len(body) > maxFrame {
		return ErrFrame
	}
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(body)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// readFrame returns io.EOF only between frames. Its memory grows with the bytes that arrive,
// not with the announced length.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			return nil, ErrFrame
		}
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > maxFrame {
		return nil, ErrFrame
	}
	if size <= 64<<10 {
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, ErrFrame
		}
		return body, nil
	}
	var b bytes.Buffer
	if n, err := io.CopyN(&b, r, size); n != size || err != nil {
		return nil, ErrFrame
	}
	return b.Bytes(), nil
}

// wire is a frame that is written, or read from the front: a message lists its fields once, for both. After
// the first malformed field, bad is set and every further field has its zero value.
type wire struct {
	b       []byte
	reading bool
	bad     bool
}

// message is a request or an answer.
type message interface{ fields(w *wire) }

func encode(m message) []byte {
	var w wire
	m.fields(&w)
	return w.b
}

// decode reports whether body is well formed and completely read.
func decode(body []byte, m message) bool {
	w := wire{b: body, reading: true}
	m.fields(&w)
	return !w.bad && len(w.b) == 0
}

func (w *wire) fail() { w.bad, w.b = true, nil }

func number[N ~int | ~int64 | ~uint32](w *wire, v *N) {
	if !w.reading {
		w.b = binary.AppendVarint(w.b, int64(*v))
		return
	}
	n, size := binary.Varint(w.b)
	if size <= 0 {
		w.fail()
		n, size = 0, 0
	}
	*v, w.b = N(n), w.b[size:]
}

func (w *wire) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	number(w, &n)
	*v = n != 0
}

// count is the number of what follows, at most most; each takes at least one byte.
func (w *wire) count(n, most int) int {
	if number(w, &n); n < 0 || n > most || w.reading && n > len(w.b) {
		w.fail()
		return 0
	}
	return n
}

// data reads a part of the frame itself, not a copy.
func (w *wire) data(v *[]byte) {
	n := w.count(len(*v), maxFrame)
	if !w.reading {
		w.b = append(w.b, *v...)
		return
	}
	*v, w.b = w.b[:n:n], w.b[n:]
}

func text[S ~string](w *wire, v *S) {
	if !w.reading {
		w.count(len(*v), maxFrame)
		w.b = append(w.b, *v...)
		return
	}
	var b []byte
	w.data(&b)
	*v = S(b)
}

func list[T any](w *wire, items *[]T, most int, each func(*T)) {
	n := w.count(len(*items), most)
	for i := 0; i < n && !w.bad; i++ {
		if w.reading {
			*items = append(*items, *new(T))
		}
		each(&(*items)[i])
	}
}

func (w *wire) err(e **Error) {
	is := *e != nil
	if w.flag(&is); !is {
		return
	}
	if w.reading {
		*e = &Error{}
	}
	text(w, &(*e).Op)
	text(w, &(*e).Path)
	text(w, &(*e).Kind)
	text(w, &(*e).Errno)
	text(w, &(*e).Text)
}

// The operations: the first field of a request.
const (
	opStat     = "stat"
	opRead     = "read"
	opList     = "list"
	opWrite    = "write"
	opRemove   = "remove"
	opMkdir    = "mkdir"
	opReadMany = "grep"
	opPut      = "put"
	opChmod    = "chmod"
	opSymlink  = "symlink"
)

// request is one request; op determines which fields are used.
type request struct {
	op            string
	path, to      string
	paths         []string
	offset, limit int64
	mode          fs.FileMode
	expect        Expect
	// flag is "parents" for mkdir.
	flag bool
	data []byte
}

func (q *request) fields(w *wire) {
	text(w, &q.op)
	text(w, &q.path)
	text(w, &q.to)
	list(w, &q.paths, MaxPaths, func(p *string) { text(w, p) })
	number(w, &q.offset)
	number(w, &q.limit)
	number(w, &q.mode)
	q.mode = q.mode.Perm()
	w.flag(&q.expect.Absent)
	known := q.expect.Content != nil
	w.flag(&known)
	if w.data(&q.expect.Content); !known {
		q.expect.Content = nil
	}
	text(w, &q.expect.Version)
	w.flag(&q.expect.Parents)
	w.flag(&q.flag)
	w.data(&q.data)
}

// answer is the result of an operation, which determines the fields that are used.
type answer struct {
	err      *Error
	info     Info
	data     []byte
	listings []Listing
	contents []content
}

func (a *answer) fields(w *wire) {
	w.err(&a.err)
	text(w, &a.info.Type)
	number(w, &a.info.Mode)
	number(w, &a.info.Size)
	text(w, &a.info.Version)
	list(w, &a.listings, maxFrame, func(l *Listing) {
		w.flag(&l.More)
		w.err(&l.Err)
		list(w, &l.Entries, maxFrame, func(e *Entry) {
			text(w, &e.Name)
			text(w, &e.Type)
		})
	})
	list(w, &a.contents, maxFrame, func(c *content) {
		number(w, &c.state)
		w.data(&c.data)
	})
	w.data(&a.data)
}
