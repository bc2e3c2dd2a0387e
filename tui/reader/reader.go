// Package reader is the whole transcript as an overlay, with a field to find a text, and the whole
// output of a command. It performs no
// IO. Start with Reader.
package reader

import (
	"strings"

	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/transcript"
)

// Reader is the overlay.
type Reader struct {
	*transcript.Page
	finder
	canvas func() transcript.Canvas
	// file reads the file with the whole output of a command; nil: none can be read.
	file File
	// helpers are those of a call, of which number at is shown; nil: the session is.
	helpers transcript.Inside
	at      int
}

// finder is the field of a page in which a text is found.
type finder struct {
	part.Still
	keys   *keys.Table
	field  *composer.Composer // nil: no text is being written
	text   string             // what was looked for
	missed bool               // it is nowhere
}

// New shows the transcript as far as it is in view.
func New(of *transcript.Transcript, k *keys.Table, canvas func() transcript.Canvas, file File) *Reader {
	r := &Reader{Page: transcript.NewPage(of, canvas()), finder: finder{keys: k}, canvas: canvas, file: file}
	r.Height = of.Height
	return r
}

// Helpers shows the transcript of helper at of a call.
func Helpers(of transcript.Inside, at int, k *keys.Table, canvas func() transcript.Canvas, file File) *Reader {
	r := New(of[at].Transcript, k, canvas, file)
	r.helpers, r.at = of, at
	return r
}

// title names what is shown, and the key for the next helper.
func (r *Reader) title() (title string, more []paint.Span) {
	if r.helpers == nil {
		return "Transcript", nil
	}
	if len(r.helpers) > 1 {
		more = r.hint(keys.InReading, keys.Other, "next helper")
	}
	return r.helpers[r.at].Name(), more
}

// Look finds a text, or opens the field for one.
func (r *Reader) Look(text string) {
	if text == "" {
		r.ask()
		return
	}
	r.text = text
	r.find(false)
}

func (f *finder) ask() {
	field := composer.New()
	f.field = &field
}

func (r *Reader) find(back bool) {
	r.missed = !r.Find(r.canvas(), r.text, back) && r.text != ""
}

// Scroll moves the page; by all lines to one of its ends.
func (r *Reader) Scroll(by int) { r.Page.Scroll(r.canvas(), by) }

// Paste inserts into the field.
func (f *finder) Paste(s string) {
	if line, _, _ := strings.Cut(s, "\n"); f.field != nil {
		f.field.Typed(strings.TrimRight(line, "\r"))
	}
}

// head is the title of the page, and its keys.
func (f *finder) head(t *paint.Theme, w int, title string, first ...[]paint.Span) string {
	head := f.hint(keys.Everywhere, keys.Back, "closes")
	for _, more := range append(first, f.hint(keys.InReading, keys.Find, "finds"), f.hint(keys.InReading, keys.Next, "next")) {
		if title := max(15, paint.Width(title)+5); len(more) > 0 && paint.WidthOf(head)+paint.WidthOf(more)+title < w {
			head = append(append(more, paint.Text.Span(" ")), head...)
		}
	}
	return t.Justify(w, []paint.Span{paint.Faint.Span("── "), paint.Strong.Span(title)}, head)
}

func (f *finder) hint(where keys.Scope, do keys.Action, what string) []paint.Span {
	return []paint.Span{paint.Accent.Span(f.keys.Name(where, do)), paint.Dim.Span(" " + what + " ")}
}

// line is the last line of a page of h rows: the field, or what was looked for; "" for neither.
func (f *finder) line(t *paint.Theme, w, h int) (last string, x, y int) {
	switch {
	case f.field != nil:
		label := "  find: "
		shown, x, _ := f.field.View(t, max(w-len(label)-1, 4), 1)
		return t.Paint(paint.Accent, label) + strings.Join(shown, ""), x + len(label), h - 1
	case f.missed:
		last = t.Row(w-1, paint.Warn.Span("  not found: "), paint.Text.Span(f.text))
	case f.text != "":
		last = t.Justify(w-1, []paint.Span{paint.Dim.Span("  found: "), paint.Text.Span(f.text)}, f.hint(keys.InReading, keys.Next, "next"))
	}
	return last, -1, -1
}

// View draws the page below its title, and the field in the last line.
func (r *Reader) View(t *paint.Theme, w, h int) (out []string, x, y int) {
	title, other := r.title()
	out = append(out, r.head(t, w, title, other))
	last, x, y := r.line(t, w, h)
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
		searches, handled := r.write(k)
		if searches {
			r.find(false)
		}
		return nil, handled
	}
	switch do := r.keys.Find(k, keys.InReading, keys.InOverlay, keys.Everywhere); do {
	case keys.Find:
		r.Look("")
	case keys.Next, keys.Previous:
		r.find(do == keys.Previous)
	case keys.Other:
		if n := len(r.helpers); n > 1 {
			return part.Show{Overlay: Helpers(r.helpers, (r.at+1)%n, r.keys, r.canvas, r.file)}, true
		}
	case keys.Close, keys.Back:
		return part.Show{}, true
	case keys.Toggle:
		return r.wholeOutput(), true
	case keys.Above, keys.Below:
		r.Act(do, r.canvas())
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
	return part.Show{Overlay: newPager(r, command, file)}
}

// write takes a key of the field. searches: the text is complete.
func (f *finder) write(k keys.Key) (searches, handled bool) {
	if s := keys.Typed(k); s != "" {
		f.field.Typed(s)
		return false, true
	}
	switch do := f.keys.Find(k, keys.InComposer, keys.Everywhere); do {
	case keys.Send:
		if text := strings.TrimSpace(f.field.Value()); text != "" {
			f.text = text
		}
		f.field = nil
		return true, true
	case keys.Back, keys.Interrupt, keys.Read:
		f.field = nil
	case keys.Newline, keys.Up, keys.Down, keys.Find:
	default:
		return false, f.field.Edit(do, paint.Everything)
	}
	return false, true
}
