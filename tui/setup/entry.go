package setup

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// entry is a line that the person writes. It has no history and nothing that can be put back: what is
// deleted is gone. A secret one is drawn as dots.
type entry struct {
	keys                *keys.Table
	title, label, enter string
	about               []string
	warning, problem    string
	secret              bool
	text                string
	done                func(e *entry, text string) part.Intent
	under               part.Overlay
	part.Still
}

// mostWritten bounds the line, in bytes.
const mostWritten = 32 << 10

// Key takes all keys but those that redraw, suspend or quit: none of them may lead what is typed elsewhere.
func (e *entry) Key(k keys.Key) (part.Intent, bool) {
	do := e.keys.Find(k, keys.InComposer, keys.Everywhere)
	switch typed := keys.Typed(k); {
	case typed != "":
		e.Paste(typed)
	case do == keys.Send:
		return e.done(e, strings.TrimSpace(e.text)), true
	case do == keys.Back:
		return part.Show{Overlay: e.under}, true
	case do == keys.Backspace:
		_, last := utf8.DecodeLastRuneInString(e.text)
		e.text, e.problem = e.text[:len(e.text)-last], ""
	case do == keys.CutLeft || do == keys.CutWord:
		e.text, e.problem = "", ""
	case do == keys.Interrupt && e.text != "":
		e.text = ""
	case do == keys.Interrupt || do == keys.Redraw || do == keys.Suspend:
		return nil, false
	}
	return nil, true
}

// Paste takes a text at the end of the line.
func (e *entry) Paste(text string) {
	if e.problem = ""; len(e.text)+len(text) > mostWritten {
		e.problem = "this is too long"
		return
	}
	e.text += strings.Trim(text, "\r\n\t")
}

// Scroll is part of part.Overlay.
func (*entry) Scroll(int) {}

// View draws the line below its title, what there is to know, and the keys.
func (e *entry) View(t *paint.Theme, w, h int) (out []string, x, y int) {
	label := "  " + e.label + " "
	room := max(w-paint.Width(label)-2, 1)
	shown := paint.Show(e.text)
	if e.secret {
		n := utf8.RuneCountInString(e.text)
		count := ""
		if n > 0 {
			count = fmt.Sprintf(" %d characters", n)
		}
		shown = strings.Repeat("•", max(min(n, room-paint.Width(count)), 0)) + count
		x = min(n, max(room-paint.Width(count), 0))
	} else {
		for paint.Width(shown) > room { // its end is in view
			_, first := utf8.DecodeRuneInString(shown)
			shown = shown[first:]
		}
		x = paint.Width(shown)
	}
	out = append(out,
		t.Justify(w, []paint.Span{paint.Faint.Span("── "), paint.Strong.Span(e.title)}, []paint.Span{paint.Accent.Span("Esc"), paint.Dim.Span(" goes back ")}),
		"", t.Row(w-1, paint.Accent.Span(label), paint.Text.Span(shown)), "")
	foot := t.Row(w-1, paint.Accent.Span("  Enter"), paint.Dim.Span(" "+e.enter+"   "), paint.Accent.Span(e.keys.Name(keys.InComposer, keys.CutLeft)), paint.Dim.Span(" clears"))
	for _, warned := range []string{e.problem, e.warning} {
		if warned != "" {
			out = append(out, t.Hang(w-1, paint.Warn.Span("  ▲ "), paint.Warn.Span(warned))...)
		}
	}
	for _, line := range e.about {
		out = append(out, paint.Indent(t.Wrap(w-paint.Gutter-1, paint.Dim.Span(line)))...)
	}
	out = out[:min(len(out), max(h-1, 0))]
	for len(out) < h-1 {
		out = append(out, "")
	}
	return append(out, foot)[:h], min(paint.Width(label)+x, w-1), min(2, h-1)
}
