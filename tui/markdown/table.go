package markdown

import (
	"sort"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"codeagent/tui/mark"
	"codeagent/tui/paint"
)

// cellText is one cell of a table: its spans and how wide they are.
type cellText struct {
	spans []paint.Span
	w     int
}

// table draws a table in columns, whose cells wrap where the table is too wide. Where
// that does not do either, each row is a list of "heading: value" lines.
func (d drawer) table(n *extast.Table, w int) []string {
	var rows [][]cellText
	var widths []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		s := d.base
		if _, ok := r.(*extast.TableHeader); ok {
			s = d.base.With(paint.Bold)
		}
		var row []cellText
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, d.cell(c, s))
			if len(row) > len(widths) {
				widths = append(widths, 0)
			}
			widths[len(row)-1] = max(widths[len(row)-1], row[len(row)-1].w)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 || len(widths) == 0 {
		return nil
	}
	widths, ok := fitting(widths, wordWidths(rows, len(widths)), w-3*(len(widths)-1))
	if !ok {
		return d.tableAsList(rows, w)
	}
	var out []string
	tall := false // a row above has several lines
	for i, row := range rows {
		lines := d.tableRow(row, widths, n.Alignments)
		if i > 1 && (tall || len(lines) > 1) {
			out = append(out, mark.Decoration+d.ruled(widths, "┄", "┼"))
		}
		tall = i > 0 && len(lines) > 1
		out = append(out, lines...)
		if i == 0 {
			out = append(out, mark.Decoration+d.ruled(widths, "─", "┼"))
		}
	}
	return out
}

func (d drawer) ruled(widths []int, line, cross string) string {
	var b strings.Builder
	for i, w := range widths {
		if i > 0 {
			b.WriteString(line + cross + line)
		}
		b.WriteString(strings.Repeat(line, w))
	}
	return d.theme.Paint(paint.Faint, b.String())
}

// tableRow draws a row; its cells wrap inside their columns.
func (d drawer) tableRow(row []cellText, widths []int, aligned []extast.Alignment) []string {
	cells := make([][]string, len(widths))
	high := 1
	for c, cw := range widths {
		if c < len(row) && row[c].w > 0 {
			// A line of the table is not one of the text: what a cell breaks is not joined.
			cells[c] = mark.Lines(d.theme.Wrap(cw, row[c].spans...))
			high = max(high, len(cells[c]))
		}
	}
	out := make([]string, high)
	for i := range out {
		var b strings.Builder
		for c, cw := range widths {
			if c > 0 {
				b.WriteString(d.theme.Paint(paint.Faint, " │ "))
			}
			value := ""
			if i < len(cells[c]) {
				value = cells[c][i]
			}
			pad := ""
			if n := cw - ansi.StringWidth(value); n > 0 {
				pad = strings.Repeat(" ", n)
			}
			switch {
			case c < len(aligned) && aligned[c] == extast.AlignRight:
				b.WriteString(pad + value)
			case c == len(widths)-1:
				b.WriteString(value)
			default:
				b.WriteString(value + pad)
			}
		}
		out[i] = b.String()
	}
	return out
}

// leastColumn is the least width of a column that wraps; longer words make it wider.
const leastColumn = 8

// wordWidths are the widths of the columns' longest words.
func wordWidths(rows [][]cellText, columns int) []int {
	out := make([]int, columns)
	for _, row := range rows {
		for c, cell := range row {
			for _, s := range cell.spans {
				for word := range strings.FieldsSeq(s.Text) {
					out[c] = max(out[c], paint.Width(word))
				}
			}
		}
	}
	return out
}

// fitting narrows the widest columns until all fit in room. No column becomes narrower
// than its longest word, if that has an ordinary length. ok is false if they do not
// fit.
func fitting(widths, words []int, room int) (out []int, ok bool) {
	const ordinary = 16
	total, least := 0, 0
	floor := make([]int, len(widths))
	for i, w := range widths {
		floor[i] = min(w, max(min(words[i], ordinary), leastColumn))
		total += w
		least += floor[i]
	}
	if total <= room {
		return widths, true
	}
	if least > room {
		return nil, false
	}
	// Every column gets its floor, and of the rest what it lacks, the smallest lack first.
	out = append([]int(nil), floor...)
	left := room - least
	order := make([]int, len(widths))
	for i := range order {
		order[i] = i
	}
	lacks := func(k int) int { return widths[order[k]] - floor[order[k]] }
	sort.SliceStable(order, func(i, j int) bool { return lacks(i) < lacks(j) })
	for k, i := range order {
		more := min(widths[i]-floor[i], left/(len(order)-k))
		out[i] += more
		left -= more
	}
	return out, true
}

func (d drawer) cell(n ast.Node, s paint.Style) cellText {
	d.inCell = true
	spans := paint.Flat(d.inline(n, s))
	return cellText{spans, paint.WidthOf(spans)}
}

func (d drawer) tableAsList(rows [][]cellText, w int) []string {
	var out []string
	for i, row := range rows[1:] {
		if i > 0 {
			out = append(out, "")
		}
		for c, value := range row {
			var spans []paint.Span
			if c < len(rows[0]) && rows[0][c].w > 0 {
				spans = append(append(spans, rows[0][c].spans...), paint.Dim.Span(": "))
			}
			out = append(out, d.wrap(w, append(spans, value.spans...))...)
		}
	}
	if len(out) == 0 {
		for _, head := range rows[0] {
			out = append(out, d.wrap(w, head.spans)...)
		}
	}
	return out
}
