// Package picker is a list to choose from, with a filter and with deeds that may ask
// first. It performs no IO: what lists and what changes the rows is handed in.
// Start with Picker; view.go draws it.
package picker

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// Picker is a list to choose from; typing filters it.
type Picker struct {
	Title string
	// State says behind the title what holds now; nil: nothing.
	State func() string
	// None is shown when the list is empty, Problem when something went wrong.
	None, Problem string
	// Enter describes what Enter does, of a row without its own words for it; Choose does it.
	Enter  string
	Choose func(r Row) part.Intent
	// Deeds are what other keys do.
	Deeds []Action
	// List returns the rows, beside the screen. With an error too: not all are known.
	List func(ctx context.Context) ([]Row, error)
	// Changing: the rows change by themselves. Last: the last row is selected first.
	Changing, Last bool
	// Numbered: a few fixed rows, which a digit chooses. They are not filtered.
	Numbered bool
	// Only: a row that alone has all words of the filter in its text is chosen as soon as the rows are there.
	Only bool
	// Under is the overlay that is shown again afterwards; nil: none.
	Under part.Overlay

	keys    *keys.Table
	loading bool
	loads   int // counts what asks for the rows: only the last one fills the list
	rows    []Row
	shown   []int // of rows, those that match the filter
	filter  composer.Composer
	At      int // of shown
	top     int
	height  int // rows of the last drawing
	tall    int // see Height
	// asked is the deed that waits for a yes, writing the one that waits for a text.
	// about is the row that it is for, even if the list changes meanwhile.
	asked, writing *Action
	about          Row
	field          composer.Composer
}

// Row is one thing to choose.
type Row struct {
	Id    string
	Text  string
	About string // at the right edge
	More  string // lines that are shown while it is selected
	Over  bool   // it has ended
	Mark  bool   // it is in use
	Enter string // what Enter does with it
	Of    any    // what it stands for, for who made the row
	// Chosen is what choosing it does instead of Picker.Choose. Such a row has no deeds; nil: it is like others.
	Chosen func() part.Intent
}

// Action is what a key does with the selected row.
type Action struct {
	Do   keys.Action
	Help string
	// Asks is the question before it, with %s for the row's text; "": no question.
	Asks string
	// Writes returns the text to edit first; nil: no text is needed.
	Writes func(r Row) string
	// Label stands before that text, and Saves says what Enter does with it.
	Label, Saves string
	// Run does it on the screen. Change does it beside the screen; the rows are listed again
	// afterwards, and said is a line for the transcript.
	Run    func(r Row, text string) part.Intent
	Change func(ctx context.Context, r Row, text string) (said string, err error)
	// All: it is for the list, and needs no row. Fits says which rows it is for;
	// nil: every row.
	All  bool
	Fits func(r Row) bool
}

// key names the key of a deed.
func (p *Picker) key(d *Action) string {
	return cmp.Or(p.keys.Name(keys.InPicker, d.Do), p.keys.Name(keys.Everywhere, d.Do))
}

// offered reports whether the deed is possible; chosen says whether r is a row.
func (d *Action) offered(r Row, chosen bool) bool {
	return d.All || chosen && r.Chosen == nil && (d.Fits == nil || d.Fits(r))
}

// New is a list whose rows are still being loaded.
func New(k *keys.Table, title string) *Picker {
	return &Picker{Title: title, keys: k, filter: composer.New(), loading: true}
}

// Load lists the rows; what went wrong before is still said.
func (p *Picker) Load() part.Intent {
	if p.List == nil {
		return nil
	}
	p.loads++
	list, at := p.List, p.loads
	return part.Beside(func(ctx context.Context) func() part.Intent {
		rows, err := list(ctx)
		return func() part.Intent {
			if at == p.loads {
				p.Fill(rows)
				p.fails(err)
				return p.only()
			}
			return nil
		}
	})
}

// only chooses the row that Only is about.
func (p *Picker) only() part.Intent {
	rows := slices.DeleteFunc(slices.Clone(p.rows), func(r Row) bool { return !p.fits(r.Text) })
	if !p.Only || len(rows) != 1 {
		return nil
	}
	p.Only = false
	return p.choose(rows[0])
}

// Live reports whether the rows change by themselves.
func (p *Picker) Live() bool { return p.Changing }

func (p *Picker) fails(err error) {
	if err != nil {
		p.Problem = err.Error()
	}
}

// run does a deed.
func (p *Picker) run(d *Action, r Row, text string) part.Intent {
	p.Problem = ""
	if d.Change == nil {
		return d.Run(r, text)
	}
	return part.Beside(func(ctx context.Context) func() part.Intent {
		said, err := d.Change(ctx, r, text)
		return func() part.Intent {
			p.fails(err)
			return part.All{part.Note(said), p.Load()}
		}
	})
}

// Fill shows rows; the selected row stays selected, or the one in its place.
func (p *Picker) Fill(rows []Row) {
	was, had := p.chosen()
	p.rows, p.loading = rows, false
	p.match()
	if !had {
		p.At = 0
		if p.Last {
			p.At = max(len(p.shown)-1, 0)
		}
	}
	for i, n := range p.shown {
		if had && p.rows[n].Id == was.Id || !had && p.rows[n].Mark {
			p.At = i
			break
		}
	}
}

// Listed is the list of an overlay that is more than that.
func (p *Picker) Listed() *Picker { return p }

// Rows are those that match the filter; ready is false while they are being loaded.
func (p *Picker) Rows() (rows []Row, ready bool) {
	for _, i := range p.shown {
		rows = append(rows, p.rows[i])
	}
	return rows, !p.loading
}

// Pick chooses row n of Rows, counted from 1.
func (p *Picker) Pick(n int) part.Intent {
	if n < 1 || n > len(p.shown) {
		return nil
	}
	return p.choose(p.rows[p.shown[n-1]])
}

func (p *Picker) choose(r Row) part.Intent {
	if r.Chosen != nil {
		return r.Chosen()
	}
	return p.Choose(r)
}

// match lists the rows that contain every word of the filter.
func (p *Picker) match() {
	p.shown = p.shown[:0]
	for i, r := range p.rows {
		if p.fits(r.Text + " " + r.About + " " + r.More) {
			p.shown = append(p.shown, i)
		}
	}
	p.At = max(min(p.At, len(p.shown)-1), 0)
}

// fits reports whether a text has every word of the filter.
func (p *Picker) fits(text string) bool {
	text = strings.ToLower(text)
	for _, w := range strings.Fields(strings.ToLower(p.filter.Value())) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func (p *Picker) chosen() (Row, bool) {
	if p.At >= len(p.shown) {
		return Row{}, false
	}
	return p.rows[p.shown[p.At]], true
}

// Scroll moves the selection.
func (p *Picker) Scroll(by int) { p.At = max(min(p.At+by, len(p.shown)-1), 0) }

// Key takes a key.
func (p *Picker) Key(k keys.Key) (intent part.Intent, handled bool) {
	do, edit := p.keys.Find(k, keys.InPicker, keys.Everywhere), p.keys.Find(k, keys.InComposer)
	switch {
	case p.asked != nil:
		return p.answer(do == keys.Send || strings.EqualFold(keys.Typed(k), "y")), true
	case p.writing != nil:
		return p.write(k, do, edit), true
	}
	switch do {
	case keys.Up, keys.Down: // around the ends
		by := 1
		if do == keys.Up {
			by = -1
		}
		p.At = (p.At + by + len(p.shown)) % max(len(p.shown), 1)
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
			return p.choose(r), true
		}
	case keys.Back:
		return part.Show{Overlay: p.Under}, true
	default:
		if intent, ok := p.deed(do); ok {
			return intent, true
		}
		if p.Numbered {
			n, _ := strconv.Atoi(keys.Typed(k))
			return p.Pick(n), true
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
func (p *Picker) edit(c *composer.Composer, k keys.Key, do keys.Action) bool {
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
	switch {
	case p.writing != nil:
		p.field.Typed(s)
	case !p.Numbered:
		p.filter.Typed(s)
		p.match()
	}
}

func (p *Picker) deed(do keys.Action) (part.Intent, bool) {
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
			return p.run(d, r, ""), true
		}
		return nil, true
	}
	return nil, false
}

// Ask begins to write the text of a deed, as its key does.
func (p *Picker) Ask(d *Action, r Row) {
	p.writing, p.about, p.field = d, r, composer.New()
	p.field.Typed(d.Writes(r))
}

func (p *Picker) answer(yes bool) part.Intent {
	d := p.asked
	p.asked = nil
	if yes {
		return p.run(d, p.about, "")
	}
	return nil
}

func (p *Picker) write(k keys.Key, do, edit keys.Action) part.Intent {
	switch do {
	case keys.Send:
		d := p.writing
		p.writing = nil
		return p.run(d, p.about, strings.TrimSpace(p.field.Value()))
	case keys.Back, keys.Interrupt:
		p.writing = nil
	default:
		p.edit(&p.field, k, edit)
	}
	return nil
}
