package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"codeagent/tui/paint"
)

// cellText is one cell of a table: its spans and how wide they are.
type cellText struct {
	spans []paint.Span
	w     int
}

// table draws a table in columns where they fit in w, else each row as a list
// of "heading: value" lines.
func (d drawer) table(n *extast.Table, w int) []string {
	var rows [][]cellText
	var widths []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		s := paint.Text
		if _, ok := r.(*extast.TableHeader); ok {
			s = paint.Strong
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
	total := 3 * (len(widths) - 1)
	for _, cw := range widths {
		total += cw
	}
	if len(rows) == 0 || len(widths) == 0 {
		return nil
	}
	if total > w {
		return d.tableAsList(rows, w)
	}
	var out []string
	for i, row := range rows {
		var b strings.Builder
		for c, cw := range widths {
			if c > 0 {
				b.WriteString(d.theme.Paint(paint.Faint, " │ "))
			}
			used, value := 0, ""
			if c < len(row) && row[c].w > 0 {
				used, value = row[c].w, d.theme.Row(row[c].w, row[c].spans...)
			}
			pad := strings.Repeat(" ", cw-used)
			switch {
			case c < len(n.Alignments) && n.Alignments[c] == extast.AlignRight:
				b.WriteString(pad + value)
			case c == len(widths)-1:
				b.WriteString(value)
			default:
				b.WriteString(value + pad)
			}
		}
		out = append(out, b.String())
		if i == 0 {
			var rule []string
			for _, cw := range widths {
				rule = append(rule, strings.Repeat("─", cw))
			}
			out = append(out, d.theme.Paint(paint.Faint, strings.Join(rule, "─┼─")))
		}
	}
	return out
}

func (d drawer) cell(n ast.Node, s paint.Style) cellText {
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
