// Package transcript is the conversation on the screen: it takes events, keeps one
// entry for each message, call or notice, and draws the visible ones. It performs no
// IO. Start with Transcript.Apply; bodies.go and tool.go draw the entries, anchor.go keeps
// what is read where it is, page.go is the whole transcript to read.
package transcript

import (
	"time"

	"codeagent/tui/home"
	"codeagent/tui/paint"
)

// Canvas is what a body needs to draw itself.
type Canvas struct {
	Theme *paint.Theme
	Width int
	// Home is shortened to ~ in shown paths. Folder is the workspace.
	Home, Folder string
	// open draws everything, not the summary; whole sets no bound to it.
	open, whole bool
	Now         time.Time
	// Frame counts the spinner's steps; -1: it does not move.
	Frame int
	// Seq numbers the drawings of the screen.
	Seq int
	// Lines: what is drawn is written in lines, and no key opens it.
	Lines bool
}

// Body is the content of an entry: a message, a tool call, a notice. draw returns
// its lines with the gutter, none wider than the canvas; it must not change returned
// lines later.
type Body interface{ Draw(c Canvas) []string }

// entry is a body's place in the transcript, with its drawn lines.
type entry struct {
	body Body
	open bool
	// moving entries show a time or a spinner and are drawn again each frame.
	moving bool

	stale   bool
	version int // counts the changes
	theme   *paint.Theme
	width   int
	seq     int
	drawn   []string
	counted int // lines that count as warm
}

// Entries keep their drawn lines until warmLines are drawn after them: many screens. Others are
// drawn again when they are scrolled to. The last fewWarm entries keep theirs however long they are,
// because they may all be on the screen.
const (
	warmLines = 10_000
	fewWarm   = 8
)

// Transcript is the conversation: what events did to a list of entries.
type Transcript struct {
	list
	stream
	Home  home.Facts // for where it opens
	now   func() time.Time
	asked []*question // the permissions of this session
}

// New is an empty transcript; now is the clock.
func New(now func() time.Time) Transcript {
	return Transcript{now: now, list: list{Follow: true}, stream: stream{tools: map[string]call{}, ends: map[string]*entry{}}}
}

// list is entries one below the other, and the view of them. Only the visible ones are
// drawn: a place is an entry and a line of it, and every movement walks from the current
// place. A frame costs the same after ten entries and after ten thousand.
type list struct {
	entries []*entry
	// Follow keeps the end in view; else top is the first visible line.
	Follow bool
	top    place
	held   anchor
	// width and height are those of the last View.
	width, Height int
	warm          []*entry // those with drawn lines
	warmed        int      // the lines that they count
	whole         bool     // draws its entries without bounds
	folds
}

// place is line off of entry at, counting the blank line before it.
type place struct{ at, off int }

// Add puts an entry at the end.
func (t *list) Add(b Body) { t.add(b) }

func (t *list) add(b Body) *entry {
	e := &entry{body: b}
	t.entries = append(t.entries, e)
	return e
}

// Size is the number of entries.
func (t *list) Size() int { return len(t.entries) }

func (e *entry) changed() { e.stale = true; e.version++ }

// drop removes the entries from index from on for which gone is true.
func (t *list) drop(from int, gone func(*entry) bool) {
	kept := t.entries[:min(from, len(t.entries))]
	for _, e := range t.entries[len(kept):] {
		if !gone(e) {
			kept = append(kept, e)
		}
	}
	clear(t.entries[len(kept):])
	t.entries = kept
	if t.top.at >= len(kept) {
		t.Follow = true
	}
}

// lines returns the drawn lines of entry i, with the blank line before it.
func (t *list) lines(i int, c Canvas) []string {
	e := t.entries[i]
	if e.drawn == nil || e.stale || e.moving && e.seq != c.Seq || e.theme != c.Theme || e.width != c.Width {
		c.open, c.whole = e.open, t.whole
		gap := []string{""}
		if i == 0 {
			gap = nil
		}
		body := e.body.Draw(c)
		if len(body) == 0 {
			gap = []string{}
		}
		cold := e.drawn == nil
		e.drawn, e.theme, e.width, e.stale, e.seq = append(gap, body...), c.Theme, c.Width, false, c.Seq
		if cold {
			t.keepWarm(e)
		}
	}
	return e.drawn
}

func (t *list) keepWarm(e *entry) {
	e.counted = len(e.drawn)
	t.warm, t.warmed = append(t.warm, e), t.warmed+e.counted
	for t.warmed > warmLines && len(t.warm) > fewWarm {
		cold := t.warm[0]
		cold.drawn, t.warm, t.warmed = nil, t.warm[1:], t.warmed-cold.counted
	}
}

// View returns exactly h lines.
func (t *list) View(c Canvas, h int) []string {
	t.width, t.Height = c.Width, h
	start := t.start(c)
	out := make([]string, 0, h)
	t.rows = t.rows[:0]
	for i := start.at; i < len(t.entries) && len(out) < h; i++ {
		lines := t.lines(i, c)
		if i == start.at {
			lines = lines[min(start.off, len(lines)):]
		}
		lines = lines[:min(len(lines), h-len(out))]
		if t.entries[i] == t.chosen {
			lines = bar(c.Theme, lines)
		}
		out = append(out, lines...)
		for range lines {
			t.rows = append(t.rows, i)
		}
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out
}

func (t *list) tail(c Canvas, h int) place {
	for i := len(t.entries) - 1; i >= 0; i-- {
		n := len(t.lines(i, c))
		if n >= h {
			return place{i, n - h}
		}
		h -= n
	}
	return place{}
}

// Scroll moves the view by n lines, up when negative; by all lines to one of the ends.
func (t *list) Scroll(c Canvas, n int) {
	switch {
	case n <= -paint.Everything:
		t.top, t.Follow = place{}, false
		t.start(c)
		return
	case n >= paint.Everything:
		t.End()
		return
	}
	p := t.start(c)
	p.off += n
	for p.off < 0 && p.at > 0 {
		p.at--
		p.off += len(t.lines(p.at, c))
	}
	for p.at < len(t.entries)-1 && p.off >= len(t.lines(p.at, c)) {
		p.off -= len(t.lines(p.at, c))
		p.at++
	}
	p.off = max(p.off, 0)
	t.top, t.Follow = p, false
	t.start(c)
}

// End shows the end.
func (t *list) End() { t.Follow, t.held = true, anchor{} }
