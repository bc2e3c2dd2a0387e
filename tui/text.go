package tui

import "strings"

// span is text in one style.
type span struct {
	text  string
	style style
}

// span is text in this style.
func (s style) span(text string) span { return span{text: text, style: s} }

// piece is one cell of shown text, made by cell.
type piece struct {
	shown string
	w     int
	style style
	space bool
}

// wrapper lays spans out in lines of a width. first is put before the first line,
// rest before every other (a gutter, a bullet, a quote bar).
type wrapper struct {
	theme       *theme
	width       int
	first, rest []span
	// hard breaks lines exactly at the edge and keeps every space, for code.
	hard bool
	// clip cuts a line at the edge instead of wrapping it.
	clip bool
}

// lines wraps spans; a newline in a span ends a line. There is always at least
// one line.
func (w wrapper) lines(spans ...span) []string {
	var out []string
	var row []piece
	used := 0
	room := func() int {
		prefix := w.rest
		if len(out) == 0 {
			prefix = w.first
		}
		return max(w.width-spansWidth(prefix), 1)
	}
	flush := func() {
		out = append(out, w.paint(len(out) == 0, row))
		row, used = row[:0], 0
	}
	limit := room()
	skipping := false
	for _, s := range spans {
		for text := s.text; len(text) > 0; {
			if text[0] == '\n' {
				flush()
				limit, skipping, text = room(), false, text[1:]
				continue
			}
			n, shown, cw := cell(text, used)
			p := piece{shown, cw, s.style, text[0] == ' ' || text[0] == '\t'}
			text = text[n:]
			if skipping {
				continue
			}
			if w.clip && used+cw > limit {
				row, skipping = ellipsis(row, limit), true
				continue
			}
			if p.space && used > 0 && used+cw > limit && !w.hard {
				// A space at the edge is the break itself.
				flush()
				limit = room()
				continue
			}
			for used > 0 && used+cw > limit {
				end, next := w.breakAt(row)
				tail := append([]piece(nil), row[next:]...)
				row = row[:end]
				flush()
				limit = room()
				for _, t := range tail {
					row, used = append(row, t), used+t.w
				}
			}
			row = append(row, p)
			used += cw
		}
	}
	flush()
	return out
}

// breakAt says where a full row ends and where the next one begins.
func (w wrapper) breakAt(row []piece) (end, next int) {
	if w.hard {
		return len(row), len(row)
	}
	for i := len(row) - 1; i > 0; i-- {
		if row[i].space {
			end = i
			for end > 0 && row[end-1].space {
				end--
			}
			if end == 0 {
				break
			}
			return end, i + 1
		}
	}
	return len(row), len(row)
}

func ellipsis(row []piece, limit int) []piece {
	used := 0
	for i, p := range row {
		if used+p.w > limit-1 {
			return append(row[:i], piece{"…", 1, dim, false})
		}
		used += p.w
	}
	return row
}

func (w wrapper) paint(first bool, row []piece) string {
	var b strings.Builder
	prefix := w.rest
	if first {
		prefix = w.first
	}
	for _, s := range prefix {
		b.WriteString(w.theme.paint(s.style, show(s.text)))
	}
	for i := 0; i < len(row); {
		j := i
		for j < len(row) && row[j].style == row[i].style {
			j++
		}
		on := w.theme.on(row[i].style)
		b.WriteString(on)
		for _, p := range row[i:j] {
			b.WriteString(p.shown)
		}
		if on != "" {
			b.WriteString(reset)
		}
		i = j
	}
	return b.String()
}

func spansWidth(spans []span) int {
	n := 0
	for _, s := range spans {
		n += width(s.text)
	}
	return n
}

// row paints spans in one line of at most w columns.
func (t *theme) row(w int, spans ...span) string {
	return wrapper{theme: t, width: w, clip: true}.lines(flat(spans)...)[0]
}

// flat makes newlines visible, so that the spans stay on one line.
func flat(spans []span) []span {
	out := make([]span, len(spans))
	for i, s := range spans {
		out[i] = s.style.span(strings.ReplaceAll(s.text, "\n", "␊"))
	}
	return out
}

// justify paints left and right at the edges of a line of w columns; left is cut
// first.
func (t *theme) justify(w int, left, right []span) string {
	r := spansWidth(right)
	if r >= w {
		return t.row(w, right...)
	}
	room := w - r
	if r > 0 {
		room--
	}
	l := min(spansWidth(left), room)
	return t.row(room, left...) + strings.Repeat(" ", w-l-r) + t.row(r, right...)
}

// wrap paints spans in lines of w columns.
func (t *theme) wrap(w int, spans ...span) []string {
	return wrapper{theme: t, width: w}.lines(spans...)
}

// gutter is the width of the margin for marks; text starts behind it. One column
// stays free at the right edge.
const gutter = 2

// indent puts drawn lines behind the gutter.
func indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if l != "" {
			out[i] = strings.Repeat(" ", gutter) + l
		}
	}
	return out
}

// everything is more lines than any page has.
const everything = 1 << 30
