package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// picker is a list to choose from, over the transcript: typing filters it. The
// models, the sessions and the background commands are one each.
type picker struct {
	title string
	// none is said where there is nothing to choose from, problem what went wrong.
	none, problem string
	loading       bool
	// enter says what Enter does, choose does it.
	enter  string
	choose func(m *app, r row) tea.Cmd
	// deeds are what further keys do.
	deeds []deed
	// live asks for the rows anew while something in them moves; nil: never.
	live func(m *app) tea.Cmd

	rows   []row
	shown  []int // of rows, those that match the filter
	filter composer
	at     int // of shown
	top    int
	height int // rows that were drawn last
	// asked is the deed that waits for a yes, writing the one that waits for a text;
	// about is the row it is done with, whatever becomes of the list meanwhile.
	asked, writing *deed
	about          row
	field          composer
}

// row is one thing to choose.
type row struct {
	id    string
	text  string
	about string // at the right edge
	more  string // told while it is chosen
	over  bool   // it has ended
	mark  bool   // it is the one in use
}

// deed is what a key does with the chosen row.
type deed struct {
	do   action
	help string
	// asks is the question before it, with the row's text for %s; "" asks nothing.
	asks string
	// writes begins a text; nil: none is needed.
	writes func(r row) string
	run    func(m *app, r row, text string) tea.Cmd
	// all: it is done with the list, and needs no row. fits says which rows it is
	// for; nil: each.
	all  bool
	fits func(r row) bool
}

// offered reports whether the deed can be done with the chosen row, if any.
func (d *deed) offered(r row, chosen bool) bool {
	return d.all || chosen && (d.fits == nil || d.fits(r))
}

func newPicker(title string) *picker {
	return &picker{title: title, filter: newComposer(), loading: true}
}

// fill shows rows; the chosen one stays chosen, or what took its place.
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

// match lists the rows that hold every word of the filter.
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

// scroll moves the choice.
func (p *picker) scroll(by int) { p.at = max(min(p.at+by, len(p.shown)-1), 0) }

func (p *picker) key(m *app, k tea.Key) tea.Cmd {
	do := m.keys.find(k, inPicker, everywhere)
	switch {
	case p.asked != nil:
		return p.answer(m, do == actSend || strings.EqualFold(typed(k), "y"))
	case p.writing != nil:
		return p.write(m, k, do)
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
			return p.choose(m, r)
		}
	case actBack:
		m.panel = nil
	default:
		if cmd, ok := p.deed(m, do); ok {
			return cmd
		}
		if p.edit(m, &p.filter, k) {
			p.at = 0
			p.match()
			return nil
		}
		return m.common(do)
	}
	return nil
}

// edit changes one of the picker's texts; false when the key does no such thing.
func (p *picker) edit(m *app, c *composer, k tea.Key) bool {
	if s := typed(k); s != "" {
		c.typed(s)
		return true
	}
	switch do := m.keys.find(k, inComposer); do {
	case actBackspace, actCutWord, actCutLeft, actCutRight, actCutNext, actLeft, actRight, actWordLeft, actWordRight, actUndo:
		m.edit(c, do, everything)
		return true
	}
	return false
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

// deed does what the key stands for in this list.
func (p *picker) deed(m *app, do action) (tea.Cmd, bool) {
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
			return d.run(m, r, ""), true
		}
		return nil, true
	}
	return nil, false
}

// answer takes the yes to a deed; every key that is none is a no.
func (p *picker) answer(m *app, yes bool) tea.Cmd {
	d := p.asked
	p.asked = nil
	if yes {
		return d.run(m, p.about, "")
	}
	return nil
}

// write takes the text of a deed.
func (p *picker) write(m *app, k tea.Key, do action) tea.Cmd {
	switch do {
	case actSend:
		d := p.writing
		p.writing = nil
		return d.run(m, p.about, strings.TrimSpace(p.field.value()))
	case actBack, actInterrupt:
		p.writing = nil
	default:
		p.edit(m, &p.field, k)
	}
	return nil
}
