package tui

import "strings"

// editRow is one visible row of the editor: text[start:end]. wrapped: the next row
// continues the same line.
type editRow struct {
	start, end int
	wrapped    bool
}

// rows lays the text out in w columns. A row breaks behind a space if it has one.
// The cursor may be behind the last cell of the last row.
func (c *composer) rows(w int) []editRow {
	w = max(w, 4)
	var out []editRow
	start, col, space := 0, 0, -1
	for at := 0; at < len(c.text); {
		if c.text[at] == '\n' {
			out = append(out, editRow{start, at, false})
			at++
			start, col, space = at, 0, -1
			continue
		}
		n, _, cw := c.cell(c.text[at:], col)
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
		if c.text[at-n] == ' ' {
			space = at
		}
	}
	return append(out, editRow{start, len(c.text), false})
}

// where returns the cursor's row and column.
func (c *composer) where(rows []editRow) (row, col int) {
	for i, r := range rows {
		if c.cursor < r.end || c.cursor == r.end && !r.wrapped {
			return i, c.columns(r.start, c.cursor)
		}
	}
	last := len(rows) - 1
	return last, c.columns(rows[last].start, c.cursor)
}

func (c *composer) columns(from, to int) int {
	col := 0
	for at := from; at < to; {
		n, _, w := c.cell(c.text[at:], col)
		at, col = at+n, col+w
	}
	return col
}

// vertical moves the cursor one row up or down; false at the edge.
func (c *composer) vertical(w, by int) bool {
	rows := c.rows(w)
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
		n, _, cw := c.cell(c.text[at:], used)
		if used+cw > c.goal || r.wrapped && at+n >= r.end {
			break
		}
		at, used = at+n, used+cw
	}
	c.cursor, c.typing = at, false
	return true
}

// view draws at most h rows of the editor in w columns and returns the position of
// the cursor.
func (c *composer) view(t *theme, w, h int) (lines []string, x, y int) {
	if c.text == "" {
		c.top = 0
		return []string{t.row(w, dim.span("Ask codeagent"))}, 0, 0
	}
	rows := c.rows(w)
	row, col := c.where(rows)
	c.top = min(c.top, row, max(len(rows)-h, 0))
	if row >= c.top+h {
		c.top = row - h + 1
	}
	for _, r := range rows[c.top:min(c.top+h, len(rows))] {
		lines = append(lines, c.paint(t, r))
	}
	return lines, min(col, w), row - c.top
}

func (c *composer) paint(t *theme, r editRow) string {
	var b strings.Builder
	col := 0
	for at := r.start; at < r.end; {
		n, shown, cw := c.cell(c.text[at:], col)
		if n > 1 && isChip(first(c.text[at:])) {
			shown = t.paint(accent, shown)
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
