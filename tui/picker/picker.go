// Package picker is a list to choose from, with a filter and with deeds that may ask
// first. It performs no IO: choosing returns the command of whoever filled the list.
// Start with Picker; view.go draws it.
package picker

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
)

// Picker is a list to choose from; typing filters it.
type Picker struct {
	Title string
	// None is shown when the list is empty, problem when something went wrong.
	None, Problem string
	loading       bool
	// Enter describes what Enter does; choose does it.
	Enter  string
	Choose func(r Row) tea.Cmd
	// Deeds are what other keys do.
	Deeds []Deed
	// Live asks for the rows again while they change by themselves; nil: never.
	Live func() tea.Cmd

	rows   []Row
	shown  []int // of rows, those that match the filter
	filter composer.Composer
	At     int // of shown
	top    int
	height int // rows of the last drawing
	// asked is the deed that waits for a yes, writing the one that waits for a text.
	// about is the row that it is for, even if the list changes meanwhile.
	asked, writing *Deed
	about          Row
	field          composer.Composer
}

// Row is one thing to choose.
type Row struct {
	Id    string
	Text  string
	About string // at the right edge
	More  string // shown while it is selected
	Over  bool   // it has ended
	Mark  bool   // it is in use
}

// Deed is what a key does with the selected row.
type Deed struct {
	Do   keys.Action
	Key  string // its name, in the hints
	Help string
	// Asks is the question before it, with %s for the row's text; "": no question.
	Asks string
	// Writes returns the text to edit first; nil: no text is needed.
	Writes func(r Row) string
	// Label stands before that text, and Saves says what Enter does with it.
	Label, Saves string
	Run          func(r Row, text string) tea.Cmd
	// All: it is for the list, and needs no row. fits says which rows it is for;
	// nil: every row.
	All  bool
	Fits func(r Row) bool
}

// offered reports whether the deed is possible; chosen says whether r is a row.
func (d *Deed) offered(r Row, chosen bool) bool {
	return d.All || chosen && (d.Fits == nil || d.Fits(r))
}

// New is a list whose rows are still being loaded.
func New(title string) *Picker {
	return &Picker{Title: title, filter: composer.New(), loading: true}
}

// Fill shows rows; the selected row stays selected, or the one in its place.
func (p *Picker) Fill(rows []Row, problem string) {
	was, had := p.chosen()
	p.rows, p.Problem, p.loading = rows, problem, false
	p.match()
	if !had {
		p.At = 0
	}
	for i, n := range p.shown {
		if had && p.rows[n].Id == was.Id || !had && p.rows[n].Mark {
			p.At = i
			break
		}
	}
}

// Rows are those that match the filter; ready is false while they are being loaded.
func (p *Picker) Rows() (rows []Row, ready bool) {
	for _, i := range p.shown {
		rows = append(rows, p.rows[i])
	}
	return rows, !p.loading
}

// Pick chooses row n of Rows, counted from 1.
func (p *Picker) Pick(n int) tea.Cmd {
	if n < 1 || n > len(p.shown) {
		return nil
	}
	return p.Choose(p.rows[p.shown[n-1]])
}

// match lists the rows that contain every word of the filter.
func (p *Picker) match() {
	words := strings.Fields(strings.ToLower(p.filter.Value()))
	p.shown = p.shown[:0]
	for i, r := range p.rows {
		text := strings.ToLower(r.Text + " " + r.About + " " + r.More)
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(text, w)
		}
		if fits {
			p.shown = append(p.shown, i)
		}
	}
	p.At = max(min(p.At, len(p.shown)-1), 0)
}

func (p *Picker) chosen() (Row, bool) {
	if p.At >= len(p.shown) {
		return Row{}, false
	}
	return p.rows[p.shown[p.At]], true
}

// Scroll moves the selection.
func (p *Picker) Scroll(by int) { p.At = max(min(p.At+by, len(p.shown)-1), 0) }

// Press takes a key that means do in the list, or edit in a text; false when it
// is for somebody else.
func (p *Picker) Press(k tea.Key, do, edit keys.Action) (cmd tea.Cmd, handled bool) {
	switch {
	case p.asked != nil:
		return p.answer(do == keys.Send || strings.EqualFold(keys.Typed(k), "y")), true
	case p.writing != nil:
		return p.write(k, do, edit), true
	}
	switch do {
	case keys.Up:
		p.Scroll(-1)
	case keys.Down:
		p.Scroll(1)
	case keys.PageUp, keys.PageDown:
		by := max(p.height-1, 1)
		if do == keys.PageUp {
			by = -by
		}
		p.Scroll(by)
	case keys.Top:
		p.Scroll(-paint.Everything)
	case keys.End:
		p.Scroll(paint.Everything)
	case keys.Send:
		if r, ok := p.chosen(); ok {
			return p.Choose(r), true
		}
	case keys.Back:
		return nil, false
	default:
		if cmd, ok := p.deed(do); ok {
			return cmd, true
		}
		if !p.edit(&p.filter, k, edit) {
			return nil, false
		}
		p.At = 0
		p.match()
	}
	return nil, true
}

// edit changes one of the picker's texts, each of one line; false when the key
// does something else.
func (p *Picker) edit(c *composer.Composer, k tea.Key, do keys.Action) bool {
	if s := keys.Typed(k); s != "" {
		c.Typed(s)
		return true
	}
	switch do {
	case keys.Newline, keys.Up, keys.Down, keys.LineStart, keys.LineEnd, keys.Delete:
		return false
	}
	return c.Edit(do, paint.Everything)
}

// Paste goes where typing goes.
func (p *Picker) Paste(s string) {
	s = strings.Join(strings.Fields(s), " ")
	if p.writing != nil {
		p.field.Typed(s)
		return
	}
	p.filter.Typed(s)
	p.match()
}

func (p *Picker) deed(do keys.Action) (tea.Cmd, bool) {
	for i := range p.Deeds {
		d := &p.Deeds[i]
		if d.Do != do {
			continue
		}
		r, ok := p.chosen()
		switch {
		case !d.offered(r, ok):
		case d.Asks != "":
			p.asked, p.about = d, r
		case d.Writes != nil:
			p.Ask(d, r)
		default:
			return d.Run(r, ""), true
		}
		return nil, true
	}
	return nil, false
}

// Ask begins to write the text of a deed, as its key does.
func (p *Picker) Ask(d *Deed, r Row) {
	p.writing, p.about, p.field = d, r, composer.New()
	p.field.Typed(d.Writes(r))
}

func (p *Picker) answer(yes bool) tea.Cmd {
	d := p.asked
	p.asked = nil
	if yes {
		return d.Run(p.about, "")
	}
	return nil
}

func (p *Picker) write(k tea.Key, do, edit keys.Action) tea.Cmd {
	switch do {
	case keys.Send:
		d := p.writing
		p.writing = nil
		return d.Run(p.about, strings.TrimSpace(p.field.Value()))
	case keys.Back, keys.Interrupt:
		p.writing = nil
	default:
		p.edit(&p.field, k, edit)
	}
	return nil
}
