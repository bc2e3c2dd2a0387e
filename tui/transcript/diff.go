package transcript

import (
	"fmt"
	"strconv"
	"strings"

	"codeagent/tui/paint"
)

// hunkLine is one line of a unified diff with its number in the new file, or
// in the old one for a line that is gone.
type hunkLine struct {
	sign   byte // ' ', '+', '-', '~' between hunks, '\\' for the note on the last newline
	number int
	text   string
	spans  []paint.Span // text with its changed words marked; nil: nothing is marked
}

// parseDiff reads the hunks of a unified diff and skips what comes before the first
// one. A line that it does not understand is kept as context.
func parseDiff(diff string) []hunkLine {
	var out []hunkLine
	before, after, in := 0, 0, false
	for _, line := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		if strings.HasPrefix(line, "@@") {
			if in {
				out = append(out, hunkLine{sign: '~'})
			}
			before, after = hunkStart(line, '-'), hunkStart(line, '+')
			in = true
			continue
		}
		if !in {
			continue
		}
		sign, rest := byte(' '), line
		if line != "" {
			sign, rest = line[0], line[1:]
		}
		switch sign {
		case '+':
			out = append(out, hunkLine{sign: '+', number: after, text: rest})
			after++
		case '-':
			out = append(out, hunkLine{sign: '-', number: before, text: rest})
			before++
		case '\\':
			out = append(out, hunkLine{sign: '\\', text: strings.TrimSpace(rest)})
		default:
			out = append(out, hunkLine{sign: ' ', number: after, text: rest})
			before, after = before+1, after+1
		}
	}
	return out
}

// hunkStart reads the first line number behind sign in "@@ -a,b +c,d @@".
func hunkStart(header string, sign byte) int {
	i := strings.IndexByte(header, sign)
	if i < 0 {
		return 1
	}
	digits := header[i+1:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1
	}
	return n
}

// diffLines draws a diff with line numbers. The sign has a column of its own, so the
// diff is readable without colour.
func diffLines(t *paint.Theme, diff string, w int) []string {
	hunks := parseDiff(diff)
	markWords(hunks)
	most := 0
	for _, h := range hunks {
		most = max(most, h.number)
	}
	digits := max(len(strconv.Itoa(most)), 2)
	var out []string
	for _, h := range hunks {
		switch h.sign {
		case '~':
			out = append(out, t.Paint(paint.Faint, strings.Repeat(" ", digits-1)+"⋮"))
			continue
		case '\\':
			out = append(out, t.Paint(paint.Dim, strings.Repeat(" ", digits+3)+paint.Cut(h.text, w-digits-3)))
			continue
		}
		s := paint.DiffLine(string(rune(h.sign)))
		sign := string(rune(h.sign))
		if h.sign == '-' {
			sign = "−"
		}
		spans := h.spans
		if spans == nil {
			spans = []paint.Span{s.Span(h.text)}
		}
		number := paint.Faint.Span(fmt.Sprintf("%*d ", digits, h.number))
		out = append(out, paint.Wrapper{
			Theme: t, Width: w, Hard: true,
			First: []paint.Span{number, s.Span(sign + " ")},
			Rest:  []paint.Span{paint.Text.Span(strings.Repeat(" ", digits+1)), s.Span("  ")},
		}.Lines(spans...)...)
	}
	return out
}
