package transcript

import (
	"fmt"
	"strings"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/paint"
)

// compaction is a summary while it is written, and then its text: a line when
// folded, and all that the model continues from when open.
type compaction struct {
	reason word.CompactReason
	done   *event.Compacted
}

func (b *compaction) Foldable() bool { return b.done != nil && b.done.Err == "" }
func (b *compaction) Draw(c Canvas) []string {
	why := map[word.CompactReason]string{word.CompactNear: "the context is nearly full", word.CompactFull: "the context is full"}[b.reason]
	if why != "" {
		why = "  " + why
	}
	switch {
	case b.done == nil:
		return c.Hang(paint.Accent.Span(paint.Spinner(c.Frame)), paint.Text.Span("Writing a summary of the conversation"), paint.Dim.Span(why))
	case b.done.Err != "":
		return c.Hang(paint.Warn.Span("▲"), paint.Text.Span("compaction failed: "+b.done.Err))
	}
	head := "Compacted"
	if b.done.Before > 0 {
		head = fmt.Sprintf("Compacted: %s → %s tokens", paint.Count(b.done.Before), paint.Count(b.done.After))
	}
	out := c.Hang(paint.Accent.Span("≡"), paint.Text.Span(head), paint.Dim.Span(why))
	lines := c.Theme.Wrap(c.Inner(), paint.Dim.Span(strings.TrimSpace(b.done.Summary)))
	return append(out, paint.Indent(c.Fold(lines, 0, 0))...)
}

// applyCompacted shows the finished summary, or one of an earlier run.
func (t *Transcript) applyCompacted(e event.Compacted) {
	t.settle()
	en := t.compacting
	if t.compacting = nil; en == nil {
		en = t.add(&compaction{reason: e.Reason}, false)
	}
	en.body.(*compaction).done = &e
	en.moving = false
	en.changed()
}
