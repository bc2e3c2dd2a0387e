package tui

import "strings"

// document is markdown that arrives in pieces. It is cut into parts where
// nothing that follows can change what came before: at a blank line before an
// unindented line, and at a code fence. A part that is complete is drawn once;
// only the last one is drawn again as it grows. The whole text is cut the same
// way, so what was streamed looks as it does when it is drawn anew.
type document struct {
	text  strings.Builder
	parts []*part
	// start is where the unfinished last line of text begins.
	start int
	// ended: nothing more comes.
	ended bool

	theme *theme
	width int
	// settled are the drawn lines of the complete parts, done how many those are.
	settled []string
	done    int
}

// part is a stretch of prose, or the inside of a fence.
type part struct {
	src    strings.Builder
	fence  string // the fence that closes it; "" for prose
	blank  bool   // the last line was blank
	closed bool
	// drawn are the lines of the first taken bytes of a part that still grows.
	drawn []string
	taken int
}

// Bounds of what is drawn anew while an answer arrives: a long part would take
// the square of its length.
const (
	// maxFresh is how long a part of prose may be to be drawn whole each time.
	// One that is longer is drawn whole when it has grown by an eighth; until then
	// what came is plain text below it.
	maxFresh = 16 << 10
	// maxTail is how much of the end of such text, or of an unfinished line of
	// code, is drawn.
	maxTail = 8 << 10
)

// add appends what was streamed.
func (d *document) add(s string) {
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

// set replaces the text when it is not what was streamed.
func (d *document) set(s string) {
	if d.text.String() != s {
		*d = document{ended: d.ended}
		d.add(s)
	}
}

func (d *document) empty() bool { return strings.TrimSpace(d.text.String()) == "" }

// take places one whole line.
func (d *document) take(line string) {
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
		d.parts = append(d.parts, &part{fence: fence})
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

func (d *document) open() *part {
	if n := len(d.parts); n > 0 && !d.parts[n-1].closed {
		return d.parts[n-1]
	}
	p := &part{}
	d.parts = append(d.parts, p)
	return p
}

// opens returns the fence a line opens, "" if none.
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

// lines draws the document; the caller must not change the result.
func (d *document) lines(t *theme, w int) []string {
	if d.theme != t || d.width != w {
		d.theme, d.width, d.settled, d.done = t, w, nil, 0
		for _, p := range d.parts {
			p.drawn, p.taken = nil, 0
		}
	}
	for d.done < len(d.parts) && d.parts[d.done].closed {
		d.settled = apart(d.settled, d.parts[d.done].lines(t, w, "", true))
		d.parts[d.done].drawn = nil
		d.done++
	}
	out := d.settled[:len(d.settled):len(d.settled)]
	line := d.text.String()[d.start:]
	if opens(line) != "" || strings.Trim(line, "`~") == "" {
		line = "" // it may become a fence
	}
	if d.done == len(d.parts) && line == "" {
		return out
	}
	return apart(out, d.open().lines(t, w, line, d.ended))
}

// apart joins two stretches with a blank line.
func apart(a, b []string) []string {
	if len(a) > 0 && len(b) > 0 {
		a = append(a, "")
	}
	return append(a, b...)
}

// lines draws the part and the unfinished line behind it; whole: nothing more
// comes, and it is drawn as it stays.
func (p *part) lines(t *theme, w int, line string, whole bool) []string {
	if p.fence == "" {
		return p.prose(t, w, line, whole)
	}
	if fresh := p.src.String()[p.taken:]; fresh != "" {
		p.drawn = append(p.drawn, codeLines(t, strings.TrimSuffix(fresh, "\n"), w)...)
		p.taken = p.src.Len()
	}
	out := p.drawn[:len(p.drawn):len(p.drawn)]
	if line != "" {
		if !whole {
			line = tail(line)
		}
		out = append(out, codeLines(t, line, w)...)
	}
	return out
}

// prose draws the part whole, or what has come since below what was drawn.
func (p *part) prose(t *theme, w int, line string, whole bool) []string {
	src := p.src.String()
	n := len(src) + len(line)
	if whole || n <= maxFresh || p.taken == 0 || n-p.taken > p.taken/8 {
		p.drawn, p.taken = markdown(t, src+line, w), n
		return p.drawn
	}
	out := p.drawn[:len(p.drawn):len(p.drawn)]
	since := tail(src[min(p.taken, len(src)):]) + tail(line[max(min(p.taken-len(src), len(line)), 0):])
	if since = strings.Trim(since, "\n"); since != "" {
		out = append(out, t.wrap(w, span{since, text})...)
	}
	return out
}

// tail is the end of a long text; what is left out before it is marked.
func tail(s string) string {
	if len(s) <= maxTail {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxTail:], "")
}
