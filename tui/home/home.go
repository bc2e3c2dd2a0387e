// Package home is the first entry of a transcript: what a person wants to know before the first message.
// It performs no IO. Start with Home.Draw.
package home

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"codeagent/event"
	"codeagent/internal/short"
	"codeagent/tui/paint"
)

// Facts are what Home shows beside the session's own event.
type Facts struct {
	// Sandbox says in a few words what commands may do.
	Sandbox string
	// Servers names the MCP servers of the session.
	Servers []string
	// Look finds what needs IO, beside the screen; nil: it is not shown.
	Look func(context.Context) Found
}

// Found is what needs IO.
type Found struct {
	// Last is the title of this folder's last session, "" without one; Age is when it was used.
	Last, Age string
	// Instructions are the paths of the instruction files, as they are shown.
	Instructions []string
}

// Home is the entry.
type Home struct {
	Session event.SessionStarted
	Facts   Facts
	// Found is nil until Look has returned.
	Found *Found
}

// labels is the width of the names of the rows.
const labels = 9

// Draw returns the lines. Each fact has one row, also while it is looked for, so that nothing moves when it
// is found. lines: they are written once and never drawn again.
func (h Home) Draw(t *paint.Theme, w int, home string, lines bool) []string {
	s := h.Session
	out := t.Hang(w-1, paint.Accent.Span("◆ "), paint.Strong.Span("codeagent"), paint.Dim.Span("  "+paint.Tilde(s.Folder, home)))
	row := func(label string, left, right []paint.Span) {
		if label = fmt.Sprintf("%-*s", labels, label); w < 3*labels {
			label = ""
		}
		room := max(w-paint.Gutter-len(label)-1, 0)
		head := t.Row(w, paint.Text.Span("  "), paint.Faint.Span(label))
		for len(right) > 0 && paint.WidthOf(right)+min(paint.WidthOf(left), 20) > room {
			right = right[:len(right)-1]
		}
		room -= paint.WidthOf(right)
		out = append(out, head+t.Row(room, left...)+t.Row(paint.WidthOf(right), right...))
	}
	if s.Tour {
		out = append(out, t.Hang(w-1, paint.Text.Span("  "), paint.Dim.Span("No model is set up, so the built-in tour plays. The model is scripted; the commands, the sandbox and its denials are real."))...)
	} else {
		row("model", []paint.Span{paint.Text.Span(cmp.Or(s.Model, "the provider's model"))}, []paint.Span{paint.Accent.Span("  /model"), paint.Dim.Span(" changes it")})
	}
	if h.Facts.Sandbox != "" {
		row("sandbox", []paint.Span{paint.Text.Span(h.Facts.Sandbox)}, []paint.Span{paint.Accent.Span("  /sandbox"), paint.Dim.Span(" shows it")})
	}
	if n := len(s.Enforcement.Weaknesses); n > 0 {
		row("", []paint.Span{paint.Warn.Span("▲ " + short.Count(n, "thing") + " not enforced")}, []paint.Span{paint.Accent.Span("  /status"), paint.Dim.Span(" lists " + it(n))})
	}
	if len(h.Facts.Servers) > 0 {
		row("servers", []paint.Span{paint.Text.Span(strings.Join(h.Facts.Servers, ", "))}, []paint.Span{paint.Accent.Span("  /mcp")})
	}
	switch {
	case h.Facts.Look == nil || lines:
	case h.Found == nil:
		out = append(out, "", "")
	default:
		if f := h.Found; f.Last == "" {
			row("last", []paint.Span{paint.Dim.Span("none in this folder yet")}, nil)
		} else {
			row("last", []paint.Span{paint.Text.Span(f.Last)}, []paint.Span{paint.Dim.Span("  " + f.Age), paint.Accent.Span("  /resume")})
		}
		if f := h.Found; len(f.Instructions) == 0 {
			row("reads", []paint.Span{paint.Dim.Span("no AGENTS.md yet")}, []paint.Span{paint.Accent.Span("  /init"), paint.Dim.Span(" writes one")})
		} else {
			row("reads", []paint.Span{paint.Text.Span(strings.Join(f.Instructions, ", "))}, nil)
		}
	}
	if lines {
		return append(out, t.Hang(w-1, paint.Text.Span("  "), paint.Dim.Span("/help lists the commands. /more shows all of the last output. Ctrl+C interrupts."))...)
	}
	tip := []paint.Span{paint.Accent.Span("/"), paint.Dim.Span(" commands")}
	for _, more := range [][2]string{{"@", " files"}, {"!", " runs a command"}, {"Esc", " interrupts"}} {
		longer := append(tip[:len(tip):len(tip)], paint.Text.Span("   "), paint.Accent.Span(more[0]), paint.Dim.Span(more[1]))
		if paint.WidthOf(longer)+paint.Gutter+labels+1 > w {
			break
		}
		tip = longer
	}
	row("keys", tip, nil)
	return out
}

func it(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
