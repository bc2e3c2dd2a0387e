// Package diff draws changes, each line with its number and sign and in the colours of its language:
// the diffs of edits and of git, and the patch that an edit wants to apply. Changed words are marked. It
// performs no IO. Start with Of and Lines.
package diff

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"codeagent/event"
	"codeagent/sandbox"
	"codeagent/tui/highlight"
	"codeagent/tui/paint"
)

// Row is one line of a change: its number and its sign, and its text. The sign has a column of its
// own, so a change is readable without colour.
type Row struct{ Gutter, Text []paint.Span }

// line is one line of a change, with its number in the new file, or in the old one for a line that is
// gone.
type line struct {
	sign   byte // ' ', '+', '-', '@' for the head of a hunk, '\\' for the note on the last newline, '*' for the head of a file, 0 for others
	number int
	text   string
	spans  []paint.Span // the text in its colours
}

// read takes a unified diff apart, or a patch. A patch has no line numbers: what looks like one is the model's.
func read(change string, patch bool) (out []line) {
	before, after, in := 0, 0, false
	var code, was, is highlight.Reader // of the file, and of its two sides in a hunk
	if change == "" {
		return nil
	}
	for _, l := range strings.Split(strings.TrimSuffix(change, "\n"), "\n") {
		head, file := strings.CutPrefix(l, "*** ")
		sign := append([]byte(l), ' ')[0]
		switch {
		case patch && (l == "*** Begin Patch" || l == "*** End Patch"):
		case patch && file, !patch && strings.HasPrefix(l, "diff "):
			if _, name, ok := strings.Cut(head, ": "); ok {
				code = highlight.File(name)
				was, is = code, code
			}
			out, in = append(out, line{sign: '*', text: head}), patch
		case strings.HasPrefix(l, "@@"):
			out, in = append(out, line{sign: '@', text: l}), true
			was, is, before, after = code, code, 1, 1 // what cannot be read stays
			_, _ = fmt.Sscanf(l, "@@ -%d", &before)
			if _, added, ok := strings.Cut(l, " +"); ok {
				_, _ = fmt.Sscanf(added, "%d", &after)
			}
		case !patch && !in && (strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")): // the names of the file
			if name := strings.TrimSuffix(l[4:], `"`); name != "/dev/null" {
				code = highlight.File(name)
			}
		case !patch && !in && strings.HasPrefix(l, "index "):
		case !in || !strings.ContainsRune(`+- \`, rune(sign)):
			out = append(out, line{text: l})
		case sign == '+':
			out = append(out, line{sign: '+', number: after, text: l[1:], spans: on(paint.Added.On(paint.TintAddedLine), is.Spans(l[1:]))})
			after++
		case sign == '-':
			out = append(out, line{sign: '-', number: before, text: l[1:], spans: on(paint.Gone.On(paint.TintGoneLine), was.Spans(l[1:]))})
			before++
		case sign == '\\':
			out = append(out, line{sign: '\\', text: l})
		default:
			text := strings.TrimPrefix(l, " ")
			was.Line(text)
			out = append(out, line{sign: ' ', number: after, text: text, spans: is.Spans(text)})
			before, after = before+1, after+1
		}
	}
	markWords(out)
	return out
}

// on puts a changed line on plain's background. What has no colour of its own gets plain's.
func on(plain paint.Style, spans []paint.Span) []paint.Span {
	for i, s := range spans {
		if spans[i].Style = s.Style.On(plain.Tint); s.Style == paint.Text {
			spans[i].Style = plain
		}
	}
	return spans
}

// Rows are the lines of a unified diff.
func Rows(change string) []Row { return rows(read(change, false), false) }

// Patch are the lines of a patch, without numbers. Every line of it is there, because it is what a yes is for.
func Patch(patch string) []Row { return rows(read(patch, true), true) }

func rows(all []line, patch bool) (out []Row) {
	most, hunks := 10, 0
	for _, l := range all {
		most = max(most, l.number)
	}
	digits := len(strconv.Itoa(most))
	for _, l := range all {
		gutter, text := []paint.Span{paint.Faint.Span(fmt.Sprintf("%*d ", digits, l.number))}, l.spans
		if patch {
			gutter = nil
		}
		switch l.sign {
		case '*':
			gutter, text, hunks = nil, []paint.Span{paint.Strong.Span(l.text)}, 0
		case '@':
			hunks++
			if text = []paint.Span{paint.Faint.Span(l.text)}; patch {
				break
			}
			_, rest, _ := strings.Cut(l.text[2:], "@@")
			if rest = strings.TrimRight(rest, " "); rest == "" && hunks == 1 {
				continue
			}
			gutter, text = nil, []paint.Span{paint.Faint.Span(strings.Repeat(" ", digits-1) + "⋮" + rest)}
		case '\\':
			gutter, text = nil, []paint.Span{paint.Dim.Span(strings.Repeat(" ", digits+3) + strings.TrimSpace(l.text[1:]))}
		case '+':
			gutter = append(gutter, paint.Added.Span("+ "))
		case '-':
			gutter = append(gutter, paint.Gone.Span("− "))
		case ' ':
			gutter = append(gutter, paint.Text.Span("  "))
		default:
			gutter, text = nil, []paint.Span{paint.Text.Span(l.text)}
		}
		out = append(out, Row{gutter, text})
	}
	return out
}

// Of are the lines of changes below a head for each file: its path, shortened at home, and how many lines
// change. Of a deleted file there is only that.
func Of(changes []event.FileChange, home string) (out []Row) {
	for _, ch := range changes {
		out = append(out, Row{Text: Head(ch, home)})
		if ch.Kind != sandbox.Deleted && ch.Diff != "" {
			out = append(out, Rows(ch.Diff)...)
		}
	}
	return out
}

// Whole reports whether diffs show all that changes: one that is empty, binary or cut does not.
func Whole(changes []event.FileChange) bool {
	for _, ch := range changes {
		all := read(ch.Diff, false)
		lines := map[byte]int{}
		for _, l := range all {
			lines[l.sign]++
		}
		if ch.From == "" && ch.Added+ch.Removed == 0 || lines['+'] != ch.Added || lines['-'] != ch.Removed || lines[0] > 0 {
			return false
		}
	}
	return len(changes) > 0
}

// Head names a changed file: what became of it, its path, and how many lines change.
func Head(ch event.FileChange, home string) []paint.Span {
	verb := cmp.Or(map[sandbox.ChangeKind]string{sandbox.Added: "new", sandbox.Deleted: "delete", sandbox.Moved: "move"}[ch.Kind], "edit")
	out := []paint.Span{paint.Dim.Span(verb + " "), paint.Text.Span(paint.Tilde(ch.Path, home))}
	if ch.From != "" {
		out = append(out, paint.Dim.Span(" from "), paint.Text.Span(paint.Tilde(ch.From, home)))
	}
	return append(append(out, paint.Dim.Span("  ")), Count(ch)...)
}

// Count is how many lines change; of a file that only moves, nothing.
func Count(ch event.FileChange) []paint.Span {
	if ch.From != "" && ch.Added == 0 && ch.Removed == 0 {
		return nil
	}
	return []paint.Span{paint.Good.Span(fmt.Sprintf("+%d", ch.Added)), paint.Bad.Span(fmt.Sprintf(" −%d", ch.Removed))}
}

// Lines draws rows in w columns, broken at the edge.
func Lines(t *paint.Theme, w int, rows []Row) (out []string) {
	for _, r := range rows {
		rest := []paint.Span{paint.Text.Span(strings.Repeat(" ", paint.WidthOf(r.Gutter)))}
		out = append(out, paint.Wrapper{Theme: t, Width: w, Hard: true, First: r.Gutter, Rest: rest}.Lines(r.Text...)...)
	}
	return out
}
