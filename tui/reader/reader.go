// Package reader is the whole transcript as an overlay, with a field to find a text. It performs no
// IO. Start with Reader.
package reader

import (
	"context"
	"strings"

	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/transcript"
)

// Reader is the overlay.
type Reader struct {
	*transcript.Page
	part.Still
	keys   *keys.Table
	canvas func() transcript.Canvas
	// file reads the file with the whole output of a command; nil: none can be read.
	file   func(ctx context.Context, name string) (string, error)
	field  *composer.Composer // nil: no text is being written
	text   string             // what was looked for
	missed bool               // it is nowhere
}

// New shows the transcript as far as it is in view.
func New(of *transcript.Transcript, k *keys.Table, canvas func() transcript.Canvas, file func(context.Context, string) (string, error)) *Reader {
	r := &Reader{Page: transcript.NewPage(of, canvas()), keys: k, canvas: canvas, file: file}
	r.Height = of.Height
	return r
}

// Look finds a text, or opens the field for one.
func (r *Reader) Look(text string) {
	if text == "" {
		field := composer.New()
		r.field = &field
		return
	}
	r.text = text
	r.find(false)
}

func (r *Reader) find(back bool) {
	r.missed = !r.Find(r.canvas(), r.text, back) && r.text != ""
}

// Scroll moves the page; by all lines to one of its ends.
func (r *Reader) Scroll(by int) {
	switch {
	case by <= -paint.Everything:
		r.Home(r.canvas())
	case by >= paint.Everything:
		r.End()
	default:
		r.Page.Scroll(r.canvas(), by)
	}
}

// Paste inserts into the field.
func (r *Reader) Paste(s string) {
	if line, _, _ := strings.Cut(s, "\n"); r.field != nil {
		r.field.Typed(strings.TrimRight(line, "\r"))
	}
}

// View draws the page below its title, and the field in the last line.
func (r *Reader) View(t *paint.Theme, w, h int) (out []string, x, y int) {
	hint := func(where keys.Scope, do keys.Action, what string) []paint.Span {
		return []paint.Span{paint.Accent.Span(r.keys.Name(where, do)), paint.Dim.Span(" " + what + " ")}
	}
	head := hint(keys.Everywhere, keys.Back, "closes")
	for _, more := range [][]paint.Span{hint(keys.InReading, keys.Find, "finds"), hint(keys.InReading, keys.Next, "next")} {
		if title := 15; paint.WidthOf(head)+paint.WidthOf(more)+title < w {
			head = append(append(more, paint.Text.Span(" ")), head...)
		}
	}
	out = append(out, t.Justify(w, []paint.Span{paint.Faint.Span("── "), paint.Strong.Span("Transcript")}, head))
	x, y = -1, -1
	last := ""
	switch {
	case r.field != nil:
		label := "  find: "
		shown, cx, _ := r.field.View(t, max(w-len(label)-1, 4), 1)
		last = t.Paint(paint.Accent, label) + strings.Join(shown, "")
		x, y = cx+len(label), h-1
	case r.missed:
		last = t.Row(w-1, paint.Warn.Span("  not found: "), paint.Text.Span(r.text))
	case r.text != "":
		last = t.Justify(w-1, []paint.Span{paint.Dim.Span("  found: "), paint.Text.Span(r.text)}, hint(keys.InReading, keys.Next, "next"))
	}
	room := max(h-1, 0)
	if last != "" {
		room = max(room-1, 0)
	}
	out = append(out, r.Page.View(r.canvas(), room)...)
	if last != "" {
		out = append(out, last)
	}
	return out[:min(len(out), h)], x, y
}

// Key takes a key.
func (r *Reader) Key(k keys.Key) (part.Intent, bool) {
	if r.field != nil {
		return r.write(k)
	}
	switch do := r.keys.Find(k, keys.InReading, keys.InOverlay, keys.Everywhere); do {
	case keys.Find:
		r.Look("")
	case keys.Next, keys.Previous:
		r.find(do == keys.Previous)
	case keys.Close, keys.Back:
		return part.Show{}, true
	case keys.Toggle:
		return r.wholeOutput(), true
	case keys.Above:
		r.Choose(r.canvas(), -1)
	case keys.Below:
		r.Choose(r.canvas(), 1)
	case keys.Copy:
		return part.Copy(r.Source()), true
	case keys.Read:
	default:
		return part.Act(do), true
	}
	return nil, true
}

// wholeOutput shows the output of a command of which the page has a part.
func (r *Reader) wholeOutput() part.Intent {
	command, file := r.Output()
	if file == "" || r.file == nil {
		return part.Say("all output of the commands in view is shown here")
	}
	whole := page.Output(r.keys, command, func(ctx context.Context) (string, error) { return r.file(ctx, file) })
	whole.Under = r
	return part.Show{Overlay: whole}
}

// write takes a key of the field.
func (r *Reader) write(k keys.Key) (part.Intent, bool) {
	if s := keys.Typed(k); s != "" {
		r.field.Typed(s)
		return nil, true
	}
	switch do := r.keys.Find(k, keys.InComposer, keys.Everywhere); do {
	case keys.Send:
		if text := strings.TrimSpace(r.field.Value()); text != "" {
			r.text = text
		}
		r.field = nil
		r.find(false)
	case keys.Back, keys.Interrupt, keys.Read:
		r.field = nil
	case keys.Newline, keys.Up, keys.Down, keys.Find:
	default:
		return nil, r.field.Edit(do, paint.Everything)
	}
	return nil, true
}
