package transcript

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/markdown"
	"codeagent/tui/message"
	"codeagent/tui/paint"
)

// Inner is the width of text behind the gutter.
func (c Canvas) Inner() int { return max(c.Width-paint.Gutter-1, 8) }

// prose is the width of text that is read as such: no longer than is easy to read.
func (c Canvas) prose() int { return min(c.Inner(), 100) }

func (c Canvas) row(spans ...paint.Span) []string {
	return paint.Indent([]string{c.Theme.Row(c.Inner(), spans...)})
}

func (c Canvas) wrap(spans ...paint.Span) []string {
	return paint.Indent(c.Theme.Wrap(c.Inner(), spans...))
}

// Hang wraps spans behind a mark in the gutter.
func (c Canvas) Hang(mark paint.Span, spans ...paint.Span) []string {
	return c.hang(mark, 0, spans...)
}

// hang is Hang with the rows below the first one indented by further columns.
func (c Canvas) hang(mark paint.Span, further int, spans ...paint.Span) []string {
	mark.Text += strings.Repeat(" ", max(paint.Gutter-paint.Width(mark.Text), 0))
	rest := paint.Text.Span(strings.Repeat(" ", paint.Width(mark.Text)+further))
	w := paint.Wrapper{Theme: c.Theme, Width: max(c.Width-1, paint.Gutter+8), First: []paint.Span{mark}, Rest: []paint.Span{rest}}
	return w.Lines(spans...)
}

// Fold keeps the first head and the last tail lines of a longer text, with a line
// between them that counts the hidden ones.
func (c Canvas) Fold(lines []string, head, tail int) []string {
	hidden := len(lines) - head - tail
	if c.open || hidden <= 1 {
		return lines
	}
	out := append(append([]string(nil), lines[:head]...), c.hidden(hidden))
	return append(out, lines[len(lines)-tail:]...)
}

func (c Canvas) hidden(n int) string { return c.more(fmt.Sprintf("%d more lines", n)) }

// more is the line for what is left out.
func (c Canvas) more(what string) string {
	opens := "  Ctrl+O"
	if c.Lines {
		opens = "  /more"
	}
	return c.Theme.Row(c.Inner(), paint.Faint.Span("… "), paint.Dim.Span(what), paint.Faint.Span(opens))
}

// said is a message of the person. Images without a label in the text are listed
// below it; they follow those with a label.
type said struct {
	text   string
	images []string
}

func (s *said) Foldable() bool { return true }

// Draw shows a bar beside the message on a row of its own colour: without colours the
// bar tells it from an answer.
func (s *said) Draw(c Canvas) []string {
	own := func(s paint.Style) paint.Style { return s.On(paint.TintSaid) }
	var lines []string
	if text := strings.TrimSpace(s.text); text != "" || len(s.images) == 0 {
		lines = c.Theme.Wrap(c.prose(), own(paint.Strong).Span(text))
	}
	for _, i := range s.images[len(message.Labels().FindAllString(s.text, len(s.images))):] {
		lines = append(lines, c.Theme.Row(c.prose(), own(paint.Dim).Span("▣ "+i)))
	}
	lines = c.Fold(lines, 8, 2)
	for i, l := range lines {
		pad := strings.Repeat(" ", max(c.Width-1-paint.Gutter-ansi.StringWidth(l), 0))
		lines[i] = c.Theme.Decor("", own(paint.Accent).Span("┃ ")) + l + c.Theme.Decor("", own(paint.Text).Span(pad))
	}
	return lines
}

// answer is the text of the model.
type answer struct{ doc *markdown.Document }

func (a *answer) Draw(c Canvas) []string {
	if a.doc.Empty() {
		return nil
	}
	return a.doc.Lines(c.Theme, c.Inner())
}

// thought is the model's reasoning, dimmed. Folded it shows the last lines while it
// arrives and the first ones afterwards.
type thought struct{ doc *markdown.Document }

func (t *thought) Foldable() bool { return true }
func (t *thought) Draw(c Canvas) []string {
	if t.doc.Empty() {
		return nil
	}
	lines := t.doc.Lines(c.Theme, c.prose())
	if !t.doc.Ended && !c.open {
		lines = lines[max(len(lines)-4, 0):]
	} else {
		head := min(2, len(lines))
		if head == 2 && lines[1] == "" {
			head = 1
		}
		lines = c.Fold(lines, head, 0)
	}
	return paint.Indent(lines)
}

// notice is a message about the work, of one line or more.
type notice struct {
	level word.Level
	text  string
}

// Foldable is false for a short notice: Ctrl+O then opens the entry before it.
func (n *notice) Foldable() bool { return len(n.text) > 160 || strings.Count(n.text, "\n") > 3 }
func (n *notice) Draw(c Canvas) []string {
	mark, s := paint.Dim.Span("·"), paint.Dim
	switch n.level {
	case word.LevelWarning:
		mark, s = paint.Warn.Span("▲"), paint.Text
	case word.LevelError:
		mark, s = paint.Bad.Span("✗"), paint.Text
	}
	c.Width = min(c.Width, c.prose()+paint.Gutter+1)
	return c.Fold(c.Hang(mark, s.Span(paint.Tildes(strings.TrimSpace(n.text), c.Home))), 8, 0)
}

// plan is the model's checklist.
type plan struct {
	explanation string
	steps       []event.PlanStep
}

func (p *plan) Draw(c Canvas) []string {
	head := []paint.Span{paint.Strong.Span("Plan")}
	if p.explanation != "" {
		head = append(head, paint.Dim.Span("  "+p.explanation))
	}
	out := c.Hang(paint.Accent.Span("≡"), head...)
	for _, s := range p.steps {
		mark, st := paint.Step(s.Status == word.StepCompleted, s.Status == word.StepInProgress)
		out = append(out, paint.Indent(c.Theme.Hang(c.Inner(), mark, st.Span(s.Step)))...)
	}
	return out
}

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
	lines := c.Theme.Wrap(c.prose(), paint.Dim.Span(strings.TrimSpace(b.done.Summary)))
	return append(out, paint.Indent(c.Fold(lines, 0, 0))...)
}

// applyCompacted shows the finished summary, or one of an earlier run.
func (t *Transcript) applyCompacted(e event.Compacted) {
	t.settle()
	en := t.compacting
	if t.compacting = nil; en == nil {
		en = t.add(&compaction{reason: e.Reason})
	}
	en.body.(*compaction).done = &e
	en.moving = false
	en.changed()
}

// retry is a failed request that is sent again. Its countdown runs only while it
// waits.
type retry struct {
	event event.Retrying
	until time.Time
	// over: it was sent again and something arrived; early: the wait was interrupted.
	over, early bool
}

func (r *retry) Draw(c Canvas) []string {
	words := cmp.Or(r.event.Message, "the request failed")
	left := r.until.Sub(c.Now)
	switch {
	case r.early:
		words += " · not retried"
	case r.over:
		words += " · retried (" + r.event.Number() + ")"
	default:
		words += " · retry " + r.event.Number()
		if left > 0 {
			words += " in " + countdown(left)
		}
		if more := max(left, 0) + r.event.Left; r.event.Left > 0 {
			words += " · gives up in " + countdown(more) + " · Esc: stop now"
		}
	}
	return c.Fold(c.Hang(paint.Warn.Span("▲"), paint.Text.Span(words)), 8, 0)
}

func countdown(left time.Duration) string {
	if left += time.Second - 1; left >= time.Minute {
		return paint.Minutes(left)
	}
	return fmt.Sprintf("%d s", int(left.Seconds()))
}

// applyRetry removes the part of the answer that had arrived.
func (t *Transcript) applyRetry(e event.Retrying) {
	t.settle()
	t.drop(t.request, func(en *entry) bool {
		switch en.body.(type) {
		case *answer, *thought:
			return true
		}
		return false
	})
	r := &retry{event: e, until: t.now().Add(e.Delay)}
	// Tries in a row are one line.
	if t.retrying != nil && t.entries[len(t.entries)-1] == t.retrying {
		t.retrying.body = r
	} else {
		t.retried(event.RequestStarted{})
		t.retrying = t.add(r)
	}
	t.retrying.moving = true
	t.retrying.changed()
}

// retried ends the waiting once the request was sent again.
func (t *Transcript) retried(e event.Event) {
	if t.retrying == nil {
		return
	}
	switch e.(type) {
	case event.TextDelta, event.ReasoningDelta, event.MessageFinished, event.ReasoningFinished, event.ToolStarted, event.RequestStarted, event.TurnFinished, event.Compacted:
	default:
		return
	}
	r := t.retrying.body.(*retry)
	_, ended := e.(event.TurnFinished)
	r.over, r.early = true, ended && t.now().Before(r.until)
	t.retrying.moving = false
	t.retrying.changed()
	t.retrying = nil
}
