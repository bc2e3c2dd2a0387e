package reader

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/transcript"
)

// Pager shows a file with the whole output of a command, however long it is. It holds a window of the
// file around what is in view, and asks for another one when the reader comes near its edge.
//
// The file is read in units, which begin at the same bytes in every window: a unit is a line, or a part
// of a very long one. It begins behind a newline, and at each multiple of mostUnit before which as many
// bytes have none.
type Pager struct {
	finder
	title, file string
	under       *Reader
	read        File
	data        []byte // of the file, from from on, which begins a unit
	from, size  int64
	top         spot
	goal        int64 // where to go when that is in the window; -1: nowhere
	found       bool  // the goal is what was found
	at          int64 // of what was found last, -1: nothing
	busy        bool  // the file is read
	problem     string
	t           *paint.Theme // of the last drawing, as the size
	w, room     int
}

// spot is a row of a unit.
type spot struct {
	at  int64
	row int
}

const (
	mostUnit = 8 << 10
	window   = 32 * mostUnit
	margin   = window / 4
	// piece is how much of the file is searched at once.
	piece = 1 << 20
)

// File fills data from byte at on of a file with the whole output of a command. It returns how much that
// was, less only at the end of the file, and the file's size.
type File func(ctx context.Context, name string, data []byte, at int64) (n int, size int64, err error)

func newPager(under *Reader, title, file string) *Pager {
	c := under.canvas()
	return &Pager{finder: finder{keys: under.keys}, title: title, file: file, under: under, read: under.file, goal: -1, at: -1, t: c.Theme, w: c.Width}
}

func (p *Pager) end() int64 { return p.from + int64(len(p.data)) }

// covers reports whether the window holds enough around a place to draw it.
func (p *Pager) covers(at int64) bool {
	return p.data != nil && at >= p.from && at <= p.end() && (p.from == 0 || at-p.from >= margin) && (p.end() >= p.size || p.end()-at >= margin)
}

// Load reads another window, if one is needed.
func (p *Pager) Load() part.Intent {
	centre := p.top.at
	if p.goal >= 0 {
		centre = p.goal
	}
	if p.busy || p.problem != "" || p.covers(centre) {
		return nil
	}
	p.busy = true
	start := max(centre-window/2, 0)
	return part.Beside(func(ctx context.Context) func() part.Intent {
		data := make([]byte, window)
		n, size, err := p.read(ctx, p.file, data, start)
		return func() part.Intent {
			p.busy = false
			p.take(data[:n], start, size, err)
			return nil
		}
	})
}

// take makes what was read from start on the window.
func (p *Pager) take(data []byte, start, size int64, err error) {
	if err != nil {
		p.problem = err.Error()
		return
	}
	skip := 0
	if start > 0 {
		if i := bytes.IndexByte(data[:min(len(data), 2*mostUnit)], '\n'); i >= 0 {
			skip = i + 1
		} else {
			skip = min(int((start+mostUnit-1)/mostUnit*mostUnit+mostUnit-start), len(data))
		}
	}
	if len(data) < window { // it was cut meanwhile
		size = min(size, start+int64(len(data)))
	}
	p.data, p.from, p.size = data[skip:], start+int64(skip), size
	p.top.at, p.goal = min(max(p.top.at, p.from), p.end(), size), min(p.goal, size)
	p.settle()
}

// next is where the unit behind the one at at begins.
func (p *Pager) next(at int64) int64 {
	next := min((at+mostUnit-1)/mostUnit*mostUnit+mostUnit, p.end())
	if i := bytes.IndexByte(p.data[at-p.from:next-p.from], '\n'); i >= 0 {
		next = at + int64(i) + 1
	}
	return next
}

// unit is where the unit that holds the byte at at begins.
func (p *Pager) unit(at int64) int64 {
	begin := p.from + int64(bytes.LastIndexByte(p.data[:at-p.from], '\n')+1)
	for begin < at {
		next := p.next(begin)
		if next > at {
			break
		}
		begin = next
	}
	return begin
}

// rows draws the part of the file from a to b.
func (p *Pager) rows(a, b int64) []string {
	text := strings.TrimRight(string(p.data[a-p.from:b-p.from]), "\r\n")
	var out []string
	for _, l := range paint.Printed(text, paint.Text) {
		out = append(out, paint.Wrapper{Theme: p.t, Width: p.w, Hard: true}.Lines(l...)...)
	}
	if len(out) == 0 {
		out = []string{""}
	}
	return out
}

// settle goes to the goal.
func (p *Pager) settle() {
	if p.goal < 0 || !p.covers(p.goal) {
		return
	}
	p.top = spot{at: p.unit(min(p.goal, p.end()))}
	if p.found {
		p.top.row = len(p.rows(p.top.at, min(p.goal+1, p.end()))) - 1
		p.up(p.room / 3)
	}
	p.goal, p.found = -1, false
}

func (p *Pager) jump(at int64, found bool) {
	p.goal, p.found = at, found
	p.settle()
}

// Scroll moves the page by n rows; by all rows to one of its ends.
func (p *Pager) Scroll(by int) {
	switch {
	case by <= -paint.Everything:
		p.jump(0, false)
	case by >= paint.Everything:
		p.jump(p.size, false)
	case by < 0:
		p.up(-by)
	default:
		p.down(by)
	}
}

func (p *Pager) up(n int) {
	for n > 0 && (p.top.row > 0 || p.top.at > p.from) {
		if p.top.row == 0 {
			at := p.top.at
			p.top.at = p.unit(at - 1)
			p.top.row = len(p.rows(p.top.at, at))
		}
		by := min(n, p.top.row)
		p.top.row, n = p.top.row-by, n-by
	}
}

func (p *Pager) down(n int) {
	for p.top.at < p.end() {
		next := p.next(p.top.at)
		rows := len(p.rows(p.top.at, next))
		if p.top.row+n < rows || next >= p.end() {
			p.top.row = min(p.top.row+n, rows-1)
			return
		}
		n -= rows - p.top.row
		p.top = spot{at: next}
	}
}

// page are the rows in view, at most h.
func (p *Pager) page(h int) []string {
	var out []string
	for at, skip := p.top.at, p.top.row; at < p.end() && len(out) < h; skip = 0 {
		next := p.next(at)
		rows := p.rows(at, next)
		out = append(out, rows[min(skip, len(rows)-1):]...)
		at = next
	}
	return out[:min(len(out), h)]
}

// View draws the page below its title, and the field in the last line.
func (p *Pager) View(t *paint.Theme, w, h int) (out []string, x, y int) {
	p.t, p.w, p.room = t, max(w-paint.Gutter-1, 1), max(h-2, 1)
	out = append(out, p.head(t, w, p.title))
	last, x, y := p.line(t, w, h)
	var lines []string
	switch {
	case p.problem != "":
		lines = t.Wrap(p.w, paint.Warn.Span(p.problem))
	case p.data == nil:
		lines = []string{t.Paint(paint.Dim, "…")}
	case p.size == 0:
		lines = []string{t.Paint(paint.Dim, "no output")}
	default:
		lines = p.page(p.room)
		if short := p.room - len(lines); short > 0 && p.end() >= p.size {
			p.up(short)
			lines = p.page(p.room)
		}
		for i, l := range lines {
			lines[i] = transcript.Marked(l, p.text)
		}
		if last == "" {
			last = t.Row(w-1, paint.Dim.Span("  "+paint.Count(int(p.top.at*100/p.size))+" %"))
		}
	}
	out = append(out, paint.Indent(lines[:min(len(lines), p.room)])...)
	for len(out) < h-1 {
		out = append(out, "")
	}
	return append(out, last)[:h], x, y
}

// Key takes a key.
func (p *Pager) Key(k keys.Key) (part.Intent, bool) {
	if p.field != nil {
		searches, handled := p.write(k)
		if searches {
			p.at = -1
			return p.find(false), true
		}
		return nil, handled
	}
	switch do := p.keys.Find(k, keys.InReading, keys.InOverlay, keys.Everywhere); do {
	case keys.Find:
		p.ask()
	case keys.Next, keys.Previous:
		return p.find(do == keys.Previous), true
	case keys.Close, keys.Back, keys.Toggle:
		return part.Show{Overlay: p.under}, true
	case keys.Copy, keys.Read, keys.Above, keys.Below:
	default:
		return part.Act(do), true
	}
	return nil, true
}

// find goes to the next place with the text, or with back to the one before, round the end of the file.
func (p *Pager) find(back bool) part.Intent {
	if p.text == "" || p.busy {
		return nil
	}
	at := p.at
	if at < 0 {
		at = p.top.at - 1
	}
	p.busy = true
	text, file, size := []byte(p.text), p.file, p.size
	return part.Beside(func(ctx context.Context) func() part.Intent {
		found, err := search(func(data []byte, at int64) (int, error) {
			n, _, err := p.read(ctx, file, data, at)
			return n, err
		}, text, at, size, back)
		return func() part.Intent {
			p.busy, p.missed = false, errors.Is(err, errMissed)
			switch {
			case p.missed:
			case err != nil:
				p.problem = err.Error()
			default:
				p.at = found
				p.jump(found, true)
			}
			return nil
		}
	})
}

var errMissed = errors.New("the text is nowhere")

// search looks for text in a file of size bytes behind at, or with back before it, and then in the rest.
// Capitals of ASCII do not matter. It holds one piece of the file at a time.
func search(read func(data []byte, at int64) (int, error), text []byte, at, size int64, back bool) (int64, error) {
	text = lower(bytes.Clone(text))
	data := make([]byte, piece+len(text))
	over := int64(len(text) - 1)                // a place may lie across the edge of two pieces
	in := func(from, to int64) (int64, error) { // the places that begin there
		for from < to {
			begin, stop := from, min(from+piece, to)
			if back {
				begin, stop = max(to-piece, from), to
			}
			n, err := read(data[:min(stop-begin+over, size-begin)], begin)
			if err != nil {
				return 0, err
			}
			index := bytes.Index
			if back {
				index = bytes.LastIndex
			}
			if i := index(lower(data[:n]), text); i >= 0 {
				return begin + int64(i), nil
			}
			if back {
				to = begin
			} else {
				from = stop
			}
		}
		return 0, errMissed
	}
	first, second := [2]int64{at + 1, size}, [2]int64{0, min(at+1, size)}
	if back {
		first, second = [2]int64{0, max(at, 0)}, [2]int64{max(at, 0), size}
	}
	found, err := in(first[0], first[1])
	if errors.Is(err, errMissed) {
		return in(second[0], second[1])
	}
	return found, err
}

func lower(b []byte) []byte {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}
