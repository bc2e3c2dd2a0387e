package markdown

import (
	"strings"

	"codeagent/tui/highlight"
	"codeagent/tui/mark"
	"codeagent/tui/paint"
)

// A block of code stands between two rules; the upper one names the language. There is
// no bar at its side: what the terminal itself selects is the code.

// maxRule bounds the rules on wide screens.
const maxRule = maxProse

// maxLabel bounds the shown name of a language.
const maxLabel = 20

// ruleAbove is the rule above code, with the language as the text names it.
func ruleAbove(t *paint.Theme, language string, w int) string {
	w = min(w, maxRule)
	label := paint.Cut(language, min(maxLabel, max(w-6, 0)))
	if label == "" {
		return ruleBelow(t, w)
	}
	rest := strings.Repeat("─", max(w-4-paint.Width(label), 0))
	return mark.Decoration + t.Paint(paint.Faint, "── ") + t.Paint(paint.Dim, label) + t.Paint(paint.Faint, " "+rest)
}

func ruleBelow(t *paint.Theme, w int) string {
	return mark.Decoration + t.Paint(paint.Faint, strings.Repeat("─", min(w, maxRule)))
}

// code draws a whole block.
func code(t *paint.Theme, language, src string, w int) []string {
	r := highlight.For(language)
	out := append([]string{ruleAbove(t, language, w)}, codeLines(t, &r, src, w)...)
	return append(out, ruleBelow(t, w))
}

// codeLines draws lines of code, broken only at the edge.
func codeLines(t *paint.Theme, r *highlight.Reader, src string, w int) []string {
	var spans []paint.Span
	for i, line := range strings.Split(src, "\n") {
		if i > 0 {
			spans = append(spans, paint.Text.Span("\n"))
		}
		spans = append(spans, r.Spans(line)...)
	}
	gutter := []paint.Span{paint.Text.Span("  ")}
	return paint.Wrapper{Theme: t, Width: w, First: gutter, Rest: gutter, Hard: true}.Lines(spans...)
}

// language is the first word behind a fence: "go" of "```go title=x".
func language(info string) string {
	fields := strings.FieldsFunc(info, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '{' || r == '}' })
	if len(fields) == 0 {
		return ""
	}
	return strings.TrimPrefix(fields[0], ".")
}
