package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/tui/diff"
	"codeagent/tui/paint"
)

const (
	// liveLines is how many lines of a running command's output are shown.
	liveLines = 5
	// keptLive bounds the kept output of a running command, in bytes: what Ctrl+O can
	// show before it ends.
	keptLive = 64 << 10
	// OpenLines bounds what Ctrl+O shows of one call; the rest is in its file.
	OpenLines = 2000
	// foldedLines is how many lines of ended output are shown folded, failedLines how many
	// of a call that failed: they usually say why.
	foldedLines, failedLines = 3, 10
	// ownLines is how many of a command that the person runs to see them.
	ownLines = 20
	// prompt is before a command; its further rows are indented as far, so that they are
	// not taken for its output.
	prompt = "$ "
	// diffSummary is how many lines of a change are shown folded.
	diffSummary = 20
)

// most is how many lines of one call are drawn.
func (c Canvas) most() int {
	if c.whole {
		return paint.Everything
	}
	return OpenLines
}

// tool is a tool call: what it does, its output while it runs, and its result. It
// knows kinds of calls, never names of tools.
type tool struct {
	kind                   word.Kind
	title, command, folder string
	backend                string
	started                time.Time
	workspace              string
	server                 *event.ServerCall // nil: it is no call of a server
	own                    bool              // the person runs it
	left                   bool              // the job that it started has ended

	live    []byte
	done    *event.ToolFinished
	asks    []*question
	helpers []*Helper
}

func (t *tool) Foldable() bool { return true }

// output keeps the end of the command's output.
func (t *tool) output(o event.ToolOutput) {
	if o.Skipped > 0 {
		t.live = fmt.Appendf(t.live, "\n… %s bytes not shown\n", paint.Count(int(o.Skipped)))
	}
	t.live = append(t.live, o.Data...)
	if n := len(t.live) - keptLive; n > keptLive {
		t.live = append([]byte(nil), t.live[n:]...)
	}
}

func (t *tool) finish(f event.ToolFinished) {
	f.Changes = slices.Clone(f.Changes)
	t.endHelpers(f.Helpers)
	for i := range f.Changes { // the diffs are what is drawn
		f.Changes[i].Before, f.Changes[i].After = nil, nil
	}
	t.done = &f
	t.live = nil
	if t.title == "" {
		t.title = f.Title
	}
	if t.kind == "" {
		t.kind = f.Kind
	}
}

func (t *tool) Draw(c Canvas) []string {
	out := append(t.head(c), t.sent(c)...)
	out = append(out, t.answers(c)...)
	out = append(out, t.helped(c)...)
	if t.done == nil {
		return append(out, t.running(c)...)
	}
	return append(out, t.ended(c)...)
}

// sent is what a server got: the beginning on a line, or all of it in an open call.
func (t *tool) sent(c Canvas) []string {
	if t.server == nil || t.done == nil && t.waiting() && !c.open { // the question below shows it
		return nil
	}
	text := approvals.ServerCall{Arguments: t.server.Arguments}.Readable()
	switch {
	case text == "" || text == "{}":
		return nil
	case c.open:
		lines := paint.Wrapper{Theme: c.Theme, Width: c.Inner(), Hard: true}.Lines(paint.Dim.Span("sends " + text))
		return paint.Indent(lines[:min(len(lines), c.most())])
	}
	return c.row(paint.Dim.Span("sends "), paint.Dim.Span(strings.Join(strings.Fields(short.Cut(text, 1000)), " ")))
}

// answers are the answered questions of the call: the last few, or all in an open
// call.
func (t *tool) answers(c Canvas) []string {
	const few = 4
	var out []string
	var answered []*question
	for _, a := range t.asks {
		if a.answer != nil {
			answered = append(answered, a)
		}
	}
	if extra := len(answered) - few; extra > 1 && !c.open {
		out = append(out, c.Theme.Row(c.Inner(), paint.Dim.Span(fmt.Sprintf("… %d earlier answers", extra))))
		answered = answered[extra:]
	}
	for _, a := range answered {
		out = append(out, a.lines(c)...)
	}
	return paint.Indent(out)
}

// head is the line that says what the call does and how it ended.
func (t *tool) head(c Canvas) []string {
	title := t.title
	if t.kind == word.KindCommand && t.command != "" {
		title = prompt + strings.TrimSpace(t.command)
	} else {
		title = paint.Tildes(title, c.Home)
	}
	if title == "" {
		title = string(t.kind)
	}
	mark, s := t.mark(c), paint.Text
	if t.kind == word.KindRead && t.done != nil && t.done.Outcome == word.OK {
		s = paint.Dim
	}
	if t.done == nil && t.waiting() && !c.open {
		// The question below shows all of it.
		left := []paint.Span{mark, paint.Text.Span(" "), s.Span(strings.ReplaceAll(title, "\n", " "))}
		return []string{c.Theme.Justify(c.Width-1, left, append([]paint.Span{paint.Text.Span(" ")}, t.status(c)...))}
	}
	said, under := s.Span(title), 0
	if strings.HasPrefix(title, prompt) {
		under = len(prompt)
	}
	lines, status := c.hang(mark, under, said), t.status(c)
	if !c.open && len(lines) > 4 {
		lines = append(lines[:3:3], c.row(paint.Dim.Span(fmt.Sprintf("… %d more lines", len(lines)-3)))...)
		lines = append(lines, c.row(status...)...)
	} else if len(status) > 0 {
		beside := c.hang(mark, under, append([]paint.Span{said, paint.Dim.Span("  ")}, status...)...)
		if len(beside) > len(lines) { // it is not parted: it gets rows of its own
			beside = append(lines, c.wrap(status...)...)
		}
		lines = beside
	}
	if t.backend != "" {
		lines = append(lines, c.row(paint.Dim.Span("in the backend "+t.backend))...)
	}
	if c.open && t.folder != "" && t.folder != t.workspace {
		lines = append(lines, c.row(paint.Dim.Span("in "+paint.Tilde(t.folder, c.Home)))...)
	}
	return lines
}

func (t *tool) mark(c Canvas) paint.Span {
	if t.done == nil {
		if t.waiting() {
			return paint.Warn.Span("?")
		}
		return paint.Accent.Span(paint.Spinner(c.Frame))
	}
	switch t.done.Outcome {
	case word.OK:
		if t.done.Running && t.kind == word.KindCommand && !t.left {
			return paint.Accent.Span("●")
		}
		if t.kind == word.KindRead || t.left {
			return paint.Dim.Span("·")
		}
		return paint.Good.Span("✓")
	case word.Refused:
		return paint.Warn.Span("⊘")
	case word.Interrupted:
		return paint.Dim.Span("■")
	}
	return paint.Bad.Span("✗")
}

// waiting reports whether a question about this call, or the one that it asks, has no answer yet.
func (t *tool) waiting() bool {
	return t.kind == word.KindAsk && t.done == nil || slices.ContainsFunc(t.asks, func(a *question) bool { return a.answer == nil })
}

// status says in a few words how the call ended, or how long it has run.
func (t *tool) status(c Canvas) []paint.Span {
	if t.done == nil {
		if t.waiting() {
			return []paint.Span{paint.Warn.Span("waiting for your answer")}
		}
		if d := c.Now.Sub(t.started); d >= time.Second {
			return []paint.Span{paint.Dim.Span(short.Duration(d.Truncate(time.Second)))}
		}
		return nil
	}
	f := t.done
	var words []string
	s := paint.Dim
	switch f.Outcome {
	case word.OK:
		switch {
		case t.kind == word.KindRead && f.Message != "":
			return []paint.Span{paint.Faint.Span(f.Message)}
		case t.kind == word.KindServer && f.Message != "":
			words = append(words, f.Message) // how many images
		case t.left:
			return []paint.Span{paint.Dim.Span(fmt.Sprintf("ran in the background (job %d)", f.Job))}
		case t.kind == word.KindCommand && f.Running:
			return []paint.Span{paint.Dim.Span(fmt.Sprintf("running in the background (job %d)", f.Job))}
		case t.kind != word.KindCommand && f.Job != 0 && !f.Running:
			return []paint.Span{paint.Dim.Span(f.Message)} // how the job that got the input has ended
		}
	case word.Refused:
		s = paint.Warn
		if t.kind != word.KindAsk { // its message says it
			words = append(words, "not allowed")
		}
	case word.TimedOut:
		words, s = append(words, "timed out"), paint.Bad
	case word.Interrupted:
		words = append(words, "interrupted")
	case word.NotStarted:
		words, s = append(words, "not started"), paint.Bad
	default:
		s = paint.Bad
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
	var count, how, took []paint.Span
	if len(f.Changes) == 1 {
		count = diff.Count(f.Changes[0])
	}
	if t.kind == word.KindCommand && f.Job != 0 {
		ended := fmt.Sprintf("job %d ended", f.Job)
		if len(words) > 0 {
			ended += ": "
		}
		words = []string{ended + strings.Join(words, " ")}
	}
	if len(words) > 0 {
		how = []paint.Span{s.Span(strings.Join(words, " "))}
	}
	if f.Duration >= time.Millisecond && (t.kind == word.KindCommand || t.kind == word.KindServer || t.kind == word.KindDelegate) {
		took = []paint.Span{paint.Dim.Span(short.Duration(f.Duration))}
	}
	return paint.Joined(count, how, took)
}

func (t *tool) running(c Canvas) []string {
	live := t.live
	if n := len(live) - 8<<10; n > 0 && !c.open {
		live = live[n:] // far more than liveLines show
	}
	lines, most := paint.Printed(string(live), paint.Dim), liveLines
	if t.kind == word.KindServer {
		most = 1 // how far it is
	}
	if n := len(lines) - most; n > 0 && !c.open {
		lines = lines[n:]
	}
	return t.quote(c, lines[max(len(lines)-c.most(), 0):])
}

func (t *tool) ended(c Canvas) []string {
	f := t.done
	var out []string
	if t.ownLine() {
		out = append(out, c.wrap(paint.Dim.Span(f.Message))...)
	}
	if len(f.Changes) > 0 {
		out = append(out, t.changes(c)...)
	} else if t.kind == word.KindCommand || t.kind == word.KindServer || f.Job != 0 || f.Outcome == word.Failed && f.Message == "" || c.open {
		out = append(out, t.printed(c)...)
	}
	out = append(out, t.changed(c)...)
	out = append(out, t.diagnostics(c)...)
	if f.Outcome == word.Interrupted && !c.open {
		return out // its denials are not why it ended
	}
	verdict := f.Verdict
	verdict.Failed = verdict.Failed || f.Outcome != word.OK || f.Running // not known yet, or not in the file of a session
	return append(out, denialLines(c, verdict)...)
}

// ownLine reports whether the call's message gets a line: not where the head of the
// call or an answered question says the same.
func (t *tool) ownLine() bool {
	f := t.done
	switch {
	case f.Message == "" || len(t.helpers) > 0 || f.Outcome == word.OK && (t.kind == word.KindRead || t.kind == word.KindCommand || f.Job != 0 || len(f.Changes) > 0):
		return false
	case f.Outcome == word.Refused:
		return len(t.asks) == 0
	case t.kind == word.KindServer:
		return f.Outcome != word.OK && f.Output == ""
	case t.kind == word.KindCommand:
		return f.Outcome == word.NotStarted || f.Outcome == word.Failed && f.Exit == 0 && f.Signal == ""
	}
	return true
}

// printed draws the call's output: its last lines, which usually say how it ended,
// or in an open call the first and the last ones.
func (t *tool) printed(c Canvas) []string {
	lines := paint.Printed(t.done.Output, paint.Dim)
	if !c.open {
		few := foldedLines
		if t.done.Outcome == word.Failed || t.done.Outcome == word.TimedOut {
			few = failedLines
		}
		if t.own {
			few = ownLines
		}
		if n := len(lines) - few; t.kind == word.KindServer && n > 1 { // a text, which begins at its beginning
			return append(t.quote(c, lines[:few]), paint.Indent([]string{c.hidden(n)})...)
		} else if n > 1 || t.done.Spill != "" && n > 0 {
			hidden := c.hidden(n)
			if t.done.Spill != "" { // only a part of it was kept
				hidden = c.more(fmt.Sprintf("more than %d lines", n))
			}
			return append(paint.Indent([]string{hidden}), t.quote(c, lines[n:])...)
		}
		return t.quote(c, lines)
	}
	var out []string
	if n := len(lines) - c.most(); n > 0 {
		out = append(t.quote(c, lines[:OpenLines/2]), c.row(paint.Dim.Span(fmt.Sprintf("… %d more lines not shown", n)))...)
		lines = lines[OpenLines/2+n:]
	}
	out = append(out, t.quote(c, lines)...)
	if t.done.Spill != "" {
		spans := []paint.Span{paint.Dim.Span("full output: " + paint.Tilde(t.done.Spill, c.Home))}
		if c.whole {
			spans = append(spans, paint.Faint.Span("  Ctrl+O reads it"))
		}
		out = append(out, c.wrap(spans...)...)
	}
	return out
}

// quote draws output, one line each unless the call is open.
func (t *tool) quote(c Canvas, lines [][]paint.Span) []string {
	draw := c.row
	if c.open {
		draw = func(spans ...paint.Span) []string {
			return paint.Indent(paint.Wrapper{Theme: c.Theme, Width: c.Inner(), Hard: true}.Lines(spans...))
		}
	}
	var out []string
	for _, l := range lines {
		out = append(out, draw(l...)...)
	}
	return out
}

func (t *tool) changes(c Canvas) []string {
	var out []string
	for _, ch := range t.done.Changes {
		if len(t.done.Changes) == 1 && ch.From != "" {
			out = append(out, c.row(paint.Dim.Span("moved from "), paint.Text.Span(paint.Tilde(ch.From, c.Home)))...)
		}
		if len(t.done.Changes) > 1 {
			out = append(out, c.row(diff.Head(ch, c.Home)...)...)
		}
		lines := c.Fold(diff.Lines(c.Theme, c.Inner(), diff.Rows(ch.Diff)), diffSummary, 0)
		out = append(out, paint.Indent(lines[:min(len(lines), c.most())])...)
	}
	return out
}

// short returns changes with paths below the home folder shortened, but for those of the workspace,
// which are named by their place in it.
func (t *tool) short(all sandbox.Changes, home string) sandbox.Changes {
	all.List = slices.Clone(all.List)
	for i, ch := range all.List {
		if !strings.HasPrefix(ch.Path, strings.TrimSuffix(t.workspace, "/")+"/") {
			all.List[i].Path = paint.Tilde(ch.Path, home)
		}
	}
	return all
}

// changed names what a command changed: as many names as fit in one line, or each on
// its own line in an open call.
func (t *tool) changed(c Canvas) []string {
	all := t.short(t.done.Changed, c.Home)
	if all.None() {
		return nil
	}
	most := c.Inner() / 3 // a name, its comma and a space
	words := all.Words(t.workspace, most)
	for ; most > 1 && paint.Width("changed "+words) > c.Inner(); most-- {
		words = all.Words(t.workspace, most-1)
	}
	names := []string{words}
	if c.open {
		names = all.Names(t.workspace, len(all.List))
		if rest := (sandbox.Changes{More: all.More, Partial: all.Partial}); !rest.None() {
			names = append(names, rest.Words("", 0))
		}
	}
	var out []string
	for _, name := range names {
		out = append(out, c.row(paint.Dim.Span("changed "+name))...)
	}
	if words := all.Undoable(); words != "" {
		out = append(out, c.row(paint.Dim.Span(words))...)
	}
	return out
}

// diagnostics are the errors in changed files: how many, and the first ones or all in an open call.
func (t *tool) diagnostics(c Canvas) []string {
	var out []string
	for _, d := range t.done.Diagnostics {
		out = append(out, c.Theme.Row(c.Inner(), paint.Warn.Span(d.Title)))
		var lines []string
		for _, line := range d.Lines {
			if c.open {
				lines = append(lines, c.Theme.Wrap(c.Inner(), paint.Dim.Span(line))...)
			} else {
				lines = append(lines, c.Theme.Row(c.Inner(), paint.Dim.Span(line)))
			}
		}
		out = append(out, c.Fold(lines, foldedLines, 0)...)
	}
	return paint.Indent(out)
}
