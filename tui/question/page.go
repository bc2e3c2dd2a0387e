package question

import (
	"slices"
	"time"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// Page shows a whole question over the transcript. It takes the same
// answers, and rows that were scrolled through count as seen.
type Page struct {
	part.Still
	Q    *Question
	home string
	now  func() time.Time
	top  int
	Room int  // rows of the page that was drawn last
	next bool // the next drawing begins at what was not seen
}

// NewPage shows q from its beginning.
func NewPage(q *Question, home string, now func() time.Time) *Page {
	return &Page{Q: q, home: home, now: now}
}

// Scroll moves by at most a page, so that only a jump to an end skips rows.
func (p *Page) Scroll(by int) {
	if by != paint.Everything {
		by = min(by, p.Room)
	}
	p.top = max(p.top+by, 0)
}

// Next moves to the first row that must still be seen, below one that was, else by a page.
func (p *Page) Next() {
	p.next, p.Q.early = p.Q.Unread(), false
	if !p.next {
		p.Scroll(p.Room)
	}
}

// Key takes a key that is no answer.
func (p *Page) Key(k keys.Key) (part.Intent, bool) {
	switch do := p.Q.keys.Find(k, keys.InOverlay, keys.Everywhere); do {
	case keys.Close, keys.Back, keys.Toggle:
		return part.Show{}, true
	case keys.PageUp:
		p.Scroll(-p.Room)
	case keys.PageDown:
		p.Next()
	default:
		return part.Act(do), true
	}
	return nil, true
}

// View draws exactly h lines and records what they show as seen.
func (p *Page) View(t *paint.Theme, w, h int) (lines []string, x, y int) {
	r := p.Q.rolled(t, w, h, p.home, limits{}, p.now(), 0)
	if p.next {
		p.top, p.next = slices.IndexFunc(r.rows, func(one row) bool { return !p.Q.seen.Has(one.at) }), false
		if p.top = max(p.top, 0); p.top > 0 && p.Room > 1 {
			p.top--
		}
	}
	// The last page is full.
	for p.top > 0 && p.Q.fit(t, r, p.top-1, h, p.now()).below == 0 {
		p.top = min(p.top-1, len(r.rows)-1)
	}
	d := p.Q.fit(t, r, p.top, h, p.now())
	p.Room = max(d.body-1, 1) // a row of the page before stays in view
	p.Q.onScreen(d)
	for len(d.Lines) < h {
		d.Lines = append(d.Lines, "")
	}
	return d.Lines[:h], d.X, d.Y
}
