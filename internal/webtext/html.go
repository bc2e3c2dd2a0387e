package webtext

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxText bounds the text of one page in bytes.
	maxText = 2 << 20
	// maxLink bounds the links that are written out, in bytes.
	maxLink = 500
	// maxIndent bounds the indentation of lists and quotations.
	maxIndent = 40
)

// Page is the text of a page.
type Page struct {
	Title, Text string
	// Cut: the page has more text.
	Cut bool
}

// HTML renders a decoded page; base is its URL, to which links are relative. What a reader of
// the page would not see is left out.
func HTML(page, base string) Page {
	root, cut := parse(page)
	w := &walker{}
	var err error
	if w.base, err = url.Parse(base); err != nil {
		w.base = &url.URL{}
	}
	w.walk(root)
	text := w.out.String()
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return Page{Title: Visible(strings.Join(strings.Fields(w.title), " ")), Text: Visible(text), Cut: cut || w.full()}
}

// walker visits a tree and writes its text.
type walker struct {
	lines
	base  *url.URL
	based bool // a <base> was seen: only the first counts
	title string
	items int // how many list items the walk is in
}

// hidden are elements whose content is not shown.
var hidden = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Svg: true, atom.Iframe: true, atom.Object: true, atom.Embed: true,
	atom.Canvas: true, atom.Audio: true, atom.Video: true, atom.Select: true, atom.Datalist: true, atom.Noframes: true, atom.Noembed: true,
}

// blocks are elements that begin and end a line; those with 2 are set off by an empty line.
var blocks = map[atom.Atom]int{
	atom.P: 2, atom.Ul: 2, atom.Ol: 2, atom.Dl: 2, atom.Pre: 2, atom.Listing: 2, atom.Blockquote: 2, atom.Table: 2, atom.Hr: 2, atom.Figure: 2,
	atom.H1: 2, atom.H2: 2, atom.H3: 2, atom.H4: 2, atom.H5: 2, atom.H6: 2, atom.Article: 2, atom.Section: 2, atom.Header: 2, atom.Footer: 2,
	atom.Main: 2, atom.Nav: 2, atom.Aside: 2, atom.Form: 2, atom.Fieldset: 2, atom.Details: 2, atom.Div: 1, atom.Address: 1, atom.Summary: 1,
	atom.Li: 1, atom.Dt: 1, atom.Dd: 1, atom.Tr: 1, atom.Caption: 1, atom.Figcaption: 1, atom.Legend: 1, atom.Option: 1, atom.Center: 1,
}

func (w *walker) walk(n *html.Node) {
	if w.full() {
		return
	}
	switch n.Type {
	case html.TextNode:
		w.text(n.Data)
		return
	case html.ElementNode:
		if hidden[n.DataAtom] || unseen(n) {
			return
		}
		w.element(n)
		return
	}
	w.children(n)
}

func (w *walker) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.walk(c)
	}
}

// unseen reports an element that is marked as hidden.
func unseen(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func (w *walker) element(n *html.Node) {
	breaks := blocks[n.DataAtom]
	if w.items > 0 {
		breaks = min(breaks, 1) // no empty lines within a list
	}
	w.owe(breaks)
	switch n.DataAtom {
	case atom.Title:
		if w.title == "" && n.FirstChild != nil {
			w.title = n.FirstChild.Data
		}
	case atom.Base:
		w.rebase(attr(n, "href"))
	case atom.Br:
		w.owe(min(w.breaks+1, 2))
	case atom.Hr:
		w.word("---")
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.inside("", strings.Repeat("#", int(n.Data[1]-'0'))+" ", n)
	case atom.A:
		w.link(n)
	case atom.Img:
		if alt := strings.TrimSpace(attr(n, "alt")); alt != "" {
			w.text("[image: " + alt + "]")
		}
	case atom.Pre, atom.Listing, atom.Textarea:
		w.verbatim(plainText(n))
	case atom.Code, atom.Kbd, atom.Samp:
		if text := strings.TrimSpace(plainText(n)); text != "" {
			w.text("`" + text + "`")
		}
	case atom.Blockquote:
		w.inside("> ", "> ", n)
	case atom.Ol:
		w.numbered(n)
	case atom.Li:
		w.listItem("  ", "- ", n)
	case atom.Dd:
		w.inside("  ", "  ", n)
	case atom.Tr:
		w.cells = 0
		w.children(n)
		w.cells = 0
	case atom.Td, atom.Th:
		if previousCell(n) {
			w.cells++
		}
		w.children(n)
	default:
		w.children(n)
	}
	w.owe(breaks)
}

// inside writes n indented, its first line after mark.
func (w *walker) inside(indent, mark string, n *html.Node) {
	outer := w.begin(indent, mark)
	w.children(n)
	w.end(outer)
}

func (w *walker) listItem(indent, mark string, n *html.Node) {
	w.items++
	w.inside(indent, mark, n)
	w.items--
}

// numbered writes the items of an ordered list.
func (w *walker) numbered(n *html.Node) {
	number, err := strconv.Atoi(attr(n, "start"))
	if err != nil || number < 0 || number > 1e6 {
		number = 1
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Li || unseen(c) {
			w.walk(c)
			continue
		}
		w.owe(1)
		w.listItem("   ", strconv.Itoa(number)+". ", c)
		w.owe(1)
		number++
	}
}

func previousCell(n *html.Node) bool {
	for p := n.PrevSibling; p != nil; p = p.PrevSibling {
		if p.DataAtom == atom.Td || p.DataAtom == atom.Th {
			return true
		}
	}
	return false
}

// link writes n's text and its target. It leaves out targets within the page or outside the
// web, and links that have no text.
func (w *walker) link(n *html.Node) {
	to := w.absolute(attr(n, "href"))
	if to == "" {
		w.children(n)
		return
	}
	before := w.opened
	w.opened++
	w.children(n)
	if w.opened > before {
		w.opened = before
		return
	}
	w.out.WriteString("](" + to + ")")
}

func (w *walker) absolute(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(href) > maxLink {
		return ""
	}
	u, err := w.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	if to := u.String(); len(to) <= maxLink {
		return strings.ReplaceAll(to, ")", "%29")
	}
	return ""
}

func (w *walker) rebase(href string) {
	if u, err := w.base.Parse(strings.TrimSpace(href)); err == nil && href != "" && !w.based {
		w.base, w.based = u, true
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// plainText returns all text in n, with the line breaks of its elements.
func plainText(n *html.Node) string {
	var b strings.Builder
	fresh := true // at the beginning of a line
	put := func(s string) {
		if s != "" {
			b.WriteString(s)
			fresh = strings.HasSuffix(s, "\n")
		}
	}
	var add func(*html.Node)
	add = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			put(n.Data)
			return
		case n.DataAtom == atom.Br:
			put("\n")
			return
		case hidden[n.DataAtom] || unseen(n):
			return
		}
		block := blocks[n.DataAtom] > 0
		if block && !fresh {
			put("\n")
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			add(c)
		}
		if block && !fresh {
			put("\n")
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		add(c)
	}
	return b.String()
}
