package question

import (
	"time"

	"codeagent/tui/paint"
)

// Page shows a whole question over the transcript. It takes the same
// answers, and rows that were scrolled through count as seen.
type Page struct {
	Q    *Question
	home string
	now  func() time.Time
	top  int
	Room int // rows of the page that was drawn last
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

// View draws exactly h lines and records what they show as seen.
func (p *Page) View(t *paint.Theme, w, h int) (lines []string, x, y int) {
	r := p.Q.rolled(t, w, p.home, limits{}, p.now(), 0)
	// The last page is full.
	for p.top > 0 && p.Q.fit(t, r, p.top-1, h, p.now()).below == 0 {
		p.top = min(p.top-1, len(r.rows)-1)
	}
	d := p.Q.fit(t, r, p.top, h, p.now())
	p.Room = max(d.body-1, 1) // a row of the page before stays in view
	p.Q.OnScreen(d)
	for len(d.Lines) < h {
		d.Lines = append(d.Lines, "")
	}
	return d.Lines[:h], d.X, d.Y
}
