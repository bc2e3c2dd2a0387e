package composer

import (
	"strings"

	"codeagent/tui/paint"
)

// editRow is one visible row of the editor: text[start:end]. wrapped: the next row
// continues the same line.
type editRow struct {
	start, end int
	wrapped    bool
}

// Rows lays the text out in w columns. A row breaks behind a space if it has one.
// The cursor may be behind the last cell of the last row.
func (c *buffer) Rows(w int) []editRow {
	w = max(w, 4)
	var out []editRow
	start, col, space := 0, 0, -1
	for at := 0; at < len(c.Text); {
		if c.Text[at] == '\n' {
			out = append(out, editRow{start, at, false})
			at++
			start, col, space = at, 0, -1
			continue
		}
		n, _, cw := c.cell(c.Text[at:], col)
		if col+cw > w && at > start {
			end := at
			if space > start {
				end = space
			}
			out = append(out, editRow{start, end, true})
			start, at, col, space = end, end, 0, -1
			continue
		}
		col += cw
		at += n
		if c.Text[at-n] == ' ' {
			space = at
		}
	}
	return append(out, editRow{start, len(c.Text), false})
}

func (c *buffer) where(rows []editRow) (row, col int) {
	for i, r := range rows {
		if c.Cursor < r.end || c.Cursor == r.end && !r.wrapped {
			return i, c.columns(r.start, c.Cursor)
		}
	}
	last := len(rows) - 1
	return last, c.columns(rows[last].start, c.Cursor)
}

func (c *buffer) columns(from, to int) int {
	col := 0
	for at := from; at < to; {
		n, _, w := c.cell(c.Text[at:], col)
		at, col = at+n, col+w
	}
	return col
}

// GoTo moves the cursor to the beginning of a row of a text of w columns.
func (c *Composer) GoTo(row, w int) {
	if rows := c.Rows(w); row < len(rows) {
		c.move(rows[row].start)
	}
}

// vertical moves the cursor one row up or down; false at the edge.
func (c *Composer) vertical(w, by int) bool {
	rows := c.Rows(w)
	row, col := c.where(rows)
	to := row + by
	if to < 0 || to >= len(rows) {
		return false
	}
	if c.goal < 0 {
		c.goal = col
	}
	r := rows[to]
	at, used := r.start, 0
	for at < r.end {
		n, _, cw := c.cell(c.Text[at:], used)
		if used+cw > c.goal || r.wrapped && at+n >= r.end {
			break
		}
		at, used = at+n, used+cw
	}
	c.Cursor, c.typing = at, false
	return true
}

// View draws at most h rows of the editor in w columns and returns the position of
// the cursor.
func (c *Composer) View(t *paint.Theme, w, h int) (lines []string, x, y int) {
	if c.Text == "" {
		c.Top = 0
		return []string{t.Row(w, paint.Dim.Span(c.Hint))}, 0, 0
	}
	rows := c.Rows(w)
	row, col := c.where(rows)
	c.Top = min(c.Top, row, max(len(rows)-h, 0))
	if row >= c.Top+h {
		c.Top = row - h + 1
	}
	for _, r := range rows[c.Top:min(c.Top+h, len(rows))] {
		lines = append(lines, c.paint(t, r))
	}
	return lines, min(col, w), row - c.Top
}

func (c *buffer) paint(t *paint.Theme, r editRow) string {
	var b strings.Builder
	col := 0
	for at := r.start; at < r.end; {
		n, shown, cw := c.cell(c.Text[at:], col)
		if n > 1 && isChip(first(c.Text[at:])) {
			shown = t.Paint(paint.Accent, shown)
		}
		b.WriteString(shown)
		at, col = at+n, col+cw
	}
	return b.String()
}

func first(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}
