package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/event"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

const (
	// liveLines is how many lines of a running command's output are shown.
	liveLines = 5
	// keptLive bounds the kept output of a running command, in bytes: what Ctrl+O can
	// show before it ends.
	keptLive = 64 << 10
	// openLines bounds what Ctrl+O shows of one call; the rest is in its file.
	openLines = 2000
	// diffSummary is how many lines of a change are shown folded.
	diffSummary = 20
)

// tool is a tool call: what it does, its output while it runs, and its result. It
// knows kinds of calls, never names of tools.
type tool struct {
	kind                   event.Kind
	title, command, folder string
	started                time.Time
	workspace              string

	live []byte
	done *event.ToolFinished
	asks []*asked
}

func (t *tool) foldable() bool { return true }

// output keeps the end of the command's output.
func (t *tool) output(o event.ToolOutput) {
	if o.Skipped > 0 {
		t.live = fmt.Appendf(t.live, "\n… %s bytes not shown\n", count(int(o.Skipped)))
	}
	t.live = append(t.live, o.Data...)
	if n := len(t.live) - keptLive; n > keptLive {
		t.live = append([]byte(nil), t.live[n:]...)
	}
}

func (t *tool) finish(f event.ToolFinished) {
	t.done = &f
	t.live = nil
	if t.title == "" {
		t.title = f.Title
	}
	if t.kind == "" {
		t.kind = f.Kind
	}
}

func (t *tool) draw(c canvas) []string {
	out := t.head(c)
	out = append(out, t.answers(c)...)
	switch {
	case t.done == nil:
		out = append(out, t.running(c)...)
	default:
		out = append(out, t.ended(c)...)
	}
	return out
}

// answers are the answered questions of the call: the last few, or all in an open
// call.
func (t *tool) answers(c canvas) []string {
	const few = 4
	var out []string
	var answered []*asked
	for _, a := range t.asks {
		if a.answer != nil {
			answered = append(answered, a)
		}
	}
	if extra := len(answered) - few; extra > 1 && !c.open {
		out = append(out, c.theme.row(c.inner(), dim.span(fmt.Sprintf("… %d earlier answers", extra))))
		answered = answered[extra:]
	}
	for _, a := range answered {
		out = append(out, a.lines(c)...)
	}
	return indent(out)
}

// head is the line that says what the call does and how it ended.
func (t *tool) head(c canvas) []string {
	title := t.title
	if t.kind == event.KindCommand && t.command != "" {
		title = "$ " + strings.TrimSpace(t.command)
	}
	if title == "" {
		title = string(t.kind)
	}
	mark, s := t.mark(c), text
	if t.kind == event.KindRead && t.done != nil && t.done.Outcome == event.OK {
		s = dim
	}
	spans := []span{s.span(strings.ReplaceAll(title, "\n", "\n  "))}
	if status := t.status(c); len(status) > 0 {
		spans = append(append(spans, dim.span("  ")), status...)
	}
	if t.done == nil && t.waiting() && !c.open {
		// The question below shows all of it.
		left := []span{mark, text.span(" "), s.span(strings.ReplaceAll(title, "\n", " "))}
		return []string{c.theme.justify(c.width-1, left, append([]span{text.span(" ")}, t.status(c)...))}
	}
	lines := c.hang(mark, spans...)
	if !c.open && len(lines) > 4 {
		lines = append(lines[:3:3], indent([]string{c.theme.paint(dim, fmt.Sprintf("… %d more lines", len(lines)-3))})...)
		lines = append(lines, indent([]string{c.theme.row(c.inner(), t.status(c)...)})...)
	}
	if c.open && t.folder != "" && t.folder != t.workspace {
		lines = append(lines, indent([]string{c.theme.row(c.inner(), dim.span("in "+tilde(t.folder, c.home)))})...)
	}
	return lines
}

func (t *tool) mark(c canvas) span {
	if t.done == nil {
		if t.waiting() {
			return warn.span("?")
		}
		return accent.span(spinner(c.frame))
	}
	switch t.done.Outcome {
	case event.OK:
		if t.kind == event.KindRead {
			return dim.span("·")
		}
		return good.span("✓")
	case event.Refused:
		return warn.span("⊘")
	case event.Interrupted:
		return dim.span("■")
	}
	return bad.span("✗")
}

// waiting reports whether a question about this call has no answer yet.
func (t *tool) waiting() bool {
	return slices.ContainsFunc(t.asks, func(a *asked) bool { return a.answer == nil })
}

// status says in a few words how the call ended, or how long it has run.
func (t *tool) status(c canvas) []span {
	if t.done == nil {
		if t.waiting() {
			return []span{warn.span("waiting for your answer")}
		}
		if d := c.now.Sub(t.started); d >= time.Second {
			return []span{dim.span(short.Duration(d.Truncate(time.Second)))}
		}
		return nil
	}
	f := t.done
	var words []string
	s := dim
	switch f.Outcome {
	case event.OK:
		switch {
		case t.kind == event.KindRead && f.Message != "":
			return []span{faint.span(f.Message)}
		case t.kind == event.KindCommand && f.Running:
			return []span{dim.span(fmt.Sprintf("running in the background (job %d)", f.Job))}
		case t.kind != event.KindCommand && f.Job != 0 && !f.Running:
			return []span{dim.span(f.Message)} // how the job that got the input has ended
		}
	case event.Refused:
		words, s = append(words, "not allowed"), warn
	case event.TimedOut:
		words, s = append(words, "timed out"), bad
	case event.Interrupted:
		words = append(words, "interrupted")
	case event.NotStarted:
		words, s = append(words, "not started"), bad
	default:
		s = bad
		switch {
		case f.Signal != "":
			words = append(words, "killed by "+f.Signal)
		case f.Exit != 0:
			words = append(words, fmt.Sprintf("exit %d", f.Exit))
		default:
			words = append(words, "failed")
		}
		if f.Limit != "" {
			words = append(words, "("+string(f.Limit)+" limit)")
		}
	}
	out := []span{}
	for _, ch := range f.Changes {
		if len(f.Changes) == 1 {
			out = append(out, changeCount(ch)...)
		}
	}
	if t.kind == event.KindCommand && f.Job != 0 {
		how := strings.Join(words, " ")
		if how != "" {
			how = ": " + how
		}
		words = []string{fmt.Sprintf("job %d ended%s", f.Job, how)}
	}
	if len(words) > 0 {
		if len(out) > 0 {
			out = append(out, faint.span(" · "))
		}
		out = append(out, s.span(strings.Join(words, " ")))
	}
	if f.Duration >= time.Millisecond && t.kind == event.KindCommand {
		if len(out) > 0 {
			out = append(out, faint.span(" · "))
		}
		out = append(out, dim.span(short.Duration(f.Duration)))
	}
	return out
}

func (t *tool) running(c canvas) []string {
	live := t.live
	if n := len(live) - 8<<10; n > 0 && !c.open {
		live = live[n:] // far more than liveLines show
	}
	lines := outputLines(string(live))
	if n := len(lines) - liveLines; n > 0 && !c.open {
		lines = lines[n:]
	}
	return t.quote(c, lines[max(len(lines)-openLines, 0):])
}

func (t *tool) ended(c canvas) []string {
	f := t.done
	var out []string
	if t.tells() {
		out = append(out, indent(c.theme.wrap(c.inner(), dim.span(f.Message)))...)
	}
	if len(f.Changes) > 0 {
		out = append(out, t.changes(c)...)
	} else if t.kind == event.KindCommand || f.Job != 0 || f.Outcome == event.Failed && f.Message == "" || c.open {
		out = append(out, t.printed(c)...)
	}
	out = append(out, t.changed(c)...)
	if f.Outcome == event.Interrupted && !c.open {
		return out // its denials are not why it ended
	}
	return append(out, denialLines(c, f.Verdict)...)
}

// tells reports whether the call's message gets a line: not where the head of the
// call or an answered question says the same.
func (t *tool) tells() bool {
	f := t.done
	switch {
	case f.Message == "" || f.Outcome == event.OK && (t.kind == event.KindRead || t.kind == event.KindCommand || f.Job != 0 || len(f.Changes) > 0):
		return false
	case f.Outcome == event.Refused:
		return len(t.asks) == 0
	case t.kind == event.KindCommand:
		return f.Outcome == event.NotStarted || f.Outcome == event.Failed && f.Exit == 0 && f.Signal == ""
	}
	return true
}

// printed draws the call's output: its last lines, which usually say how it ended,
// or in an open call the first and the last ones.
func (t *tool) printed(c canvas) []string {
	lines := outputLines(t.done.Output)
	if !c.open {
		if n := len(lines) - 3; n > 1 {
			return append(indent([]string{c.hidden(n)}), t.quote(c, lines[n:])...)
		}
		return t.quote(c, lines)
	}
	var out []string
	if n := len(lines) - openLines; n > 0 {
		out = append(t.quote(c, lines[:openLines/2]), indent([]string{c.theme.paint(dim, fmt.Sprintf("… %d more lines not shown", n))})...)
		lines = lines[openLines/2+n:]
	}
	out = append(out, t.quote(c, lines)...)
	if t.done.Spill != "" {
		out = append(out, indent(c.theme.wrap(c.inner(), dim.span("full output: "+tilde(t.done.Spill, c.home))))...)
	}
	return out
}

// quote draws output: dim, one line each unless the call is open.
func (t *tool) quote(c canvas, lines []string) []string {
	var out []string
	for _, l := range lines {
		if c.open {
			out = append(out, indent(wrapper{theme: c.theme, width: c.inner(), hard: true}.lines(dim.span(l)))...)
			continue
		}
		out = append(out, indent([]string{c.theme.row(c.inner(), dim.span(l))})...)
	}
	return out
}

func (t *tool) changes(c canvas) []string {
	var out []string
	for _, ch := range t.done.Changes {
		if len(t.done.Changes) > 1 {
			verb := map[sandbox.ChangeKind]string{sandbox.Added: "new", sandbox.Deleted: "deleted", sandbox.Moved: "moved"}[ch.Kind]
			if verb == "" {
				verb = "edited"
			}
			spans := append([]span{dim.span(verb + " "), text.span(tilde(ch.Path, c.home)), dim.span("  ")}, changeCount(ch)...)
			out = append(out, indent([]string{c.theme.row(c.inner(), spans...)})...)
		}
		lines := c.fold(diffLines(c.theme, ch.Diff, c.inner()), diffSummary, 0)
		out = append(out, indent(lines[:min(len(lines), openLines)])...)
	}
	return out
}

// changed names what a command changed: as many names as fit in one line, or each on
// its own line in an open call.
func (t *tool) changed(c canvas) []string {
	all := t.done.Changed
	if all.None() {
		return nil
	}
	most := c.inner() / 3 // a name, its comma and a space
	words := all.Words(t.workspace, most)
	for ; most > 1 && width("changed "+words) > c.inner(); most-- {
		words = all.Words(t.workspace, most-1)
	}
	if !c.open {
		return indent([]string{c.theme.row(c.inner(), dim.span("changed "+words))})
	}
	var out []string
	for _, name := range all.Names(t.workspace, len(all.List)) {
		out = append(out, indent([]string{c.theme.row(c.inner(), dim.span("changed "+name))})...)
	}
	if rest := (sandbox.Changes{More: all.More, Partial: all.Partial}); !rest.None() {
		out = append(out, indent([]string{c.theme.row(c.inner(), dim.span("changed "+rest.Words("", 0)))})...)
	}
	return out
}

func changeCount(ch event.FileChange) []span {
	return []span{good.span(fmt.Sprintf("+%d", ch.Added)), bad.span(fmt.Sprintf(" −%d", ch.Removed))}
}
