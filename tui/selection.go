package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/mark"
	"codeagent/tui/paint"
)

// selection is what the mouse was dragged over, in screen cells of the drawn rows:
// the marked text is the copied text.
type selection struct {
	held, any          bool
	fromX, fromY, x, y int
}

func (s *selection) start(x, y int) { *s = selection{held: true, fromX: x, fromY: y, x: x, y: y} }

func (s *selection) extend(x, y int) {
	if s.held {
		s.x, s.y, s.any = x, y, true
	}
}

// clicked reports whether the button was pressed, and nothing dragged.
func (s *selection) clicked() bool { return s.held && !s.any }

// bounds returns the selected columns of row y, from inclusive and to exclusive.
func (s *selection) bounds(y int) (from, to int) {
	const edge = 1 << 16
	ay, ax, by, bx := s.fromY, s.fromX, s.y, s.x
	if by < ay || by == ay && bx < ax {
		ay, ax, by, bx = by, bx, ay, ax
	}
	if !s.any || y < ay || y > by {
		return 0, 0
	}
	from, to = 0, edge
	if y == ay {
		from = ax
	}
	if y == by {
		to = bx + 1
	}
	return max(from, paint.Gutter), to // marks in the gutter are not text
}

func (s *selection) mark(rows []string) []string {
	if !s.any {
		return rows
	}
	out := append([]string(nil), rows...)
	for y, row := range rows {
		from, to := s.bounds(y)
		w := ansi.StringWidth(row)
		if to = min(to, w); from < to {
			row = mark.Strip(row)
			out[y] = ansi.Cut(row, 0, from) + paint.Reset + reversed + ansi.Strip(ansi.Cut(row, from, to)) + paint.Reset + ansi.Cut(row, to, w)
		}
	}
	return out
}

const reversed = "\x1b[7m"

// text is what the selected cells stand for: tabs, no margins, and no breaks that only
// the width of the screen made.
func (s *selection) text(rows []string) string {
	var out mark.CopyBuffer
	for y, row := range rows {
		if from, to := s.bounds(y); to > from {
			out.Add(row, from, to)
		}
	}
	return strings.Trim(out.String(), "\n")
}

// finish ends the drag and returns the selected text, which goes to the terminal's
// clipboard. The terminal may ignore it, and does not report that.
func (s *selection) finish(rows []string) string {
	s.held = false
	return s.text(rows)
}
