package tui

import (
	"fmt"
	"strings"

	"codeagent/event"
)

func (c canvas) inner() int { return max(c.width-gutter-1, 8) }

// hang wraps spans behind a mark in the gutter.
func (c canvas) hang(mark span, spans ...span) []string {
	pad := strings.Repeat(" ", max(gutter-width(mark.text), 0))
	return wrapper{
		theme: c.theme, width: max(c.width-1, gutter+8),
		first: []span{mark, text.span(pad)}, rest: []span{text.span(strings.Repeat(" ", gutter))},
	}.lines(spans...)
}

// fold keeps the first head and the last tail lines of a longer text, with a line
// between them that counts the hidden ones.
func (c canvas) fold(lines []string, head, tail int) []string {
	hidden := len(lines) - head - tail
	if c.open || hidden <= 1 {
		return lines
	}
	out := append(append([]string(nil), lines[:head]...), c.hidden(hidden))
	return append(out, lines[len(lines)-tail:]...)
}

// hidden is the line that stands for n others.
func (c canvas) hidden(n int) string {
	return c.theme.paint(faint, "… ") + c.theme.paint(dim, fmt.Sprintf("%d more lines", n)) + c.theme.paint(faint, "  ctrl+o")
}

// said is a message of the person. Images without a label in the text are listed
// below it; they follow those with a label.
type said struct {
	text   string
	images []string
}

func (s *said) foldable() bool { return true }
func (s *said) draw(c canvas) []string {
	var lines []string
	if text := strings.TrimSpace(s.text); text != "" || len(s.images) == 0 {
		lines = wrapper{theme: c.theme, width: c.inner()}.lines(strong.span(text))
	}
	for _, i := range s.images[len(labelled.FindAllString(s.text, len(s.images))):] {
		lines = append(lines, c.theme.row(c.inner(), dim.span("▣ "+i)))
	}
	out := indent(c.fold(lines, 8, 2))
	out[0] = c.theme.paint(accent, "›") + " " + strings.TrimPrefix(out[0], "  ")
	return out
}

// answer is the text of the model.
type answer struct {
	doc      document
	finished bool
}

func (a *answer) draw(c canvas) []string {
	if a.doc.empty() {
		return nil
	}
	a.doc.ended = a.finished
	return indent(a.doc.lines(c.theme, c.inner()))
}

// thought is the model's reasoning, dimmed. Folded it shows the last lines while it
// arrives and the first ones afterwards.
type thought struct {
	text     strings.Builder
	finished bool
}

func (t *thought) foldable() bool { return true }
func (t *thought) draw(c canvas) []string {
	s := strings.TrimSpace(t.text.String())
	if s == "" {
		return nil
	}
	// While it arrives folded, only the end is visible.
	const enough = 8 << 10
	if !c.open && !t.finished && len(s) > enough {
		s = s[len(s)-enough:]
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			s = s[i+1:]
		}
	}
	lines := wrapper{theme: c.theme, width: c.inner()}.lines(dim.with(italic).span(s))
	if !t.finished && !c.open {
		lines = lines[max(len(lines)-4, 0):]
	} else {
		lines = c.fold(lines, 2, 0)
	}
	return indent(lines)
}

// notice is a message about the work, of one line or more.
type notice struct {
	level event.Level
	text  string
}

// foldable is false for a short notice: Ctrl+O then opens the entry before it.
func (n *notice) foldable() bool { return len(n.text) > 160 || strings.Count(n.text, "\n") > 3 }
func (n *notice) draw(c canvas) []string {
	mark, s := dim.span("·"), dim
	switch n.level {
	case event.LevelWarning:
		mark, s = warn.span("▲"), text
	case event.LevelError:
		mark, s = bad.span("✗"), text
	}
	return c.fold(c.hang(mark, s.span(strings.TrimSpace(n.text))), 8, 0)
}

// plan is the model's checklist.
type plan struct {
	explanation string
	steps       []event.PlanStep
}

func (p *plan) draw(c canvas) []string {
	head := []span{strong.span("Plan")}
	if p.explanation != "" {
		head = append(head, dim.span("  "+p.explanation))
	}
	out := c.hang(accent.span("≡"), head...)
	for _, s := range p.steps {
		mark, st := dim.span("☐ "), text
		switch s.Status {
		case event.StepCompleted:
			mark, st = good.span("☑ "), dim
		case event.StepInProgress:
			mark, st = accent.span("▸ "), strong
		}
		w := wrapper{theme: c.theme, width: c.inner(), first: []span{mark}, rest: []span{text.span("  ")}}
		out = append(out, indent(w.lines(st.span(s.Step)))...)
	}
	return out
}
