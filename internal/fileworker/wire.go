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

// encoder appends fields.
type encoder struct{ b []byte }

func (e *encoder) num(v int64)  { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) str(s string) { e.num(int64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) data(d []byte) {
	e.num(int64(len(d)))
	e.b = append(e.b, d...)
}

func (e *encoder) flag(v bool) {
	if v {
		e.num(1)
	} else {
		e.num(0)
	}
}

// decoder reads fields from the front. After the first malformed field, bad is set and every
// further field has its zero value.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) num() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) fail() { d.bad, d.b = true, nil }

// data returns a part of the frame itself, not a copy.
func (d *decoder) data() []byte {
	n := d.num()
	if n < 0 || n > int64(len(d.b)) {
		d.fail()
		return nil
	}
	part := d.b[:n:n]
	d.b = d.b[n:]
	return part
}

func (d *decoder) str() string { return string(d.data()) }
func (d *decoder) flag() bool  { return d.num() != 0 }

// count reads the number of the following items; each takes at least one byte.
func (d *decoder) count() int {
	n := d.num()
	if n < 0 || n > int64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

// done reports whether the frame was well formed and completely read.
func (d *decoder) done() bool { return !d.bad && len(d.b) == 0 }

func (e *encoder) strs(list []string) {
	e.num(int64(len(list)))
	for _, s := range list {
		e.str(s)
	}
}

func (d *decoder) strs() []string {
	n := d.count()
	if n > MaxPaths {
		d.fail()
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.str())
	}
	return list
}

func (e *encoder) info(i Info) {
	e.str(string(i.Type))
	e.num(int64(i.Mode))
	e.num(i.Size)
	e.str(i.Version)
}

func (e *encoder) err(err *Error) {
	e.flag(err != nil)
	if err == nil {
		return
	}
	e.str(err.Op)
	e.str(err.Path)
	e.str(string(err.Kind))
	e.str(err.Errno)
	e.str(err.Text)
}

func (d *decoder) err() *Error {
	if !d.flag() {
		return nil
	}
	return &Error{Op: d.str(), Path: d.str(), Kind: Kind(d.str()), Errno: d.str(), Text: d.str()}
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

func (q *request) encode() []byte {
	e := encoder{b: make([]byte, 0, len(q.data)+len(q.expect.Content)+len(q.path)+256)}
	e.str(q.op)
	e.str(q.path)
	e.str(q.to)
	e.strs(q.paths)
	e.num(q.offset)
	e.num(q.limit)
	e.num(int64(q.mode))
	e.flag(q.expect.Absent)
	e.flag(q.expect.Content != nil)
	e.data(q.expect.Content)
	e.str(q.expect.Version)
	e.flag(q.expect.Parents)
	e.flag(q.flag)
	e.data(q.data)
	return e.b
}

func decodeRequest(body []byte) (*request, bool) {
	d := decoder{b: body}
	q := &request{op: d.str(), path: d.str(), to: d.str(), paths: d.strs(), offset: d.num(), limit: d.num()}
	q.mode = fs.FileMode(d.num()).Perm()
	q.expect.Absent = d.flag()
	known := d.flag()
	if content := d.data(); known {
		q.expect.Content = content
	}
	q.expect.Version, q.expect.Parents = d.str(), d.flag()
	q.flag = d.flag()
	q.data = d.data()
	return q, d.done()
}

// answer is the result of an operation, which determines the fields that are used.
type answer struct {
	err      *Error
	info     Info
	data     []byte
	listings []Listing
	contents []content
}

func (a *answer) encode() []byte {
	e := encoder{b: make([]byte, 0, len(a.data)+256)}
	e.err(a.err)
	e.info(a.info)
	e.num(int64(len(a.listings)))
	for _, l := range a.listings {
		e.flag(l.More)
		e.err(l.Err)
		e.num(int64(len(l.Entries)))
		for _, n := range l.Entries {
			e.str(n.Name)
			e.str(string(n.Type))
		}
	}
	e.num(int64(len(a.contents)))
	for _, c := range a.contents {
		e.num(int64(c.state))
		e.data(c.data)
	}
	e.data(a.data)
	return e.b
}

func decodeAnswer(body []byte) (*answer, bool) {
	d := decoder{b: body}
	a := &answer{err: d.err()}
	a.info = Info{Type: Type(d.str()), Mode: fs.FileMode(d.num()), Size: d.num(), Version: d.str()}
	for range d.count() {
		l := Listing{More: d.flag(), Err: d.err()}
		for range d.count() {
			l.Entries = append(l.Entries, Entry{Name: d.str(), Type: Type(d.str())})
		}
		a.listings = append(a.listings, l)
	}
	for range d.count() {
		a.contents = append(a.contents, content{state: contentState(d.num()), data: d.data()})
	}
	a.data = d.data()
	return a, d.done()
}
