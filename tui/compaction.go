package tui

import (
	"fmt"
	"strings"

	"codeagent/event"
)

// compaction is a summary that is written, and then the summary: folded it is a
// line, open it is all that the model goes on from.
type compaction struct {
	reason string
	done   *event.Compacted
}

func (b *compaction) foldable() bool { return b.done != nil && b.done.Err == "" }
func (b *compaction) draw(c canvas) []string {
	why := map[string]string{event.CompactNear: "the context is nearly full", event.CompactFull: "the context is full"}[b.reason]
	if why != "" {
		why = "  " + why
	}
	switch {
	case b.done == nil:
		return c.hang(span{spinner(c.frame), accent}, span{"Writing a summary of the conversation", text}, span{why, dim})
	case b.done.Err != "":
		return c.hang(span{"▲", warn}, span{"No summary was made: " + b.done.Err, text})
	}
	head := "Compacted"
	if b.done.Before > 0 {
		head = fmt.Sprintf("Compacted: %s → %s tokens", grouped(b.done.Before), grouped(b.done.After))
	}
	out := c.hang(span{"≡", accent}, span{head, text}, span{why, dim})
	lines := wrapper{theme: c.theme, width: c.inner()}.lines(span{strings.TrimSpace(b.done.Summary), dim})
	return append(out, indent(c.fold(lines, 0, 0))...)
}

// grouped writes a number with its thousands apart.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// applyCompacted shows how the summary that was begun came out, or one of an
// earlier run.
func (m *app) applyCompacted(e event.Compacted) {
	m.settle()
	if e.Err == "" && e.After > 0 {
		m.facts.usage.Context = e.After
	}
	en := m.compacting
	if m.compacting = nil; en == nil {
		en = m.transcript.add(&compaction{reason: e.Reason}, false)
	}
	en.body.(*compaction).done = &e
	if e.Err != "" && e.Reason == event.CompactAsked {
		m.outcome = "failed" // and told
	}
	en.moving = false
	en.changed()
}
