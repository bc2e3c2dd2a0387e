package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/transcript"
)

// reader is the whole transcript as an overlay, with a field to find a text.
type reader struct {
	*transcript.Page
	canvas func() transcript.Canvas
	field  *composer.Composer // nil: no text is being written
	text   string             // what was looked for
	missed bool               // it is nowhere
	keys   *keys.Table
}

// readTranscript is Ctrl+T.
func readTranscript(m *app) *reader {
	r := &reader{canvas: m.canvas, keys: m.keys, Page: transcript.NewPage(&m.transcript, m.canvas())}
	r.Height = m.transcript.Height
	m.panel = r
	return r
}

// findText is Ctrl+F, and /find with a text.
func findText(m *app, text string) tea.Cmd {
	r, ok := m.panel.(*reader)
	if !ok {
		r = readTranscript(m)
	}
	if text != "" {
		r.text = text
		r.find(false)
		return nil
	}
	field := composer.New()
	r.field = &field
	return nil
}

func (r *reader) find(back bool) {
	r.missed = !r.Find(r.canvas(), r.text, back) && r.text != ""
}

func (r *reader) live() func() tea.Cmd { return nil }

// Scroll moves the page; by all lines to one of its ends.
func (r *reader) Scroll(by int) {
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
func (r *reader) Paste(s string) {
	if line, _, _ := strings.Cut(s, "\n"); r.field != nil {
		r.field.Typed(strings.TrimRight(line, "\r"))
	}
}

// View draws the page below its title, and the field in the last line.
func (r *reader) View(t *paint.Theme, w, h int) (out []string, x, y int) {
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

func (r *reader) key(m *app, k tea.Key) tea.Cmd {
	if r.field != nil {
		return r.write(m, k)
	}
	switch do := m.keys.Find(k, keys.InReading, keys.InOverlay, keys.Everywhere); do {
	case keys.Find:
		return findText(m, "")
	case keys.Next, keys.Previous:
		r.find(do == keys.Previous)
	case keys.Close, keys.Back:
		m.panel = nil
	case keys.Toggle:
		return r.wholeOutput(m)
	case keys.Above:
		r.Choose(r.canvas(), -1)
	case keys.Below:
		r.Choose(r.canvas(), 1)
	case keys.Copy:
		return putInClipboard(m, r.Source())
	case keys.Read:
	default:
		return m.common(do)
	}
	return nil
}

// mostOutput bounds what is shown of a file with a command's output.
const mostOutput = 4 << 20

// wholeOutput shows the output of a command of which the page has a part.
func (r *reader) wholeOutput(m *app) tea.Cmd {
	command, file := r.Output()
	outputs := m.offers.Background
	if file == "" || outputs == nil {
		return m.say("all output of the commands in view is shown here")
	}
	page, set := printedPage(command, r)
	m.panel = page
	return m.aside(func(ctx context.Context) then {
		data, err := outputs.File(ctx, file, mostOutput)
		return func(m *app) tea.Cmd {
			switch {
			case err != nil:
				data = []byte(err.Error())
			case len(data) == mostOutput:
				data = append(data, "\n… the rest is in "+paint.Tilde(file, m.facts.home)...)
			}
			set(data)
			return nil
		}
	})
}

// write takes a key of the field.
func (r *reader) write(m *app, k tea.Key) tea.Cmd {
	if s := keys.Typed(k); s != "" {
		r.field.Typed(s)
		return nil
	}
	switch do := m.keys.Find(k, keys.InComposer, keys.Everywhere); do {
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
		if !r.field.Edit(do, 1<<20) {
			return m.common(do)
		}
	}
	return nil
}

// blockKey takes a key that means the chosen block, while nothing was typed.
func blockKey(m *app, k tea.Key) (handled bool, cmd tea.Cmd) {
	if !m.transcript.Chosen() || !m.composer.Empty() || m.rewind.Active() {
		return false, nil
	}
	switch m.keys.Find(k, keys.InBlock) {
	case keys.Open:
		m.transcript.Toggle(m.canvas())
	case keys.Copy:
		return true, putInClipboard(m, m.transcript.Source())
	default:
		if keys.Typed(k) != "" {
			m.transcript.Unchoose()
		}
		return false, nil
	}
	return true, nil
}
