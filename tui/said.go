package tui

import (
	"fmt"
	"strings"
)

// gutter is the width of the margin for marks; text starts behind it. One column
// stays free at the right edge.
const gutter = 2

func (c canvas) inner() int { return max(c.width-gutter-1, 8) }

// hang wraps spans behind a mark in the gutter.
func (c canvas) hang(mark span, spans ...span) []string {
	pad := strings.Repeat(" ", max(gutter-width(mark.text), 0))
	return wrapper{
		theme: c.theme, width: max(c.width-1, gutter+8),
		first: []span{mark, {pad, text}}, rest: []span{{strings.Repeat(" ", gutter), text}},
	}.lines(spans...)
}

// indent puts drawn lines behind the gutter.
func indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if l != "" {
			out[i] = strings.Repeat(" ", gutter) + l
		}
	}
	return out
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
		lines = wrapper{theme: c.theme, width: c.inner()}.lines(span{text, strong})
	}
	for _, i := range s.images[len(labelled.FindAllString(s.text, len(s.images))):] {
		lines = append(lines, c.theme.row(c.inner(), span{"▣ " + i, dim}))
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
	lines := wrapper{theme: c.theme, width: c.inner()}.lines(span{s, style{inkDim, italic}})
	if !t.finished && !c.open {
		lines = lines[max(len(lines)-4, 0):]
	} else {
		lines = c.fold(lines, 2, 0)
	}
	return indent(lines)
}

// notice is a message about the work, of one line or more.
type notice struct{ level, text string }

// foldable is false for a short notice: Ctrl+O then opens the entry before it.
func (n *notice) foldable() bool { return len(n.text) > 160 || strings.Count(n.text, "\n") > 3 }
func (n *notice) draw(c canvas) []string {
	mark, s := span{"·", dim}, dim
	switch n.level {
	case "warning":
		mark, s = span{"▲", warn}, text
	case "error":
		mark, s = span{"✗", bad}, text
	}
	return c.fold(c.hang(mark, span{strings.TrimSpace(n.text), s}), 8, 0)
}

// step and plan are the model's checklist.
type step struct{ text, status string }

type plan struct {
	explanation string
	steps       []step
}

func (p *plan) draw(c canvas) []string {
	head := []span{{"Plan", strong}}
	if p.explanation != "" {
		head = append(head, span{"  " + p.explanation, dim})
	}
	out := c.hang(span{"≡", accent}, head...)
	for _, s := range p.steps {
		mark, st := span{"☐ ", dim}, text
		switch s.status {
		case "completed":
			mark, st = span{"☑ ", good}, dim
		case "in_progress":
			mark, st = span{"▸ ", accent}, strong
		}
		w := wrapper{theme: c.theme, width: c.inner(), first: []span{mark}, rest: []span{{"  ", text}}}
		out = append(out, indent(w.lines(span{s.text, st}))...)
	}
	return out
}

// count abbreviates a number of tokens or bytes.
func count(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
