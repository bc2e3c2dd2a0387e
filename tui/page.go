package tui

import "time"

// page shows a whole question over the transcript. It takes the same
// answers, and rows that were scrolled through count as seen.
type page struct {
	q    *question
	home string
	now  func() time.Time
	top  int
	room int // rows of the page that was drawn last
}

func newPage(q *question, home string, now func() time.Time) *page {
	return &page{q: q, home: home, now: now}
}

// scroll moves by at most a page, so that only a jump to an end skips rows.
func (p *page) scroll(by int) {
	if by != everything {
		by = min(by, p.room)
	}
	p.top = max(p.top+by, 0)
}

func (p *page) view(t *theme, w, h int) (lines []string, x, y int) {
	r := p.q.rolled(t, w, p.home, limits{}, p.now(), 0)
	// The last page is full.
	for p.top > 0 && p.q.fit(t, r, p.top-1, h, p.now()).below == 0 {
		p.top = min(p.top-1, len(r.rows)-1)
	}
	d := p.q.fit(t, r, p.top, h, p.now())
	p.room = max(d.body-1, 1) // a row of the page before stays in view
	p.q.onScreen(d)
	for len(d.lines) < h {
		d.lines = append(d.lines, "")
	}
	return d.lines[:h], d.x, d.y
}
