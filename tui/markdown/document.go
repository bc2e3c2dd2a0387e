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
	text  strings.Builder
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
	number  numbering // behind the settled parts
}

// part is a stretch of prose, or the inside of a fence.
type part struct {
	src    strings.Builder
	fence  string // the fence that closes it; "" for prose
	lang   string // the language that stands behind the fence
	blank  bool   // the last line was blank
	closed bool
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
	d.text.WriteString(s)
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			return
		}
		s = s[i+1:]
		end := d.text.Len() - len(s)
		line := d.text.String()[d.start : end-1]
		d.start = end
		d.take(strings.TrimSuffix(line, "\r"))
	}
}

// Set replaces the text if it differs from what was streamed.
func (d *Document) Set(s string) {
	if d.text.String() != s {
		*d = Document{Ended: d.Ended, Quiet: d.Quiet, Margin: d.Margin}
		d.Add(s)
	}
}

// Empty reports whether there is nothing to draw.
func (d *Document) Empty() bool { return strings.TrimSpace(d.text.String()) == "" }

// take places one whole line.
func (d *Document) take(line string) {
	p := d.open()
	if p.fence != "" {
		if closes(line, p.fence) {
			p.closed = true
			return
		}
		p.src.WriteString(line + "\n")
		return
	}
	if fence := opens(line); fence != "" {
		p.closed = true
		d.parts = append(d.parts, &part{fence: fence, lang: language(line[len(fence):])})
		return
	}
	if strings.TrimSpace(line) == "" {
		p.blank = true
	} else {
		if p.blank && line[0] != ' ' && line[0] != '\t' {
			p.closed = true
			p = d.open()
		}
		p.blank = false
	}
	p.src.WriteString(line + "\n")
}

func (d *Document) open() *part {
	if n := len(d.parts); n > 0 && !d.parts[n-1].closed {
		return d.parts[n-1]
	}
	p := &part{}
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
	d.theme, d.settled, d.done, d.number = nil, nil, 0, numbering{}
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
			d.number = numbering{}
		}
		d.settled = apart(d.settled, d.parts[d.done].lines(d, &d.number, "", true))
		d.parts[d.done].drawn = nil
		d.done++
	}
	out := d.settled[:len(d.settled):len(d.settled)]
	line := d.text.String()[d.start:]
	if !d.Ended && (opens(line) != "" || strings.Trim(line, "`~") == "") {
		line = "" // it may become a fence
	}
	if d.done == len(d.parts) && line == "" {
		return out
	}
	number := d.number
	return apart(out, d.open().lines(d, &number, line, d.Ended))
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
func (p *part) lines(d *Document, number *numbering, line string, whole bool) []string {
	if p.fence == "" {
		return p.prose(d, number, line, whole)
	}
	t, w := d.theme, d.width
	if p.drawn == nil {
		p.drawn, p.reader = d.behind([]string{ruleAbove(t, p.lang, w)}), highlight.For(p.lang)
	}
	if fresh := p.src.String()[p.taken:]; fresh != "" {
		p.drawn = append(p.drawn, d.behind(codeLines(t, &p.reader, strings.TrimSuffix(fresh, "\n"), w))...)
		p.taken = p.src.Len()
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
func (p *part) prose(d *Document, number *numbering, line string, whole bool) []string {
	src := p.src.String()
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

// Text is all that was written.
func (d *Document) Text() string { return d.text.String() }

// Code returns the blocks of code from top to bottom.
func (d *Document) Code() []string {
	var out []string
	for i, p := range d.parts {
		src := p.src.String()
		if i == len(d.parts)-1 && !p.closed {
			src += d.text.String()[d.start:]
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
