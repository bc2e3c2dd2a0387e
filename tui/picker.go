package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// picker is a list to choose from; typing filters it.
type picker struct {
	title string
	// none is shown when the list is empty, problem when something went wrong.
	none, problem string
	loading       bool
	// enter describes what Enter does; choose does it.
	enter  string
	choose func(r row) tea.Cmd
	// deeds are what other keys do.
	deeds []deed
	// live asks for the rows again while they change by themselves; nil: never.
	live func() tea.Cmd

	rows   []row
	shown  []int // of rows, those that match the filter
	filter composer
	at     int // of shown
	top    int
	height int // rows of the last drawing
	// asked is the deed that waits for a yes, writing the one that waits for a text.
	// about is the row that it is for, even if the list changes meanwhile.
	asked, writing *deed
	about          row
	field          composer
}

// row is one thing to choose.
type row struct {
	id    string
	text  string
	about string // at the right edge
	more  string // shown while it is selected
	over  bool   // it has ended
	mark  bool   // it is in use
}

// deed is what a key does with the selected row.
type deed struct {
	do   action
	key  string // its name, in the hints
	help string
	// asks is the question before it, with %s for the row's text; "": no question.
	asks string
	// writes returns the text to edit first; nil: no text is needed.
	writes func(r row) string
	run    func(r row, text string) tea.Cmd
	// all: it is for the list, and needs no row. fits says which rows it is for;
	// nil: every row.
	all  bool
	fits func(r row) bool
}

// offered reports whether the deed is possible; chosen says whether r is a row.
func (d *deed) offered(r row, chosen bool) bool {
	return d.all || chosen && (d.fits == nil || d.fits(r))
}

func newPicker(title string) *picker {
	return &picker{title: title, filter: newComposer(), loading: true}
}

// fill shows rows; the selected row stays selected, or the one in its place.
func (p *picker) fill(rows []row, problem string) {
	was, had := p.chosen()
	p.rows, p.problem, p.loading = rows, problem, false
	p.match()
	if !had {
		p.at = 0
	}
	for i, n := range p.shown {
		if had && p.rows[n].id == was.id || !had && p.rows[n].mark {
			p.at = i
			break
		}
	}
}

// match lists the rows that contain every word of the filter.
func (p *picker) match() {
	words := strings.Fields(strings.ToLower(p.filter.value()))
	p.shown = p.shown[:0]
	for i, r := range p.rows {
		text := strings.ToLower(r.text + " " + r.about + " " + r.more)
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(text, w)
		}
		if fits {
			p.shown = append(p.shown, i)
		}
	}
	p.at = max(min(p.at, len(p.shown)-1), 0)
}

func (p *picker) chosen() (row, bool) {
	if p.at >= len(p.shown) {
		return row{}, false
	}
	return p.rows[p.shown[p.at]], true
}

// scroll moves the selection.
func (p *picker) scroll(by int) { p.at = max(min(p.at+by, len(p.shown)-1), 0) }

// press takes a key that means do in the list, or edit in a text; false when it
// is for somebody else.
func (p *picker) press(k tea.Key, do, edit action) (cmd tea.Cmd, handled bool) {
	switch {
	case p.asked != nil:
		return p.answer(do == actSend || strings.EqualFold(typed(k), "y")), true
	case p.writing != nil:
		return p.write(k, do, edit), true
	}
	switch do {
	case actUp:
		p.scroll(-1)
	case actDown:
		p.scroll(1)
	case actPageUp, actPageDown:
		by := max(p.height-1, 1)
		if do == actPageUp {
			by = -by
		}
		p.scroll(by)
	case actTop:
		p.scroll(-everything)
	case actEnd:
		p.scroll(everything)
	case actSend:
		if r, ok := p.chosen(); ok {
			return p.choose(r), true
		}
	case actBack:
		return nil, false
	default:
		if cmd, ok := p.deed(do); ok {
			return cmd, true
		}
		if !p.edit(&p.filter, k, edit) {
			return nil, false
		}
		p.at = 0
		p.match()
	}
	return nil, true
}

// edit changes one of the picker's texts, each of one line; false when the key
// does something else.
func (p *picker) edit(c *composer, k tea.Key, do action) bool {
	if s := typed(k); s != "" {
		c.typed(s)
		return true
	}
	switch do {
	case actNewline, actUp, actDown, actHome, actLineEnd, actDelete:
		return false
	}
	return c.edit(do, everything)
}

// paste goes where typing goes.
func (p *picker) paste(s string) {
	s = strings.Join(strings.Fields(s), " ")
	if p.writing != nil {
		p.field.typed(s)
		return
	}
	p.filter.typed(s)
	p.match()
}

// deed does the deed of a key, if there is one.
func (p *picker) deed(do action) (tea.Cmd, bool) {
	for i := range p.deeds {
		d := &p.deeds[i]
		if d.do != do {
			continue
		}
		r, ok := p.chosen()
		switch {
		case !d.offered(r, ok):
		case d.asks != "":
			p.asked, p.about = d, r
		case d.writes != nil:
			p.writing, p.about, p.field = d, r, newComposer()
			p.field.typed(d.writes(r))
		default:
			return d.run(r, ""), true
		}
		return nil, true
	}
	return nil, false
}

// answer takes the answer to a deed's question.
func (p *picker) answer(yes bool) tea.Cmd {
	d := p.asked
	p.asked = nil
	if yes {
		return d.run(p.about, "")
	}
	return nil
}

// write takes the text of a deed.
func (p *picker) write(k tea.Key, do, edit action) tea.Cmd {
	switch do {
	case actSend:
		d := p.writing
		p.writing = nil
		return d.run(p.about, strings.TrimSpace(p.field.value()))
	case actBack, actInterrupt:
		p.writing = nil
	default:
		p.edit(&p.field, k, edit)
	}
	return nil
}
