package tui

import (
	"fmt"
	"strings"

	"codeagent/event"
)

// compaction is a summary while it is written, and then its text: a line when
// folded, and all that the model continues from when open.
type compaction struct {
	reason event.CompactReason
	done   *event.Compacted
}

func (b *compaction) foldable() bool { return b.done != nil && b.done.Err == "" }
func (b *compaction) draw(c canvas) []string {
	why := map[event.CompactReason]string{event.CompactNear: "the context is nearly full", event.CompactFull: "the context is full"}[b.reason]
	if why != "" {
		why = "  " + why
	}
	switch {
	case b.done == nil:
		return c.hang(accent.span(spinner(c.frame)), text.span("Writing a summary of the conversation"), dim.span(why))
	case b.done.Err != "":
		return c.hang(warn.span("▲"), text.span("compaction failed: "+b.done.Err))
	}
	head := "Compacted"
	if b.done.Before > 0 {
		head = fmt.Sprintf("Compacted: %s → %s tokens", grouped(b.done.Before), grouped(b.done.After))
	}
	out := c.hang(accent.span("≡"), text.span(head), dim.span(why))
	lines := wrapper{theme: c.theme, width: c.inner()}.lines(dim.span(strings.TrimSpace(b.done.Summary)))
	return append(out, indent(c.fold(lines, 0, 0))...)
}

// grouped writes a number with thousands separators.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// applyCompacted shows the finished summary, or one of an earlier run.
func (t *transcript) applyCompacted(e event.Compacted) {
	t.settle()
	en := t.compacting
	if t.compacting = nil; en == nil {
		en = t.add(&compaction{reason: e.Reason}, false)
	}
	en.body.(*compaction).done = &e
	en.moving = false
	en.changed()
}
