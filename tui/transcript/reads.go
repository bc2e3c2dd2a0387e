package transcript

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/event/word"
	"codeagent/tui/paint"
)

// reads are calls in a row that only read. Folded, those that went well are one line;
// the others stand below it.
type reads struct{ calls []*tool }

// mostReads bounds the calls of one entry: all of them are drawn when it is open.
const mostReads = 200

// startRead is a call that reads, in the entry before it if that reads too.
func (t *Transcript) startRead(call *tool) *entry {
	if n := len(t.entries); n > 0 {
		if r, ok := t.entries[n-1].body.(*reads); ok && len(r.calls) < mostReads {
			r.calls = append(r.calls, call)
			return t.entries[n-1]
		}
	}
	return t.add(&reads{[]*tool{call}})
}

func (r *reads) Foldable() bool { return true }

// running reports whether a call has not ended.
func (r *reads) running() bool {
	return slices.ContainsFunc(r.calls, func(t *tool) bool { return t.done == nil })
}

// plain reports whether the call's name is all that there is to see of it.
func (t *tool) plain() bool {
	if t.done == nil {
		return len(t.asks) == 0 && len(t.live) == 0
	}
	return t.done.Outcome == word.OK && len(t.asks) == 0 && t.done.Job == 0
}

// Draw shows one line for the calls that went well.
func (r *reads) Draw(c Canvas) []string {
	var plain, other []*tool
	for _, t := range r.calls {
		if t.plain() && !c.open {
			plain = append(plain, t)
		} else {
			other = append(other, t)
		}
	}
	if len(plain) == 1 { // with what its head says
		plain, other = nil, r.calls
	}
	var out []string
	if len(plain) > 0 {
		mark := paint.Dim.Span("·")
		if slices.ContainsFunc(plain, func(t *tool) bool { return t.done == nil }) {
			mark = paint.Accent.Span(paint.Spinner(c.Frame))
		}
		out = append(out, c.Hang(mark, paint.Dim.Span(summary(plain, c.Inner())))...)
	}
	for _, t := range other {
		out = append(out, t.Draw(c)...)
	}
	return out
}

// summary names the calls in w columns: "read a.go, b.go and 3 more · search x". What is
// not named is counted.
func summary(calls []*tool, w int) string {
	const least = 2 // named, however narrow the screen is
	var b strings.Builder
	verb := ""
	for i, t := range calls {
		title := strings.ReplaceAll(t.title, "\n", " ")
		does, what, _ := strings.Cut(title, " ")
		next := ", " + what
		if does != verb || what == "" {
			next = " · " + title
		}
		if i == 0 {
			next = title
		}
		more := ""
		if rest := len(calls) - i - 1; rest > 0 {
			more = fmt.Sprintf(" and %d more", rest)
		}
		if i >= least && paint.Width(b.String()+next+more) > w {
			return b.String() + fmt.Sprintf(" and %d more", len(calls)-i)
		}
		b.WriteString(next)
		verb = does
	}
	return b.String()
}
