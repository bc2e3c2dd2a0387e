package tui

import (
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// parsers is built on first use, because building it takes a millisecond that would
// delay the first paint.
var parsers = sync.OnceValue(newParser)

// maxDepth bounds nested quotes and lists; deeper ones are drawn flat.
const maxDepth = 12

// markdown draws src in lines of w columns.
func markdown(t *theme, src string, w int) []string {
	source := []byte(src)
	d := drawer{theme: t, source: source}
	return d.blocks(parsers().Parse(gmtext.NewReader(source)), w, false, 0)
}

// drawer draws a parsed document. Every text passes through wrapper, and so through
// cell, which makes it harmless.
type drawer struct {
	theme  *theme
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
		s := strong
		if n.Level <= 2 {
			s = accent.with(bold)
		}
		return d.wrap(w, d.inline(n, s))
	case *ast.Paragraph, *ast.TextBlock:
		return d.wrap(w, d.inline(n, text))
	case *ast.ThematicBreak:
		return []string{d.theme.paint(faint, strings.Repeat("─", min(w, 40)))}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return codeLines(d.theme, strings.TrimRight(d.raw(n), "\n"), w)
	case *ast.HTMLBlock:
		raw := d.raw(n)
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(d.source))
		}
		return d.wrap(w, []span{dim.span(strings.TrimRight(raw, "\n"))})
	case *ast.Blockquote:
		return d.nest(n, w, false, depth, faint.span("▎ "), faint.span("▎ "))
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
		blank := strings.Repeat(" ", width(mark))
		lines := d.nest(item, w, n.IsTight, depth, dim.span(mark), text.span(blank))
		if len(lines) == 0 {
			lines = []string{d.theme.paint(dim, mark)}
		}
		out = append(out, lines...)
	}
	return out
}

// nest draws the children of n behind a prefix.
func (d drawer) nest(n ast.Node, w int, tight bool, depth int, first, rest span) []string {
	if depth >= maxDepth || w < 12 {
		first.text, rest.text = "", ""
	}
	lines := d.blocks(n, w-width(first.text), tight, depth+1)
	for i := range lines {
		p := rest
		if i == 0 {
			p = first
		}
		lines[i] = d.theme.paint(p.style, p.text) + lines[i]
	}
	return lines
}

func (d drawer) wrap(w int, spans []span) []string {
	return wrapper{theme: d.theme, width: w}.lines(spans...)
}

// raw is the text of a block's own lines.
func (d drawer) raw(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(d.source))
	}
	return b.String()
}

// codeLines draws a block of code: indented, broken only at the edge.
func codeLines(t *theme, src string, w int) []string {
	gutter := []span{text.span("  ")}
	return wrapper{theme: t, width: w, first: gutter, rest: gutter, hard: true}.lines(code.span(src))
}

// inline draws the children of n in style s.
func (d drawer) inline(n ast.Node, s style) []span {
	var out []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, d.inlineNode(c, s)...)
	}
	return out
}

func (d drawer) inlineNode(n ast.Node, s style) []span {
	switch n := n.(type) {
	case *ast.Text:
		out := []span{s.span(literal(n.Segment.Value(d.source)))}
		if n.HardLineBreak() {
			return append(out, s.span("\n"))
		} else if n.SoftLineBreak() {
			return append(out, s.span(" "))
		}
		return out
	case *ast.String:
		return []span{s.span(string(n.Value))}
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.Write(t.Segment.Value(d.source))
			}
		}
		return []span{code.with(s.attr).span(strings.ReplaceAll(b.String(), "\n", " "))}
	case *ast.Emphasis:
		if n.Level >= 2 {
			s = s.with(bold)
		} else {
			s = s.with(italic)
		}
	case *extast.Strikethrough:
		s = s.with(struck)
	case *ast.Link:
		return d.link(d.inline(n, accent.with(s.attr)), string(n.Destination))
	case *ast.Image:
		return d.link(d.inline(n, accent.with(s.attr)), string(n.Destination))
	case *ast.AutoLink:
		return []span{accent.with(s.attr).span(string(n.Label(d.source)))}
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			b.Write(seg.Value(d.source))
		}
		return []span{dim.with(s.attr).span(b.String())}
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return []span{good.span("☑ ")}
		}
		return []span{dim.span("☐ ")}
	}
	return d.inline(n, s)
}

// link shows the target of a link, because its text can be anything.
func (d drawer) link(label []span, to string) []span {
	var b strings.Builder
	for _, s := range label {
		b.WriteString(s.text)
	}
	shown := b.String()
	if shown == to || to == "" {
		return label
	}
	if shown == "" {
		return []span{accent.span(to)}
	}
	return append(label, dim.span(" ("+to+")"))
}

// literal resolves the escapes and entities of markdown text.
func literal(b []byte) string {
	if !strings.ContainsAny(string(b), `\&`) {
		return string(b)
	}
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}
