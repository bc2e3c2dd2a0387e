package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The parser takes quadratic time for many inputs: brackets that nothing closes,
// emphasis inside emphasis, quotes inside quotes, a row of a thousand columns above
// rows of one. An answer comes from the model and may be hostile. So the parser's
// steps are wrapped and bounded here; what exceeds a bound is shown as plain text.
const (
	// maxMarks is how many marks (*, _, `, [, <, ...) count in one block of text.
	maxMarks = 500
	// maxMarked is the greatest length of a block whose marks count: the parser may
	// search for each of them up to the end of the block.
	maxMarked = 16 << 10
	// maxContainers bounds the nesting of quotes, lists and their items.
	maxContainers = 32
	// maxDefinitions and maxDefinition bound a block of link definitions: its number
	// of lines, and the length of a line. Each use of a link shows its target.
	maxDefinitions, maxDefinition = 500, 256
	// maxHeading bounds how many times longer than its table the heading is when it
	// is repeated in each row.
	maxHeading = 16
)

// newParser is the parser of CommonMark with tables, strikethrough and task
// lists, bounded.
func newParser() parser.Parser {
	blocks := parser.DefaultBlockParsers()
	for i, b := range blocks {
		switch b.Priority {
		case 300, 800: // lists and quotes
			blocks[i].Value = boundedContainer{b.Value.(parser.BlockParser)}
		}
	}
	inlines := append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0))
	for i, p := range inlines {
		bounded := boundedInline{p.Value.(parser.InlineParser)}
		inlines[i].Value = bounded
		if c, ok := p.Value.(parser.CloseBlocker); ok {
			inlines[i].Value = struct {
				boundedInline
				parser.CloseBlocker
			}{bounded, c}
		}
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(inlines...),
		parser.WithParagraphTransformers(
			util.Prioritized(boundedDefinitions{}, 100),
			util.Prioritized(boundedTable{}, 200)))
}

// boundedContainer opens no list or quote that is nested too deep.
type boundedContainer struct{ parser.BlockParser }

func (b boundedContainer) Open(parent ast.Node, r gmtext.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxContainers {
		return nil, parser.NoChildren
	}
	return b.BlockParser.Open(parent, r, pc)
}

// boundedInline parses only the first marks of a block.
type boundedInline struct{ parser.InlineParser }

// marks is how many marks of one block may still be parsed.
type marks struct {
	block ast.Node
	left  int
}

var marksKey = parser.NewContextKey()

func (b boundedInline) Parse(parent ast.Node, r gmtext.Reader, pc parser.Context) ast.Node {
	m, _ := pc.Get(marksKey).(*marks)
	if m == nil || m.block != parent {
		m = &marks{block: parent}
		if linesSize(parent.Lines()) <= maxMarked {
			m.left = maxMarks
		}
		pc.Set(marksKey, m)
	}
	if m.left == 0 {
		return nil
	}
	m.left--
	return b.InlineParser.Parse(parent, r, pc)
}

func linesSize(lines *gmtext.Segments) int {
	n := 0
	for i := range lines.Len() {
		at := lines.At(i)
		n += at.Len()
	}
	return n
}

// boundedDefinitions parses the link definitions of a paragraph of ordinary size.
type boundedDefinitions struct{}

func (boundedDefinitions) Transform(n *ast.Paragraph, r gmtext.Reader, pc parser.Context) {
	lines := n.Lines()
	if lines.Len() > maxDefinitions {
		return
	}
	for i := range lines.Len() {
		if at := lines.At(i); at.Len() > maxDefinition {
			return
		}
	}
	parser.LinkReferenceParagraphTransformer.Transform(n, r, pc)
}

// boundedTable makes a table of a paragraph, unless it would have far more cells than
// text, or its drawing would be far longer than its text.
type boundedTable struct{}

func (boundedTable) Transform(n *ast.Paragraph, r gmtext.Reader, pc parser.Context) {
	lines := n.Lines()
	size, columns, heading := 0, 0, 0
	for i := range lines.Len() {
		at := lines.At(i)
		line := at.Value(r.Source())
		size += len(line)
		if i > 0 && len(bytes.Trim(line, " \t\r\n|-:")) == 0 {
			// It may be the line below the heading.
			columns = max(columns, bytes.Count(line, []byte{'|'})+1)
			above := lines.At(i - 1)
			heading = max(heading, above.Len())
		}
	}
	if columns == 0 || lines.Len()*columns > size+2*columns || lines.Len()*heading > maxHeading*size {
		return
	}
	extension.NewTableParagraphTransformer().Transform(n, r, pc)
}
