// Package diff lays out the lines of a change: a unified diff with line numbers, or the patch that an
// edit wants to apply. Changed words are marked. It performs no IO. Start with Lines and Patch.
package diff

import (
	"fmt"
	"strconv"
	"strings"

	"codeagent/tui/paint"
)

// line is one line of a change, with its number in the new file, or in the old one for a line that is
// gone.
type line struct {
	sign   byte // ' ', '+', '-', '@' for the head of a hunk, '\\' for the note on the last newline, '*' for the head of a file, 0 for others
	number int
	text   string
	spans  []paint.Span // text with its changed words marked; nil: nothing is marked
}

// read takes a change apart. A patch names no line numbers.
func read(change string) (out []line) {
	before, after, in := 0, 0, false
	for _, l := range strings.Split(strings.TrimSuffix(change, "\n"), "\n") {
		head, patch := strings.CutPrefix(l, "*** ")
		switch sign := append([]byte(l), ' ')[0]; {
		case l == "*** Begin Patch", l == "*** End Patch":
		case patch, strings.HasPrefix(l, "diff "):
			out, in = append(out, line{sign: '*', text: head}), patch
		case strings.HasPrefix(l, "@@"):
			out, in = append(out, line{sign: '@', text: l}), true
			before, after = 1, 1 // what cannot be read stays
			_, _ = fmt.Sscanf(l, "@@ -%d", &before)
			if _, added, ok := strings.Cut(l, " +"); ok {
				_, _ = fmt.Sscanf(added, "%d", &after)
			}
		case !in || !strings.ContainsRune(`+- \`, rune(sign)):
			out = append(out, line{text: l})
		case sign == '+':
			out = append(out, line{sign: '+', number: after, text: l[1:]})
			after++
		case sign == '-':
			out = append(out, line{sign: '-', number: before, text: l[1:]})
			before++
		case sign == '\\':
			out = append(out, line{sign: '\\', text: l})
		default:
			out = append(out, line{sign: ' ', number: after, text: strings.TrimPrefix(l, " ")})
			before, after = before+1, after+1
		}
	}
	markWords(out)
	return out
}

// drawn are the sign and the text. The sign has a column of its own, so a change is readable without
// colour.
func (l line) drawn() (sign []paint.Span, text []paint.Span) {
	style, mark := paint.Dim, string(rune(l.sign))
	switch l.sign {
	case '+':
		style = paint.Added
	case '-':
		style, mark = paint.Gone, "−"
	case ' ':
	case '*':
		return nil, []paint.Span{paint.Strong.Span(l.text)}
	case '@':
		return nil, []paint.Span{paint.Faint.Span(l.text)}
	default:
		return nil, []paint.Span{style.Span(l.text)}
	}
	if text = l.spans; text == nil {
		text = []paint.Span{style.Span(l.text)}
	}
	return []paint.Span{style.Span(mark + " ")}, text
}

// Patch is the patch that an edit wants to apply. Every line of it is there, because it is what a yes is for.
func Patch(patch string) (out []paint.Span) {
	for i, l := range read(patch) {
		if i > 0 {
			out = append(out, paint.Text.Span("\n"))
		}
		sign, text := l.drawn()
		out = append(append(out, sign...), text...)
	}
	return out
}

// Hunks draws the hunks of a unified diff with line numbers, without what comes before the first one.
func Hunks(t *paint.Theme, w int, diff string) []string {
	all := read(diff)
	for i, l := range all {
		if l.sign == '@' {
			return draw(t, all[i:], w, false)
		}
	}
	return nil
}

// Lines draws a unified diff with line numbers, and the heads of its files.
func Lines(t *paint.Theme, w int, diff string) []string { return draw(t, read(diff), w, true) }

// draw draws lines; headed: also the heads of hunks.
func draw(t *paint.Theme, all []line, w int, headed bool) (out []string) {
	most := 10
	for _, l := range all {
		most = max(most, l.number)
	}
	digits, hunks := len(strconv.Itoa(most)), 0
	for _, l := range all {
		sign, text := l.drawn()
		wrapper := paint.Wrapper{Theme: t, Width: w, Hard: true}
		switch l.sign {
		case '*':
			hunks = 0
		case '@':
			hunks++
			_, rest, _ := strings.Cut(l.text[2:], "@@")
			if rest = strings.TrimRight(rest, " "); !headed {
				rest = ""
			}
			if rest != "" || hunks > 1 {
				out = append(out, t.Paint(paint.Faint, strings.Repeat(" ", digits-1)+"⋮"+paint.Cut(rest, w-digits)))
			}
			continue
		case '\\':
			out = append(out, t.Paint(paint.Dim, strings.Repeat(" ", digits+3)+paint.Cut(strings.TrimSpace(l.text[1:]), w-digits-3)))
			continue
		case 0:
		default:
			wrapper.First = append([]paint.Span{paint.Faint.Span(fmt.Sprintf("%*d ", digits, l.number))}, sign...)
			wrapper.Rest = []paint.Span{paint.Text.Span(strings.Repeat(" ", digits+1)), sign[0].Style.Span("  ")}
		}
		out = append(out, wrapper.Lines(text...)...)
	}
	return out
}
