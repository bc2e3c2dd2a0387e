package terminal

import (
	"bytes"
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
	for y, row := range rows {
		if c.rows == nil || row != c.rows[y] {
			uv.NewStyledString(row).Draw(c.cells, uv.Rect(0, y, f.Width, 1))
		}
	}
	// The renderer scrolls rows that look alike, and then looks only at those that were drawn: a row
	// that stays as it was, in what is scrolled, has to be looked at too.
	scrolls := scrolled(c.rows, rows)
	c.screen.SetScrollOptim(scrolls)
	for y := 0; scrolls && y < f.Height; y++ {
		c.cells.TouchLine(0, y, f.Width)
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

// scrolled reports whether a row of before is another row of now, and its place has changed.
func scrolled(before, now []string) bool {
	at := make(map[string]bool, len(before))
	for y, row := range before {
		if row != "" && row != now[y] {
			at[row] = true
		}
	}
	for y, row := range now {
		if len(at) > 0 && at[row] && row != before[y] {
			return true
		}
	}
	return false
}
