package markdown

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// tree writes a parsed text: the kinds of its nodes, their texts and what a drawing depends on.
func tree(root ast.Node, source []byte) string {
	var b strings.Builder
	inCell, inCode := false, false
	_ = ast.Walk(root, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *extast.TableCell:
			inCell = enter
		case *ast.CodeSpan:
			inCode = enter
		case *ast.Text:
			if enter {
				text := string(n.Segment.Value(source))
				if inCell && inCode {
					text = strings.ReplaceAll(text, `\|`, "|")
				}
				b.WriteString(text)
			}
			return ast.WalkContinue, nil
		}
		if !enter {
			b.WriteString(")")
			return ast.WalkContinue, nil
		}
		fmt.Fprintf(&b, "(%s ", n.Kind())
		switch n := n.(type) {
		case *extast.Table:
			fmt.Fprint(&b, n.Alignments)
		case *extast.TaskCheckBox:
			fmt.Fprint(&b, n.IsChecked)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// onlyDashes finds a line of nothing else. The extension makes a table of it where it continues with
// a paragraph of a list or quote, and GitHub makes none.
var onlyDashes = regexp.MustCompile(`(?m)^[\s>]*-+\s*$`)

// TestAsTheExtension: random texts become what the extension of the parser makes of them.
func TestAsTheExtension(t *testing.T) {
	theirs := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0))...),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
	random := rand.New(rand.NewPCG(14, 15))
	pieces := []string{
		"|", "|", "|", `\|`, `\`, "`", "``", "a", "b c", " ", "\t", "\n", "\n", "\n\n", "\n> ", "\n- ", "~", "~~", "*", "é",
		"-", "--", ":", "|-", ":-:", "|--|:-:|--:|\n", "\n|-|-|\n", "\n-|-\n", "- [ ] ", "- [x]", "[", "]", "1. [X] ", "|a|b\n|:-|-:\n",
	}
	tables, struck, boxes := 0, 0, 0
	for range 8_000 {
		var b strings.Builder
		for range 2 + random.IntN(24) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		source := []byte(b.String())
		if onlyDashes.Match(source) {
			continue
		}
		want := tree(theirs.Parse(gmtext.NewReader(source)), source)
		if got := tree(parsers().Parse(gmtext.NewReader(source)), source); got != want {
			t.Fatalf("%q becomes\n%s\nand by the extension\n%s", source, got, want)
		}
		tables += strings.Count(want, "(Table ")
		struck += strings.Count(want, "(Strikethrough ")
		boxes += strings.Count(want, "(TaskCheckBox ")
	}
	if tables < 500 || struck < 100 || boxes < 100 {
		t.Errorf("only %d tables, %d strikethroughs and %d boxes were compared", tables, struck, boxes)
	}
}
