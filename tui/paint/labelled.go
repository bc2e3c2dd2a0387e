package paint

import (
	"fmt"
	"strings"
)

// Narrow is the width of a screen below which labels have no column: each is above its text.
const Narrow = 50

// bar marks each row of text from the model, a command or a server. Codeagent's own rows never start with it, so such text cannot imitate them.
const bar = "│ "

// Labelled lays spans out beside a label, in rows of one column less than the screen has. First is
// what comes before the first row, behind the label; before the others it is blank, but for "│ ", the bar before words of others.
func (w Wrapper) Labelled(label string, spans ...Span) []string {
	blank := func(s Span) Span {
		if s.Text == bar {
			return s
		}
		return Text.Span(strings.Repeat(" ", Width(s.Text)))
	}
	name := Dim.Span(fmt.Sprintf("   %-9s", label))
	var above []string
	if w.Width+1 < Narrow {
		name = Text.Span("   ")
		if label != "" {
			above = []string{w.Theme.Row(w.Width, Dim.Span(" "+label))}
		}
	}
	first, rest := []Span{name}, []Span{blank(name)}
	for _, s := range w.First {
		first, rest = append(first, s), append(rest, blank(s))
	}
	w.First, w.Rest = first, rest
	return append(above, w.Lines(spans...)...)
}
