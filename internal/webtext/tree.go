package webtext

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The tree of a page, made from its tokens in one pass. The parser of x/net/html does what
// browsers do with misplaced tags, and some of that (attributes of further body elements,
// formatting that is repeated in each paragraph) costs the square of a page's size or many
// times its memory. For text it is enough that tags close each other.

const (
	// maxDepth is how deep elements are nested; deeper ones become siblings.
	maxDepth = 256
	// maxNodes bounds the elements and texts of a page.
	maxNodes = 300_000
)

// transparent elements exist whether or not they are written.
var transparent = map[atom.Atom]bool{atom.Html: true, atom.Head: true, atom.Body: true}

// empty elements have no content and no end.
var empty = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true, atom.Input: true,
	atom.Link: true, atom.Meta: true, atom.Source: true, atom.Track: true, atom.Wbr: true, atom.Param: true, atom.Frame: true,
}

// closes lists the open elements that end where another begins.
var closes = map[atom.Atom][]atom.Atom{
	atom.Li: {atom.Li}, atom.Dt: {atom.Dt, atom.Dd}, atom.Dd: {atom.Dt, atom.Dd}, atom.A: {atom.A}, atom.Option: {atom.Option},
	atom.Td: {atom.Td, atom.Th}, atom.Th: {atom.Td, atom.Th}, atom.Tr: {atom.Tr}, atom.Thead: {atom.Tr, atom.Caption},
	atom.Tbody: {atom.Tr, atom.Caption}, atom.Tfoot: {atom.Tr, atom.Caption},
}

// tree is a tree under construction.
type tree struct {
	stack []*html.Node // the open elements, the root first
	open  map[string]int
	nodes int
}

// parse makes the tree of page; cut: its end was left out.
func parse(page string) (root *html.Node, cut bool) {
	root = &html.Node{Type: html.DocumentNode}
	t := &tree{stack: []*html.Node{root}, open: map[string]int{}}
	tokens := html.NewTokenizer(strings.NewReader(page))
	for t.nodes < maxNodes {
		switch tokens.Next() {
		case html.ErrorToken: // the end: reading a string has no errors
			return root, false
		case html.TextToken:
			t.add(&html.Node{Type: html.TextNode, Data: tokens.Token().Data})
		case html.StartTagToken, html.SelfClosingTagToken:
			t.begin(tokens.Token())
		case html.EndTagToken:
			t.end(tokens.Token())
		}
	}
	return root, true
}

func (t *tree) top() *html.Node { return t.stack[len(t.stack)-1] }

func (t *tree) add(n *html.Node) {
	t.nodes++
	t.top().AppendChild(n)
}

func (t *tree) begin(tag html.Token) {
	if transparent[tag.DataAtom] {
		return
	}
	if blocks[tag.DataAtom] > 0 {
		t.close(atom.P.String())
	}
	for _, other := range closes[tag.DataAtom] {
		t.close(other.String())
	}
	n := &html.Node{Type: html.ElementNode, Data: tag.Data, DataAtom: tag.DataAtom, Attr: tag.Attr}
	t.add(n)
	if !empty[tag.DataAtom] && len(t.stack) < maxDepth {
		t.stack = append(t.stack, n)
		t.open[n.Data]++
	}
}

func (t *tree) end(tag html.Token) {
	if tag.DataAtom == atom.Br { // browsers treat </br> as <br>
		t.add(&html.Node{Type: html.ElementNode, Data: tag.Data, DataAtom: tag.DataAtom})
		return
	}
	t.close(tag.Data)
}

// close ends the innermost open element of that name, with all elements open in it,
// unless it is outside the element that holds the tag.
func (t *tree) close(name string) {
	if t.open[name] == 0 {
		return
	}
	for i := len(t.stack) - 1; i > 0; i-- {
		n := t.stack[i]
		if n.Data == name {
			for _, ended := range t.stack[i:] {
				t.open[ended.Data]--
			}
			t.stack = t.stack[:i]
			return
		}
		if holds(n.DataAtom, name) {
			return
		}
	}
}

// holds reports whether an end tag of that name, inside an element outer, ends nothing outside
// that element.
func holds(outer atom.Atom, name string) bool {
	switch outer {
	case atom.Ul, atom.Ol, atom.Dl:
		return name == "li" || name == "dt" || name == "dd" || name == "p"
	case atom.Td, atom.Th, atom.Caption:
		switch name {
		case "table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption":
			return false
		}
		return true
	case atom.Table, atom.Template, atom.Object, atom.Select, atom.Svg, atom.Math:
		return true
	}
	return false
}
