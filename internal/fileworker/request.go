package fileworker

import "io/fs"

// The operations: the first field of a request.
const (
	opStat     = "stat"
	opRead     = "read"
	opList     = "list"
	opWrite    = "write"
	opRemove   = "remove"
	opRename   = "rename"
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
	// flag is "replace" for rename and "parents" for mkdir.
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
		e.str(l.Path)
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
		l := Listing{Path: d.str(), More: d.flag(), Err: d.err()}
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
