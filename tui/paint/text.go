package paint

import (
	"strings"

	"codeagent/tui/mark"
)

// Span is text in one style.
type Span struct {
	Text  string
	Style Style
}

// Span is text in this style.
func (s Style) Span(text string) Span { return Span{Text: text, Style: s} }

// piece is one cell of shown text, made by cell.
type piece struct {
	shown string
	w     int
	style Style
	space bool
	tab   bool
	// binds: it is a space between a number and its unit.
	binds bool
}

// Wrapper lays spans out in lines of a width. first is put before the first line,
// rest before every other (a gutter, a bullet, a quote bar).
type Wrapper struct {
	Theme       *Theme
	Width       int
	First, Rest []Span
	// Hard breaks lines exactly at the edge and keeps every space, for code.
	Hard bool
	// FirstText and RestText are what the prefixes stand for in a copy; "": nothing.
	FirstText, RestText string
	// clip cuts a line at the edge instead of wrapping it.
	clip bool
}

// Lines wraps spans; a newline in a span ends a line. There is always at least
// one line.
func (w Wrapper) Lines(spans ...Span) []string {
	var out []string
	var row []piece
	used := 0
	room := func() int {
		prefix := w.Rest
		if len(out) == 0 {
			prefix = w.First
		}
		return max(w.Width-WidthOf(prefix), 1)
	}
	flush := func() {
		out = append(out, w.paint(len(out) == 0, row))
		row, used = row[:0], 0
	}
	// wrap ends a line that goes on in the next one; broken is what stood at the break.
	wrap := func(broken []piece) {
		flush()
		out[len(out)-1] += mark.Joined(written(broken))
	}
	limit := room()
	skipping := false
	for _, s := range spans {
		for text := s.Text; len(text) > 0; {
			if text[0] == '\n' {
				flush()
				limit, skipping, text = room(), false, text[1:]
				continue
			}
			n, shown, cw := Cell(text, used)
			if cw > max(w.Width-WidthOf(w.Rest), 1) { // the name of a hidden character, in a very narrow row
				shown, cw = "…", 1
			}
			p := piece{shown, cw, s.Style, text[0] == ' ' || text[0] == '\t', text[0] == '\t', false}
			text = text[n:]
			p.binds = p.shown == " " && endsInNumber(row) && unit(text)
			if skipping {
				continue
			}
			if w.clip && used+cw > limit {
				row, skipping = ellipsis(row, limit), true
				continue
			}
			if p.space && used > 0 && used+cw > limit && !w.Hard && !(p.binds && w.breaks(row)) {
				// A space at the edge is the break itself.
				wrap([]piece{p})
				limit = room()
				continue
			}
			for used > 0 && used+cw > limit {
				end, next := w.breakAt(row)
				tail := append([]piece(nil), row[next:]...)
				broken := append([]piece(nil), row[end:next]...)
				row = row[:end]
				wrap(broken)
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
func (w Wrapper) breakAt(row []piece) (end, next int) {
	if w.Hard {
		return len(row), len(row)
	}
	anyway := len(row) // a break between a number and its unit, for want of another
	for i := len(row) - 1; i > 0; i-- {
		if !row[i].space {
			continue
		}
		end = i
		for end > 0 && row[end-1].space {
			end--
		}
		if end == 0 {
			break
		}
		if !row[i].binds {
			return end, i + 1
		}
		if anyway == len(row) {
			anyway = i
		}
	}
	return anyway, min(anyway+1, len(row))
}

// breaks reports whether a row has a place to break.
func (w Wrapper) breaks(row []piece) bool {
	end, _ := w.breakAt(row)
	return end < len(row)
}

// maxUnit is the longest word, in bytes, that stays with the number before it.
const maxUnit = 7

// unit reports whether text begins with a short word of letters, such as "ms" or "tokens" behind a
// number.
func unit(text string) bool {
	n := 0
	for n < len(text) && (text[n] == '%' || 'a' <= text[n]|0x20 && text[n]|0x20 <= 'z') {
		n++
	}
	return 0 < n && n <= maxUnit && (n == len(text) || text[n] < '0' || text[n] > '9')
}

// endsInNumber reports whether the last word of a row is a number: digits, with points or commas between them.
func endsInNumber(row []piece) bool {
	i := len(row)
	for ; i > 0 && !row[i-1].space; i-- {
		if s := row[i-1].shown; len(s) != 1 || !strings.Contains("0123456789.,", s) {
			return false
		}
	}
	return i < len(row) && row[len(row)-1].shown >= "0"
}

func ellipsis(row []piece, limit int) []piece {
	used := 0
	for i, p := range row {
		if used+p.w > limit-1 {
			return append(row[:i], piece{shown: "…", w: 1, style: Dim})
		}
		used += p.w
	}
	return row
}

// written is the source of pieces that are spaces.
func written(row []piece) string {
	var b strings.Builder
	for _, p := range row {
		if p.tab {
			b.WriteByte('\t')
		} else {
			b.WriteString(p.shown)
		}
	}
	return b.String()
}

func (w Wrapper) paint(first bool, row []piece) string {
	var b strings.Builder
	prefix, stands := w.Rest, w.RestText
	if first {
		prefix, stands = w.First, w.FirstText
	}
	if len(prefix) > 0 {
		b.WriteString(mark.For(stands))
		for _, s := range prefix {
			b.WriteString(w.Theme.Paint(s.Style, Show(s.Text)))
		}
		b.WriteString(mark.End)
	}
	for i := 0; i < len(row); {
		j := i
		for j < len(row) && row[j].style == row[i].style {
			j++
		}
		on := w.Theme.on(row[i].style)
		b.WriteString(on)
		for _, p := range row[i:j] {
			if p.tab {
				b.WriteString(mark.For("\t") + p.shown + mark.End)
			} else {
				b.WriteString(p.shown)
			}
		}
		if on != "" {
			b.WriteString(Reset)
		}
		i = j
	}
	return b.String()
}

// WidthOf is the number of columns that spans take.
func WidthOf(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += Width(s.Text)
	}
	return n
}

// Row paints spans in one line of at most w columns.
func (t *Theme) Row(w int, spans ...Span) string {
	return Wrapper{Theme: t, Width: w, clip: true}.Lines(Flat(spans)...)[0]
}

// Flat makes newlines visible, so that the spans stay on one line.
func Flat(spans []Span) []Span {
	out := make([]Span, len(spans))
	for i, s := range spans {
		out[i] = s.Style.Span(strings.ReplaceAll(s.Text, "\n", "␊"))
	}
	return out
}

// Justify paints left and right at the edges of a line of w columns; left is cut
// first.
func (t *Theme) Justify(w int, left, right []Span) string {
	r := WidthOf(right)
	if r >= w {
		return t.Row(w, right...)
	}
	room := w - r
	if r > 0 {
		room--
	}
	l := min(WidthOf(left), room)
	if room == 0 {
		return strings.Repeat(" ", w-r) + t.Row(r, right...)
	}
	return t.Row(room, left...) + strings.Repeat(" ", w-l-r) + t.Row(r, right...)
}

// Wrap paints spans in lines of w columns.
func (t *Theme) Wrap(w int, spans ...Span) []string {
	return Wrapper{Theme: t, Width: w}.Lines(spans...)
}

// Hang wraps spans behind a mark; further lines are indented by its width.
func (t *Theme) Hang(w int, mark Span, spans ...Span) []string {
	rest := Text.Span(strings.Repeat(" ", Width(mark.Text)))
	return Wrapper{Theme: t, Width: w, First: []Span{mark}, Rest: []Span{rest}}.Lines(spans...)
}

// Packed paints items in rows of at most w columns, as many in each as fit; none is split.
func (t *Theme) Packed(w int, items ...[]Span) (rows []string) {
	var row []Span
	for _, item := range items {
		if len(row) > 0 && WidthOf(row)+WidthOf(item) > w {
			rows, row = append(rows, t.Row(w, row...)), nil
		}
		row = append(row, item...)
	}
	if len(row) > 0 {
		rows = append(rows, t.Row(w, row...))
	}
	return rows
}

// Fitting appends items as long as they fit in less than w columns: each whole, or not at all.
func Fitting(w int, row []Span, items ...[]Span) []Span {
	for _, item := range items {
		if WidthOf(row)+WidthOf(item) >= w {
			break
		}
		row = append(row, item...)
	}
	return row
}

// Joined puts a dot between the items that are not empty.
func Joined(items ...[]Span) []Span {
	var out []Span
	for _, it := range items {
		if len(it) > 0 && len(out) > 0 {
			out = append(out, Faint.Span(" · "))
		}
		out = append(out, it...)
	}
	return out
}

// Gutter is the width of the margin for marks; text starts behind it. One column
// stays free at the right edge.
const Gutter = 2

// Indent puts drawn lines behind the gutter.
func Indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if l != "" {
			out[i] = strings.Repeat(" ", Gutter) + l
		}
	}
	return out
}

// Decor is drawn text that a copy leaves out, or replaces by what it stands for.
func (t *Theme) Decor(stands string, s Span) string {
	return mark.For(stands) + t.Paint(s.Style, Show(s.Text)) + mark.End
}

// Everything is more lines than any page has.
const Everything = 1 << 30
