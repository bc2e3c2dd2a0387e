package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/form"
)

// asking is the question of an MCP server while it is asked in lines: field is the one that takes
// a line, -1 before the first, the number of fields when all were asked.
type asking struct {
	*form.Form
	field int
}

// writeForm writes the question of a server that is new.
func (d *inLines) writeForm() tea.Cmd {
	f, ok := d.docks.Front().(*form.Form)
	if !ok || f == d.asking.Form {
		return nil
	}
	d.asking, d.open = asking{f, -1}, nil // what is being typed is not about it
	for _, l := range f.Spoken() {
		d.print(l)
	}
	d.until = "Answer with one of these, then Enter. " + f.Answers()
	return d.after(d.offers.Grace, func(time.Time) tea.Msg { return openMsg{f} })
}

// formLine takes a line for the question of a server; false: not one of its answers.
func (d *inLines) formLine(text string) (cmd tea.Cmd, handled bool) {
	f, i := d.asking.Form, d.asking.field
	switch {
	case i >= 0 && i < f.Fields():
		if err := f.Take(i, text); err != nil {
			d.print("It " + err.Error() + ".")
			return nil, true
		}
		d.nextField()
		return nil, true
	case !f.Has(text):
		return nil, false
	case text == "1" && i < 0 && f.Fields() > 0:
		d.nextField()
		return nil, true
	case text == "1" && f.Fields() > 0:
		return d.do(f.Send()), true
	}
	return d.do(f.Choose(text)), true
}

func (d *inLines) nextField() {
	d.asking.field++
	if i, f := d.asking.field, d.asking.Form; i < f.Fields() {
		for _, l := range f.Prompt(i) {
			d.print(l)
		}
		return
	}
	d.print(d.asking.Summary())
	d.print("1: send it; n: decline; c: cancel")
}
