// Package markdown draws markdown that may still be arriving, in bounded time whatever
// a model writes. It performs no IO. Start with Document, then bounds.go for what the
// parser is kept from.
package markdown

import (
	"iter"
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

// maxProse is the greatest width of prose: longer lines are hard to read. Tables and
// code take what there is.
const maxProse = 100

func markdown(t *paint.Theme, src string, w int, quiet bool, number *listNumber) []string {
	source := []byte(src)
	d := drawer{theme: t, source: source, base: base(quiet), from: *number, ended: number}
	*number = listNumber{}
	return d.blocks(parsers().Parse(gmtext.NewReader(source)), w, false, 0)
}

// listNumber is where an ordered list ended a part of a document: the next part may go on
// with it.
type listNumber struct {
	next   int  // 0: no such list
	marker byte // . or )
}

// goOn returns the first number of an ordered list. It keeps the number behind the last
// one, where the list ends the text.
func (d drawer) goOn(list *ast.List) int {
	first := list.Start
	if list.Parent().Kind() != ast.KindDocument {
		return first
	}
	if list.PreviousSibling() == nil && d.from.next > 0 && d.from.marker == list.Marker {
		first = d.from.next
	}
	if list.NextSibling() == nil {
		*d.ended = listNumber{first + list.ChildCount(), list.Marker}
	}
	return first
}

// drawer draws a parsed document. Every text passes through wrapper, and so through
// cell, which makes it harmless.
type drawer struct {
	theme  *paint.Theme
	source []byte
	base   paint.Style // of ordinary text
	inCell bool        // in a table, where code has a backslash before each bar
	// from is where the part before ended a list, ended where this one does.
	from  listNumber
	ended *listNumber
}

func base(quiet bool) paint.Style {
	if quiet {
		return paint.Dim.With(paint.Italic)
	}
	return paint.Text
}

// codeBlocks are the blocks of code in a parsed text.
func codeBlocks(root ast.Node) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		_ = ast.Walk(root, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
			switch n.(type) {
			case *ast.FencedCodeBlock, *ast.CodeBlock:
				if enter && !yield(n) {
					return ast.WalkStop, nil
				}
				return ast.WalkSkipChildren, nil
			}
			return ast.WalkContinue, nil
		})
	}
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
		s := d.base.With(paint.Bold)
		if n.Level <= 2 && d.base == paint.Text {
			s = paint.Accent.With(paint.Bold)
		}
		return d.wrap(w, d.inline(n, s))
	case *ast.Paragraph, *ast.TextBlock:
		return d.wrap(w, d.inline(n, d.base))
	case *ast.ThematicBreak:
		return []string{d.theme.Paint(paint.Faint, strings.Repeat("─", min(w, 40)))}
	case *ast.FencedCodeBlock:
		return code(d.theme, language(d.info(n)), strings.TrimRight(d.raw(n), "\n"), w)
	case *ast.CodeBlock:
		return code(d.theme, "", strings.TrimRight(d.raw(n), "\n"), w)
	case *ast.HTMLBlock:
		raw := d.raw(n)
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(d.source))
		}
		return d.wrap(w, []paint.Span{paint.Dim.Span(strings.TrimRight(raw, "\n"))})
	case *ast.Blockquote:
		bar := prefix{paint.Faint.Span("▎ "), "> "}
		return d.nest(n, w, false, depth, bar, bar)
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

// bullets are the marks of lists by their depth, as far as they differ.
var bullets = []string{"• ", "◦ ", "▪ "}

func (d drawer) list(n *ast.List, w, depth int) []string {
	var out []string
	number, widest := n.Start, 0
	if n.IsOrdered() {
		number = d.goOn(n)
		widest = len(strconv.Itoa(number + max(n.ChildCount()-1, 0)))
	}
	inner := 0
	for p := n.Parent(); p != nil; p = p.Parent() {
		if l, ok := p.(*ast.List); ok && !l.IsOrdered() {
			inner++
		}
	}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		first := prefix{paint.Dim.Span(bullets[min(inner, len(bullets)-1)]), "- "}
		if n.IsOrdered() {
			written := strconv.Itoa(number) + ". "
			first = prefix{paint.Dim.Span(strings.Repeat(" ", max(widest+2-len(written), 0)) + written), written}
			number++
		} else if box := taskBox(item); box != nil {
			// The box stands in place of the bullet.
			first = prefix{paint.Dim.Span("☐ "), "- [ ] "}
			if box.IsChecked {
				first = prefix{paint.Good.Span("☑ "), "- [x] "}
			}
		}
		if len(out) > 0 && !n.IsTight {
			out = append(out, "")
		}
		blank := strings.Repeat(" ", paint.Width(first.shown.Text))
		lines := d.nest(item, w, n.IsTight, depth, first, prefix{paint.Text.Span(blank), blank})
		if len(lines) == 0 {
			lines = []string{d.theme.Decor(first.stands, first.shown)}
		}
		out = append(out, lines...)
	}
	return out
}

// taskBox is the box at the beginning of an item of a bulleted list, or nil.
func taskBox(item ast.Node) *extast.TaskCheckBox {
	if p := item.FirstChild(); p != nil {
		box, _ := p.FirstChild().(*extast.TaskCheckBox)
		return box
	}
	return nil
}

// prefix stands before the lines of a nested block; in a copy stands takes its place.
type prefix struct {
	shown  paint.Span
	stands string
}

// nest draws the children of n behind a prefix.
func (d drawer) nest(n ast.Node, w int, tight bool, depth int, first, rest prefix) []string {
	if depth >= maxDepth || w < 12 {
		first.shown.Text, rest.shown.Text = "", ""
	}
	lines := d.blocks(n, w-paint.Width(first.shown.Text), tight, depth+1)
	for i := range lines {
		p := rest
		if i == 0 {
			p = first
		}
		if p.shown.Text != "" {
			lines[i] = d.theme.Decor(p.stands, p.shown) + lines[i]
		}
	}
	return lines
}

func (d drawer) wrap(w int, spans []paint.Span) []string {
	return d.theme.Wrap(min(w, maxProse), spans...)
}

func (d drawer) raw(n ast.Node) string { return string(n.Lines().Value(d.source)) }

// info is what stands behind a fence.
func (d drawer) info(n *ast.FencedCodeBlock) string {
	if n.Info == nil {
		return ""
	}
	return string(n.Info.Segment.Value(d.source))
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
		text := strings.ReplaceAll(b.String(), "\n", " ")
		if d.inCell {
			text = strings.ReplaceAll(text, `\|`, "|")
		}
		return []paint.Span{paint.Code.With(s.Attr).Span(text)}
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
		if list, ok := n.Parent().Parent().Parent().(*ast.List); ok && !list.IsOrdered() {
			return nil // in place of the bullet
		}
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
