package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/tui/paint"
)

// Helper is a helper of a call of delegate: one line below the call, and a transcript of its own to read.
type Helper struct {
	Number     int
	Kind       string
	Transcript *Transcript // nil: a resumed session does not have it
	task       string
	doing      string // the title of the call that began last
	began      time.Time
	end        *event.HelperEnd // nil: it works
	tokens     int
}

// Name names the helper: "helper 2 (review)".
func (h *Helper) Name() string { return event.HelperName(h.Number, h.Kind) }

// Inside asks to read the transcripts of these helpers, all of one call.
type Inside []*Helper

// applyHelper passes an event of a helper to the helper's own transcript.
func (t *Transcript) applyHelper(e event.HelperEvent) {
	on, ok := t.tools[e.CallID]
	if !ok {
		return
	}
	h := on.helper(e.Number)
	if h.Transcript == nil {
		own := New(t.now)
		own.session = t.session
		h.Kind, h.Transcript, h.began = e.Kind, &own, t.now()
	}
	switch in := e.Event.(type) {
	case event.TurnStarted:
		h.task = in.Text
	case event.ToolStarted:
		h.doing = in.Title
	case event.UsageUpdated:
		h.tokens = in.Total.Input + in.Total.Output
	case event.TurnFinished:
		h.end = &event.HelperEnd{Kind: h.Kind, Task: h.task, Outcome: in.Outcome, Tokens: h.tokens, Duration: t.now().Sub(h.began)}
	}
	h.Transcript.Apply(e.Event)
	on.at.changed()
}

// helper returns helper n of the call, counted from 1.
func (t *tool) helper(n int) *Helper {
	i := slices.IndexFunc(t.helpers, func(h *Helper) bool { return h.Number >= n })
	if i < 0 {
		i = len(t.helpers)
	}
	if i == len(t.helpers) || t.helpers[i].Number != n {
		t.helpers = slices.Insert(t.helpers, i, &Helper{Number: n})
	}
	return t.helpers[i]
}

// endHelpers takes how the helpers ended, also those of a resumed session.
func (t *tool) endHelpers(ends []event.HelperEnd) {
	for i, end := range ends {
		h := t.helper(i + 1)
		h.Kind, h.task, h.tokens, h.end = end.Kind, end.Task, end.Tokens, &end
	}
	for _, h := range t.helpers {
		if h.end == nil { // the turn ended first
			h.end = &event.HelperEnd{Outcome: word.TurnInterrupted}
		}
		if h.Transcript != nil {
			h.Transcript.Interrupt()
		}
	}
}

// helped draws a line for each helper: what it is, what it does now or its task, the time and the tokens.
func (t *tool) helped(c Canvas) (out []string) {
	for _, h := range t.helpers {
		mark, took, what := paint.Accent.Span(paint.Spinner(c.Frame)), c.Now.Sub(h.began).Truncate(time.Second), h.doing
		if h.end != nil {
			mark, took, what = endMark(h.end.Outcome), h.end.Duration, ""
		}
		kind := h.Kind
		if kind == "change" {
			kind += " on a draft"
		}
		left := []paint.Span{mark, paint.Text.Span(fmt.Sprintf(" %d %s  ", h.Number, kind))}
		var right []paint.Span
		if took >= time.Second {
			right = append(right, paint.Dim.Span(" "+short.Duration(took)))
		}
		if h.tokens > 0 && c.Inner() >= 45 {
			right = append(right, paint.Dim.Span("  "+paint.Count(h.tokens)+" tokens"))
		}
		room := c.Inner() - paint.WidthOf(left) - paint.WidthOf(right) - 1
		task := strings.Join(strings.Fields(short.Head(h.task, 4<<10)), " ")
		switch doing := "· " + strings.Join(strings.Fields(short.Head(what, 4<<10)), " "); {
		case what == "":
			left = append(left, paint.Dim.Span(paint.Cut(task, room)))
		case room < 40:
			left = append(left, paint.Dim.Span(paint.Cut(doing, room)))
		default:
			task = paint.Cut(task, max(room/2, room-paint.Width(doing)-2))
			left = append(left, paint.Dim.Span(task+"  "), paint.Text.Span(paint.Cut(doing, room-paint.Width(task)-2)))
		}
		out = append(out, c.Theme.Justify(c.Inner(), left, right))
		if c.open {
			out = append(out, paint.Indent(c.Theme.Wrap(c.Inner()-paint.Gutter, paint.Dim.Span(h.task)))...)
		}
	}
	return paint.Indent(out)
}

func endMark(o word.TurnOutcome) paint.Span {
	switch o {
	case word.TurnDone:
		return paint.Good.Span("✓")
	case word.TurnInterrupted, word.TurnStopped:
		return paint.Dim.Span("■")
	}
	return paint.Bad.Span("✗")
}

// inside returns the helpers of the chosen call that have a transcript; nil: it has none.
func (f *folds) inside() (out Inside) {
	if f.chosen == nil {
		return nil
	}
	if t, ok := f.chosen.body.(*tool); ok {
		for _, h := range t.helpers {
			if h.Transcript != nil {
				out = append(out, h)
			}
		}
	}
	return out
}
