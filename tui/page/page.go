// Package page is a text to read over the transcript: help, a diff, the output of a job, what would
// be undone. It performs no IO: what reads the text is handed in. Start with Page.
package page

import (
	"cmp"
	"context"
	"strings"

	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// Page is one text.
type Page struct {
	Title string
	Keys  *keys.Table
	// Draw draws the page.
	Draw func(t *paint.Theme, w int) []string
	// Accept is what Enter does, and Enter its description; nil: Enter closes the page.
	Accept func() part.Intent
	Enter  string
	// Tails: the page grows, and its end is kept in view.
	Tails bool
	// Under is the overlay that is shown again afterwards.
	Under part.Overlay

	text   *text
	top    int
	follow bool
	// typed: the person wrote a text, which goes nowhere. The Enter that ends it accepts nothing.
	typed bool
}

// text is what a page reads beside the screen.
type text struct {
	read  func(context.Context) (string, error)
	lines func(t *paint.Theme, w int, s string) []string
	now   string
	drawn func(t *paint.Theme, w int) []string
}

// Once draws again only for another theme or width: a page is drawn far more often than it changes.
func Once(draw func(t *paint.Theme, w int) []string) func(t *paint.Theme, w int) []string {
	var drawn []string
	var theme *paint.Theme
	width := 0
	return func(t *paint.Theme, w int) []string {
		if t != theme || w != width {
			drawn, theme, width = draw(t, w), t, w
		}
		return drawn
	}
}

// textMost bounds a page of words.
const textMost = 512 << 10

// Text is a page of a text that lines draws.
func Text(k *keys.Table, title string, read func(context.Context) (string, error), lines func(t *paint.Theme, w int, s string) []string) *Page {
	return reading(k, title, read, func(t *paint.Theme, w int, s string) []string {
		return lines(t, w, short.Bound(cmp.Or(strings.TrimRight(s, "\n"), "(nothing)"), textMost))
	})
}

// Words draws a text of words.
func Words(t *paint.Theme, w int, s string) (out []string) {
	for _, l := range paint.OutputLines(s) {
		words := strings.TrimLeft(l, " ")
		margin := []paint.Span{paint.Text.Span(l[:min(len(l)-len(words), w/2)])}
		out = append(out, paint.Wrapper{Theme: t, Width: w, First: margin, Rest: margin}.Lines(paint.Text.Span(words))...)
	}
	return out
}

// Output is a page of what a command printed.
func Output(k *keys.Table, title string, read func(context.Context) (string, error)) *Page {
	return reading(k, title, read, func(t *paint.Theme, w int, s string) (out []string) {
		for _, l := range paint.Printed(s, paint.Text) {
			out = append(out, paint.Wrapper{Theme: t, Width: w, Hard: true}.Lines(l...)...)
		}
		if len(out) == 0 {
			out = []string{t.Paint(paint.Dim, "no output yet")}
		}
		return out
	})
}

func reading(k *keys.Table, title string, read func(context.Context) (string, error), lines func(*paint.Theme, int, string) []string) *Page {
	x := &text{read: read, lines: lines}
	return &Page{Title: title, Keys: k, Draw: x.draw, text: x, follow: true}
}

func (x *text) draw(t *paint.Theme, w int) []string {
	if x.drawn == nil {
		return []string{t.Paint(paint.Dim, "…")}
	}
	return x.drawn(t, w)
}

// Ready reports whether the text was read.
func (p *Page) Ready() bool { return p.text == nil || p.text.drawn != nil }

// Load reads the text.
func (p *Page) Load() part.Intent {
	x := p.text
	if x == nil {
		return nil
	}
	return part.Beside(func(ctx context.Context) func() part.Intent {
		s, err := x.read(ctx)
		if err != nil {
			s = strings.TrimSpace(s + "\n\n" + err.Error())
		}
		return func() part.Intent {
			if x.drawn == nil || s != x.now {
				x.now = s
				x.drawn = Once(func(t *paint.Theme, w int) []string { return x.lines(t, w, s) })
			}
			return nil
		}
	})
}

// Live reports whether the page grows.
func (p *Page) Live() bool { return p.Tails }

// Paste writes nothing.
func (p *Page) Paste(string) { p.typed = p.Accept != nil }

// Scroll moves the page by n lines; View bounds it.
func (p *Page) Scroll(n int) {
	p.top = max(p.top+n, 0)
	p.follow = false
}

// Key takes a key.
func (p *Page) Key(k keys.Key) (part.Intent, bool) {
	switch do := p.Keys.Find(k, keys.InOverlay, keys.Everywhere); {
	case do == keys.None && keys.Typed(k) != "":
		p.typed = p.Accept != nil
		return nil, true
	case do == keys.Close && k.Keystroke() == "enter" && p.Accept != nil && p.typed:
		p.typed = false
		return nil, true
	case do == keys.Close && k.Keystroke() == "enter" && p.Accept != nil:
		return p.Accept(), true
	case do == keys.Close, do == keys.Back:
		return part.Show{Overlay: p.Under}, true
	default:
		return part.Act(do), true
	}
}

// View draws the page.
func (p *Page) View(t *paint.Theme, w, h int) (out []string, x, y int) {
	title, hints := []paint.Span{paint.Faint.Span("── "), paint.Strong.Span(p.Title)}, []paint.Span{paint.Accent.Span("Esc"), paint.Dim.Span(part.Leaves(p.Under))}
	if p.Accept != nil {
		enter := []paint.Span{paint.Accent.Span("Enter"), paint.Dim.Span(" " + p.Enter + " ")}
		if p.typed {
			enter = []paint.Span{paint.Warn.Span("▲ no text is taken here; "), paint.Accent.Span("Enter"), paint.Dim.Span(" twice " + p.Enter + " ")}
		}
		hints = append(append(enter, paint.Dim.Span(" ")), hints...)
		if paint.WidthOf(title)+1+paint.WidthOf(hints) > w {
			hints = enter
		}
	}
	head := t.Justify(w, title, hints)
	lines := p.Draw(t, w-paint.Gutter-1)
	room := max(h-2, 0)
	if p.follow = p.Tails && (p.follow || p.top >= len(lines)-room); p.follow {
		p.top = len(lines)
	}
	p.top = max(min(p.top, len(lines)-room), 0)
	out = []string{head, ""}
	shown := lines[p.top:min(p.top+room, len(lines))]
	out = append(out, paint.Indent(shown)...)
	if below := len(lines) - p.top - room; below > 0 && len(out) > 2 {
		out[len(out)-1] = t.Paint(paint.Dim, "  ↓ more")
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out[:h], -1, -1
}
