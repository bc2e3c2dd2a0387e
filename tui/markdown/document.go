package markdown

import (
	"strings"

	gmtext "github.com/yuin/goldmark/text"

	"codeagent/tui/highlight"
	"codeagent/tui/paint"
)

// Document is markdown that arrives in pieces. It is cut into parts where later text
// cannot change how earlier text is drawn: at a blank line before an unindented
// line, and at a code fence. A complete part is drawn once; only the last part is
// drawn again as it grows. Whole texts are cut in the same way, so a streamed answer
// looks the same as a finished one.
type Document struct {
	text  textBuffer
	parts []*part
	// start is where the unfinished last line of text begins.
	start int
	// Ended: no more text comes.
	Ended bool
	// Quiet draws all of it in a style of less importance.
	Quiet bool
	// Margin puts the lines behind the gutter; they are then not copied for that in each
	// frame.
	Margin bool

	theme *paint.Theme
	width int
	// settled are the drawn lines of the complete parts, done is their number.
	settled []string
	done    int
	number  listNumber // behind the settled parts
}

// textBuffer is a text that arrives in pieces, with "\n" for each "\r\n". When it is whole it is the
// very string that the conversation has, so that a long one is in memory once.
type textBuffer struct {
	arrived strings.Builder
	whole   string // in place of arrived
	held    string // a "\r" at the end, which a "\n" may follow
}

func (g *textBuffer) add(s string) {
	g.arrived.WriteString(g.whole)
	s, g.whole = g.held+s, ""
	rest := strings.TrimSuffix(s, "\r")
	g.held = s[len(rest):]
	g.arrived.WriteString(strings.ReplaceAll(rest, "\r\n", "\n"))
}

// is reports whether the text is s, and then keeps s.
func (g *textBuffer) is(s string) bool {
	if g.held != "" || g.text() != s {
		return false
	}
	*g = textBuffer{whole: s}
	return true
}

func (g *textBuffer) text() string {
	if g.whole != "" {
		return g.whole
	}
	return g.arrived.String()
}

// part is a stretch of prose, or the inside of a fence.
type part struct {
	from, to int    // the lines of the document that it is
	fence    string // the fence that closes it; "" for prose
	lang     string // the language that stands behind the fence
	blank    bool   // the last line was blank
	closed   bool
	// drawn are the lines of the first taken bytes of a growing part.
	drawn []string
	taken int
	// reader colours the code behind taken.
	reader highlight.Reader
}

// Bounds of what is drawn again while an answer arrives: without them a long part
// takes time quadratic in its length.
const (
	// maxFresh is the greatest length of a part of prose that is drawn whole each
	// time. A longer part is drawn whole when it has grown by an eighth; until then
	// the new text is drawn as plain text below it.
	maxFresh = 16 << 10
	// maxTail bounds how much of the end of such text, or of an unfinished line of
	// code, is drawn.
	maxTail = 8 << 10
)

// Add appends what was streamed.
func (d *Document) Add(s string) {
	next := len(d.text.text())
	d.text.add(s)
	text := d.text.text()
	for {
		i := strings.IndexByte(text[next:], '\n')
		if i < 0 {
			return
		}
		next += i + 1
		from := d.start
		d.start = next
		d.take(text[from:next-1], from, next)
	}
}

// Set replaces the text if it differs from what was streamed.
func (d *Document) Set(s string) {
	if !d.text.is(s) && d.Text() != strings.ReplaceAll(s, "\r\n", "\n") {
		*d = Document{Ended: d.Ended, Quiet: d.Quiet, Margin: d.Margin}
		d.Add(s)
	}
}

// Empty reports whether there is nothing to draw.
func (d *Document) Empty() bool { return strings.TrimSpace(d.text.text()) == "" }

// take places one whole line, which stands from from to to.
func (d *Document) take(line string, from, to int) {
	p := d.open(from)
	if p.fence != "" {
		if closes(line, p.fence) {
			p.closed = true
			return
		}
		p.to = to
		return
	}
	if fence := opens(line); fence != "" {
		p.closed = true
		d.parts = append(d.parts, &part{from: to, to: to, fence: fence, lang: language(line[len(fence):])})
		return
	}
	if strings.TrimSpace(line) == "" {
		p.blank = true
	} else {
		if p.blank && line[0] != ' ' && line[0] != '\t' {
			p.closed = true
			p = d.open(from)
		}
		p.blank = false
	}
	p.to = to
}

// open returns the part that takes the line at from.
func (d *Document) open(from int) *part {
	if n := len(d.parts); n > 0 && !d.parts[n-1].closed {
		return d.parts[n-1]
	}
	p := &part{from: from, to: from}
	d.parts = append(d.parts, p)
	return p
}

// opens returns the fence that a line opens, or "".
func opens(line string) string {
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

func closes(line, fence string) bool {
	line = strings.TrimRight(line, " \t")
	trimmed := strings.TrimLeft(line, " ")
	return len(line)-len(trimmed) <= 3 && len(trimmed) >= len(fence) && strings.Trim(trimmed, fence[:1]) == ""
}

// Lines draws the document; the caller must not change the result.
func (d *Document) Lines(t *paint.Theme, w int) []string {
	out := d.lines(t, w)
	if d.Ended {
		d.forget() // the next call is rare, and a long conversation has many documents
	}
	return out
}

// forget drops the drawn lines.
func (d *Document) forget() {
	d.theme, d.settled, d.done, d.number = nil, nil, 0, listNumber{}
	for _, p := range d.parts {
		p.drawn, p.taken = nil, 0
	}
}

func (d *Document) lines(t *paint.Theme, w int) []string {
	if d.theme != t || d.width != w {
		d.forget()
		d.theme, d.width = t, w
	}
	for d.done < len(d.parts) && d.parts[d.done].closed {
		if d.parts[d.done].fence != "" {
			d.number = listNumber{}
		}
		d.settled = apart(d.settled, d.parts[d.done].lines(d, &d.number, "", true))
		d.parts[d.done].drawn = nil
		d.done++
	}
	out := d.settled[:len(d.settled):len(d.settled)]
	line := d.unfinished()
	if !d.Ended && (opens(line) != "" || strings.Trim(line, "`~") == "") {
		line = "" // it may become a fence
	}
	if d.done == len(d.parts) && line == "" {
		return out
	}
	number := d.number
	return apart(out, d.open(d.start).lines(d, &number, line, d.Ended))
}

// unfinished is the last line, which no "\n" ends yet; "" for one that ends a block of code, since many
// answers end with it.
func (d *Document) unfinished() string {
	line := d.text.text()[d.start:]
	if n := len(d.parts); n > 0 && !d.parts[n-1].closed && d.parts[n-1].fence != "" && closes(line, d.parts[n-1].fence) {
		return ""
	}
	return line
}

// behind puts lines behind the gutter, if they belong there.
func (d *Document) behind(lines []string) []string {
	if d.Margin {
		return paint.Indent(lines)
	}
	return lines
}

// apart joins two stretches with a blank line.
func apart(a, b []string) []string {
	if len(a) > 0 && len(b) > 0 {
		a = append(a, "")
	}
	return append(a, b...)
}

// lines draws the part and the unfinished line behind it. With whole no more text
// comes, and all of it is drawn.
func (p *part) lines(d *Document, number *listNumber, line string, whole bool) []string {
	if p.fence == "" {
		return p.prose(d, number, line, whole)
	}
	t, w := d.theme, d.width
	if p.drawn == nil {
		p.drawn, p.reader = d.behind([]string{ruleAbove(t, p.lang, w)}), highlight.For(p.lang)
	}
	if fresh := d.of(p)[p.taken:]; fresh != "" {
		p.drawn = append(p.drawn, d.behind(codeLines(t, &p.reader, strings.TrimSuffix(fresh, "\n"), w))...)
		p.taken = p.to - p.from
	}
	out := p.drawn[:len(p.drawn):len(p.drawn)]
	if line != "" {
		if !whole {
			line = tail(line)
		}
		next := p.reader // the line is read again when it is whole
		out = append(out, d.behind(codeLines(t, &next, line, w))...)
	}
	if whole {
		out = append(out, d.behind([]string{ruleBelow(t, w)})...)
	}
	return out
}

// prose draws the whole part, or the new text below what was drawn before.
func (p *part) prose(d *Document, number *listNumber, line string, whole bool) []string {
	src := d.of(p)
	n := len(src) + len(line)
	if whole || n <= maxFresh || p.taken == 0 || n-p.taken > p.taken/8 {
		p.drawn, p.taken = d.behind(markdown(d.theme, src+line, d.width, d.Quiet, number)), n
		return p.drawn
	}
	out := p.drawn[:len(p.drawn):len(p.drawn)]
	since := tail(src[min(p.taken, len(src)):]) + tail(line[max(min(p.taken-len(src), len(line)), 0):])
	if since = strings.Trim(since, "\n"); since != "" {
		out = append(out, d.behind(d.theme.Wrap(min(d.width, maxProse), base(d.Quiet).Span(since)))...)
	}
	return out
}

// Text is all that was written, with "\n" at the end of each line.
func (d *Document) Text() string { return d.text.text() + d.text.held }

func (d *Document) of(p *part) string { return d.text.text()[p.from:p.to] }

// Code returns the blocks of code from top to bottom.
func (d *Document) Code() []string {
	var out []string
	for i, p := range d.parts {
		src := d.of(p)
		if i == len(d.parts)-1 && !p.closed {
			src += d.unfinished()
		}
		if p.fence != "" {
			out = append(out, src)
			continue
		}
		source := []byte(src)
		for n := range codeBlocks(parsers().Parse(gmtext.NewReader(source))) {
			out = append(out, string(n.Lines().Value(source)))
		}
	}
	return out
}

// tail is the end of a long text, with a mark in place of the beginning.
func tail(s string) string {
	if len(s) <= maxTail {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxTail:], "")
}
