// Package markdown draws markdown that may still be arriving, in bounded time whatever
// a model writes. It performs no IO. Start with Document, then bounds.go for what the
// parser is kept from.
package markdown

import (
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"codeagent/tui/paint"
)

// parsers is built on first use, because building it takes a millisecond that would
// delay the first paint.
var parsers = sync.OnceValue(newParser)

// maxDepth bounds nested quotes and lists; deeper ones are drawn flat.
const maxDepth = 12

func markdown(t *paint.Theme, src string, w int) []string {
	source := []byte(src)
	d := drawer{theme: t, source: source}
	return d.blocks(parsers().Parse(gmtext.NewReader(source)), w, false, 0)
}

// drawer draws a parsed document. Every text passes through wrapper, and so through
// cell, which makes it harmless.
type drawer struct {
	theme  *paint.Theme
	source []byte
}

// blocks draws the children of n, with a blank line between them unless tight.
func (d drawer) blocks(n ast.Node, w int, tight bool, depth int) []string {
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lines := d.block(c, w, depth)
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && !tight {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

func (d drawer) block(n ast.Node, w, depth int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		s := paint.Strong
		if n.Level <= 2 {
			s = paint.Accent.With(paint.Bold)
		}
		return d.wrap(w, d.inline(n, s))
	case *ast.Paragraph, *ast.TextBlock:
		return d.wrap(w, d.inline(n, paint.Text))
	case *ast.ThematicBreak:
		return []string{d.theme.Paint(paint.Faint, strings.Repeat("─", min(w, 40)))}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return codeLines(d.theme, strings.TrimRight(d.raw(n), "\n"), w)
	case *ast.HTMLBlock:
		raw := d.raw(n)
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(d.source))
		}
		return d.wrap(w, []paint.Span{paint.Dim.Span(strings.TrimRight(raw, "\n"))})
	case *ast.Blockquote:
		return d.nest(n, w, false, depth, paint.Faint.Span("▎ "), paint.Faint.Span("▎ "))
	case *ast.List:
		return d.list(n, w, depth)
	case *extast.Table:
		return d.table(n, w)
	}
	if n.Type() == ast.TypeBlock && n.HasChildren() {
		return d.blocks(n, w, false, depth+1)
	}
	return nil
}

func (d drawer) list(n *ast.List, w, depth int) []string {
	var out []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		if len(out) > 0 && !n.IsTight {
			out = append(out, "")
		}
		blank := strings.Repeat(" ", paint.Width(mark))
		lines := d.nest(item, w, n.IsTight, depth, paint.Dim.Span(mark), paint.Text.Span(blank))
		if len(lines) == 0 {
			lines = []string{d.theme.Paint(paint.Dim, mark)}
		}
		out = append(out, lines...)
	}
	return out
}

// nest draws the children of n behind a prefix.
func (d drawer) nest(n ast.Node, w int, tight bool, depth int, first, rest paint.Span) []string {
	if depth >= maxDepth || w < 12 {
		first.Text, rest.Text = "", ""
	}
	lines := d.blocks(n, w-paint.Width(first.Text), tight, depth+1)
	for i := range lines {
		p := rest
		if i == 0 {
			p = first
		}
		lines[i] = d.theme.Paint(p.Style, p.Text) + lines[i]
	}
	return lines
}

func (d drawer) wrap(w int, spans []paint.Span) []string {
	return d.theme.Wrap(w, spans...)
}

func (d drawer) raw(n ast.Node) string { return string(n.Lines().Value(d.source)) }

// codeLines draws a block of code: indented, broken only at the edge.
func codeLines(t *paint.Theme, src string, w int) []string {
	gutter := []paint.Span{paint.Text.Span("  ")}
	return paint.Wrapper{Theme: t, Width: w, First: gutter, Rest: gutter, Hard: true}.Lines(paint.Code.Span(src))
}

// inline draws the children of n in style s.
func (d drawer) inline(n ast.Node, s paint.Style) []paint.Span {
	var out []paint.Span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, d.inlineNode(c, s)...)
	}
	return out
}

func (d drawer) inlineNode(n ast.Node, s paint.Style) []paint.Span {
	switch n := n.(type) {
	case *ast.Text:
		out := []paint.Span{s.Span(literal(n.Segment.Value(d.source)))}
		if n.HardLineBreak() {
			return append(out, s.Span("\n"))
		} else if n.SoftLineBreak() {
			return append(out, s.Span(" "))
		}
		return out
	case *ast.String:
		return []paint.Span{s.Span(string(n.Value))}
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.Write(t.Segment.Value(d.source))
			}
		}
		return []paint.Span{paint.Code.With(s.Attr).Span(strings.ReplaceAll(b.String(), "\n", " "))}
	case *ast.Emphasis:
		if n.Level >= 2 {
			s = s.With(paint.Bold)
		} else {
			s = s.With(paint.Italic)
		}
	case *extast.Strikethrough:
		s = s.With(paint.Struck)
	case *ast.Link:
		return d.link(d.inline(n, paint.Accent.With(s.Attr)), string(n.Destination))
	case *ast.Image:
		return d.link(d.inline(n, paint.Accent.With(s.Attr)), string(n.Destination))
	case *ast.AutoLink:
		return []paint.Span{paint.Accent.With(s.Attr).Span(string(n.Label(d.source)))}
	case *ast.RawHTML:
		return []paint.Span{paint.Dim.With(s.Attr).Span(string(n.Segments.Value(d.source)))}
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return []paint.Span{paint.Good.Span("☑ ")}
		}
		return []paint.Span{paint.Dim.Span("☐ ")}
	}
	return d.inline(n, s)
}

// link shows the target of a link, because its text can be anything.
func (d drawer) link(label []paint.Span, to string) []paint.Span {
	var b strings.Builder
	for _, s := range label {
		b.WriteString(s.Text)
	}
	shown := b.String()
	if shown == to || to == "" {
		return label
	}
	if shown == "" {
		return []paint.Span{paint.Accent.Span(to)}
	}
	return append(label, paint.Dim.Span(" ("+to+")"))
}

// literal resolves the escapes and entities of markdown text.
func literal(b []byte) string {
	if !strings.ContainsAny(string(b), `\&`) {
		return string(b)
	}
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}
