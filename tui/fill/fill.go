// Package fill is the page of /context: what fills the model's context. It performs no IO: what counts it is
// handed in. Start with Page.
package fill

import (
	"context"
	"fmt"
	"strings"

	"codeagent/tui/keys"
	"codeagent/tui/page"
	"codeagent/tui/paint"
)

// Part is one part of the context.
type Part struct {
	Name   string
	Tokens int
}

// Context is what the next request has, in tokens.
type Context struct {
	Parts []Part
	// Limit is the model's context, Reserve the part of it that is kept for the answer. Assumed: the limit is
	// not known.
	Limit, Reserve int
	Assumed        bool
	// Gain is what a summary would replace.
	Gain int
}

// Page shows what count returns; count runs beside the screen.
func Page(k *keys.Table, count func(context.Context) (Context, error)) *page.Page {
	var now Context
	return page.Text(k, "Context", func(ctx context.Context) (_ string, err error) {
		now, err = count(ctx)
		return ".", err
	}, func(t *paint.Theme, w int, _ string) []string { return now.draw(t, w) })
}

// widest is the longest bar.
const widest = 30

func (c Context) draw(t *paint.Theme, w int) []string {
	used := 0
	for _, p := range c.Parts {
		used += p.Tokens
	}
	of := ""
	if c.Assumed {
		of = ", a limit that is assumed"
	}
	limit := max(c.Limit, 1)
	out := t.Wrap(w, paint.Strong.Span("about "+paint.Count(used)+" of "+paint.Count(c.Limit)+" tokens"), paint.Dim.Span(fmt.Sprintf(" (%d%%)%s", used*100/limit, of)))
	gain := "/compact would gain nothing now."
	if c.Gain > 0 {
		gain = "/compact would summarize about " + paint.Count(c.Gain) + " tokens."
	}
	out = append(out, t.Wrap(w, paint.Text.Span(gain))...)
	out = append(out, "")
	const name, numbers = 18, 13
	bar := max(min(w-name-numbers, widest), 0)
	row := func(p Part, ink paint.Style) {
		long := 0
		if p.Tokens > 0 {
			long = min(max(p.Tokens*bar/limit, 1), bar)
		}
		share := fmt.Sprintf("%d%%", p.Tokens*100/limit)
		if p.Tokens > 0 && p.Tokens*100 < limit {
			share = "<1%"
		}
		out = append(out, t.Row(w, paint.Text.Span(fmt.Sprintf("%-*s", name, p.Name)), ink.Span(strings.Repeat("█", long)), paint.Faint.Span(strings.Repeat("░", bar-long)),
			paint.Text.Span(fmt.Sprintf("%7s", paint.Count(p.Tokens))), paint.Dim.Span(fmt.Sprintf("%5s", share))))
	}
	for _, p := range c.Parts {
		row(p, paint.Accent)
	}
	row(Part{"kept for answers", c.Reserve}, paint.Dim)
	row(Part{"free", max(c.Limit-c.Reserve-used, 0)}, paint.Good)
	out = append(out, "")
	return append(out, t.Wrap(w, paint.Dim.Span("Estimated from the text of the next request, corrected by the provider's last count."))...)
}
