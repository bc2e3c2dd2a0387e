package paint

import (
	"fmt"
	"strings"
)

// Narrow is the width of a screen below which labels have no column: each is above its text.
const Narrow = 50

// Labelled is how a text stands in a question, beside a label.
type Labelled struct {
	Label string
	// Mark is before the first row, as wide as the indentation of the others.
	Mark Span
	// Quoted: words of others, drawn behind a bar that no row of codeagent has. They cannot imitate
	// one.
	Quoted bool
	// Hard: every space stays, for paths.
	Hard bool
	// Behind: Mark is before the bar.
	Behind bool
}

// Labelled lays spans out in rows of at most w columns, one less than the screen has.
func (t *Theme) Labelled(w int, l Labelled, spans ...Span) []string {
	const left = 12
	first, rest := []Span{Dim.Span(fmt.Sprintf("   %-9s", l.Label))}, []Span{Text.Span(strings.Repeat(" ", left))}
	var above []string
	if w+1 < Narrow {
		first, rest = []Span{Text.Span("   ")}, []Span{Text.Span("   ")}
		if l.Label != "" {
			above = []string{t.Row(w, Dim.Span(" "+l.Label))}
		}
	}
	bar := func() {
		if l.Quoted {
			first, rest = append(first, Faint.Span("│ ")), append(rest, Faint.Span("│ "))
		}
	}
	if !l.Behind {
		bar()
	}
	if l.Mark.Text != "" {
		first, rest = append(first, l.Mark), append(rest, Text.Span(strings.Repeat(" ", Width(l.Mark.Text))))
	}
	if l.Behind {
		bar()
	}
	return append(above, Wrapper{Theme: t, Width: w, First: first, Rest: rest, Hard: l.Hard}.Lines(spans...)...)
}
