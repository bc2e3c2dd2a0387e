package terminal

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Frame is what is to be shown: View's Content in Width columns and Height rows. Each row begins and
// ends without a style.
type Frame struct {
	View          tea.View
	Width, Height int
}

// canvas is what the terminal shows, cell by cell.
type canvas struct {
	out    *bytes.Buffer
	screen *uv.TerminalRenderer
	cells  uv.ScreenBuffer
	rows   []string
}

func newCanvas(opt Options, cooked bool) canvas {
	out := &bytes.Buffer{}
	screen := uv.NewTerminalRenderer(out, opt.Environ)
	screen.SetColorProfile(opt.Profile)
	screen.SetMapNewline(cooked)
	screen.SetTabStops(-1)
	screen.SetFullscreen(true)
	screen.SetRelativeCursor(false)
	screen.Erase()
	return canvas{out: out, screen: screen, cells: uv.NewScreenBuffer(0, 0)}
}

// erase draws the next frame whole.
func (c *canvas) erase() {
	c.screen.Erase()
	c.rows = nil
}

// byGrapheme measures text as terminals with mode 2027 do.
func (c *canvas) byGrapheme() {
	c.cells.Method = ansi.GraphemeWidth
	c.screen.SetGraphemeWidth(true)
	c.erase()
}

// draw returns what turns the last frame into this one: only rows that differ are looked at, and
// only cells that differ are written.
func (c *canvas) draw(f Frame) string {
	if f.Width != c.cells.Width() || f.Height != c.cells.Height() {
		c.cells.Touched = nil
		c.cells.Resize(f.Width, f.Height)
		c.screen.Resize(f.Width, f.Height)
		c.erase()
	}
	rows := strings.Split(f.View.Content, "\n")
	rows = append(rows[:min(len(rows), f.Height)], make([]string, max(f.Height-len(rows), 0))...)
	c.scroll(moved(c.rows, rows))
	for y, row := range rows {
		if c.rows == nil || row != c.rows[y] {
			uv.NewStyledString(row).Draw(c.cells, uv.Rect(0, y, f.Width, 1))
		}
	}
	c.rows = rows
	c.screen.Render(c.cells.RenderBuffer)
	if at := f.View.Cursor; at != nil {
		c.screen.MoveTo(at.X, at.Y)
	}
	_ = c.screen.Flush() // to a buffer
	defer c.out.Reset()
	return c.out.String()
}

// band is rows top to below that move up by so many rows, or down if by is negative.
type band struct{ top, below, by int }

// scroll lets the terminal move rows. The renderer has no call that tells it so; drawing all of them again,
// unwritten, would cost a quarter of what a scrolling answer costs.
func (c *canvas) scroll(b band) {
	if b.by == 0 {
		return
	}
	first, at, step, n := b.top, b.top+1, ansi.ReverseIndex, max(b.by, -b.by)
	if b.by > 0 {
		first, at, step = b.below-n, b.below, "\n"
	}
	shown := (*uv.RenderBuffer)(reflect.ValueOf(c.screen).Elem().FieldByName("curbuf").UnsafePointer())
	for _, cells := range []*uv.RenderBuffer{shown, c.cells.RenderBuffer} {
		rotate(cells.Lines[b.top:b.below], b.by)
		cells.ClearArea(uv.Rect(0, first, cells.Width(), n))
	}
	rotate(c.rows[b.top:b.below], b.by)
	clear(c.rows[first : first+n])
	_, _ = c.screen.WriteString(ansi.SetTopBottomMargins(b.top+1, b.below) + ansi.CursorPosition(1, at) + strings.Repeat(step, n) +
		ansi.SetTopBottomMargins(1, c.cells.Height()) + ansi.CursorHomePosition)
	c.screen.SetPosition(0, 0)
}

// rotate moves the elements of a by so many places to the front, or to the back if by is negative.
func rotate[T any](a []T, by int) {
	by = (by + len(a)) % len(a)
	copy(a, slices.Concat(a[by:], a[:by]))
}

// scrollCost is about how many bytes a scroll takes.
const scrollCost = 40

// moved finds the rows of before that stand elsewhere in now: of all bands the one that saves most.
func moved(before, now []string) (best band) {
	stays, all := make([]int, len(before)), 0 // what each row costs without a scroll
	for y := range before {
		stays[y] = cost(before[y], now[y])
		all += stays[y]
	}
	saves := scrollCost
	if all <= saves {
		return band{}
	}
	for by := 1 - len(before); by < len(before); by++ {
		for y := max(0, -by); by != 0 && y < len(before)-max(0, by); y++ {
			top, saved := y, 0
			for ; y < len(before)-max(0, by) && now[y] == before[y+by]; y++ {
				saved += stays[y]
			}
			b := band{min(top, top+by), max(y, y+by), by}
			for row := b.top; row < b.below; row++ {
				if row < top || row >= y {
					saved += stays[row] - len(now[row])
				}
			}
			if y > top && saved > saves {
				saves, best = saved, b
			}
		}
	}
	return best
}

// cost is about how many bytes it takes to turn a row into another one.
func cost(from, to string) int {
	same := 0
	for same < min(len(from), len(to)) && from[same] == to[same] {
		same++
	}
	from, to = from[same:], to[same:]
	for same = 0; same < min(len(from), len(to)) && from[len(from)-1-same] == to[len(to)-1-same]; {
		same++
	}
	return max(len(from), len(to)) - same
}
