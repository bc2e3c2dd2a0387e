// Package memory is /memory: the instructions that the model follows, and a line of the person's that is added to
// one of them. It performs no IO: what reads and writes them is handed in. Start with List.Show.
package memory

import (
	"context"
	"strings"

	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// List is what the list gets of the screen.
type List struct {
	part.Setting
	// Places lists the files: About says whose one is.
	Places func() []picker.Row
	// Add adds a line to the file with that Id, and says from when on it is followed.
	Add func(ctx context.Context, id, line string) (words string, err error)
}

// Show is /memory. A text is added to the file that the person chooses; without one the person writes it there.
func (l List) Show(text string) part.Intent {
	p := picker.New(l.Setting.Keys, "Instructions")
	p.Enter = "adds a line"
	more := "The model follows it. Enter writes a line at its end."
	if text = strings.TrimSpace(text); text != "" {
		p.Title, p.Enter, more = "Add a line to", "adds it there", "The line: "+text
	}
	p.List = func(context.Context) ([]picker.Row, error) {
		rows := l.Places()
		for i := range rows {
			rows[i].More = more
		}
		return rows, nil
	}
	add := func(r picker.Row, line string) part.Intent {
		if strings.TrimSpace(line) == "" {
			return nil
		}
		return part.Turn{Name: "/memory", Doing: "Adding a line to " + r.Text, Work: func(ctx context.Context) (func() part.Intent, error) {
			words, err := l.Add(ctx, r.Id, line)
			if err != nil {
				return nil, err
			}
			return func() part.Intent { return part.Note(words) }, nil
		}}
	}
	write := &picker.Action{Label: "line", Saves: "adds it", Writes: func(picker.Row) string { return "" }, Run: add}
	p.Choose = func(r picker.Row) part.Intent {
		if text != "" {
			return add(r, text)
		}
		p.Ask(write, r)
		return nil
	}
	return part.Show{Overlay: p}
}
