package transcript

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/mark"
)

// Page is the whole transcript to read: everything in it is open. It has a place of its
// own, and the transcript goes on behind it.
type Page struct {
	list
	of *Transcript
	// versions are those of the transcript's entries that the page's own show.
	versions []int
	bodies   []*entry
	found    match
}

// match is what was found: characters from (inclusive) to to (exclusive) of the text of
// an entry's lines.
type match struct {
	text     string // what was looked for, in lower case
	entry    *entry
	line     int
	from, to int // columns
}

// NewPage is a page that shows what the transcript shows.
func NewPage(of *Transcript, c Canvas) *Page {
	p := &Page{of: of, list: list{Follow: of.Follow, whole: true}}
	p.sync()
	if at := of.top.at; !of.Follow && at < len(p.entries) {
		p.top = place{at: at}
		if e := of.entries[at]; len(p.lines(at, c)) == len(of.lines(at, c)) || e.open { // the reader is in it, and it is as long here
			p.top.off = of.top.off
		}
	}
	return p
}

// sync takes over what changed in the transcript.
func (p *Page) sync() {
	for i, e := range p.of.entries {
		if i < len(p.bodies) && p.bodies[i] != e {
			p.entries, p.bodies, p.versions = p.entries[:i], p.bodies[:i], p.versions[:i] // entries went
		}
		if i == len(p.bodies) {
			p.entries = append(p.entries, &entry{body: e.body, open: true, moving: e.moving})
			p.bodies, p.versions = append(p.bodies, e), append(p.versions, e.version)
		}
		if p.versions[i] != e.version {
			own := p.entries[i]
			own.body, own.moving, p.versions[i] = e.body, e.moving, e.version
			own.changed()
		}
	}
	n := len(p.of.entries)
	p.entries, p.bodies, p.versions = p.entries[:n], p.bodies[:n], p.versions[:n]
}

// View returns exactly h lines, with what was found marked.
func (p *Page) View(c Canvas, h int) []string {
	p.sync()
	out := p.list.View(c, h)
	if p.found.entry == nil {
		return out
	}
	for y, i := range p.rows {
		if p.entries[i] != p.found.entry {
			continue
		}
		line := y
		for line > 0 && p.rows[line-1] == i {
			line--
		}
		at := y - line
		if line == 0 && p.top.at == i {
			at += p.top.off
		}
		if at == p.found.line {
			out[y] = highlit(out[y], p.found.from, p.found.to)
		}
	}
	return out
}

// Output is the first call in view whose whole output is in a file, or that in which a
// text was found: its command and the file; "" without one.
func (p *Page) Output() (command, file string) {
	for _, i := range p.rows {
		t, ok := p.entries[i].body.(*tool)
		if !ok || t.done == nil || t.done.Spill == "" {
			continue
		}
		if file == "" || p.entries[i] == p.found.entry {
			command, file = strings.Join(strings.Fields(cmp.Or(t.command, t.title)), " "), t.done.Spill
		}
	}
	return command, file
}

// Source is what the chosen entry holds, as it was written; without one that in which a
// text was found.
func (p *Page) Source() string {
	if p.chosen == nil && p.found.entry != nil {
		return p.found.entry.source()
	}
	return p.folds.Source()
}

// Marked is a drawn line with all places of a text marked.
func Marked(line, text string) string {
	if text == "" {
		return line
	}
	for _, from := range places(ansi.Strip(line), strings.ToLower(text), len(line)) {
		line = highlit(line, from, from+ansi.StringWidth(text))
	}
	return line
}

// highlit reverses columns of a line.
func highlit(line string, from, to int) string {
	line = mark.Strip(line)
	w := ansi.StringWidth(line)
	to = min(to, w)
	if from >= to {
		return line
	}
	return ansi.Cut(line, 0, from) + ansi.ResetStyle + "\x1b[7m" + ansi.Strip(ansi.Cut(line, from, to)) + ansi.ResetStyle + ansi.Cut(line, to, w)
}

// Find goes to the next place with the text behind the present one, or with back to the
// one before it; round the end of the transcript. Capitals do not matter. False: the
// text is nowhere.
func (p *Page) Find(c Canvas, text string, back bool) bool {
	p.sync()
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || len(p.entries) == 0 {
		p.found = match{}
		return false
	}
	at, line, col := p.start(c).at, p.top.off, -1
	if i := slices.Index(p.entries, p.found.entry); i >= 0 && p.found.text == text {
		at, line, col = i, p.found.line, p.found.from
	} else if back {
		line--
	}
	for k, m := range p.matches(c, text, at, p.entries[at], back) {
		if k == 0 && (!back && (m.line < line || m.line == line && m.from <= col) || back && (m.line > line || m.line == line && (col < 0 || m.from >= col))) {
			continue
		}
		p.found = m
		p.reveal(c, slices.Index(p.entries, m.entry), m.line)
		return true
	}
	p.found = match{text: text}
	return false
}

// matches are the places with a text, with the number of entries passed: from the beginning of entry at on,
// or with back from its end, round the end of the transcript, and those of this entry at last again. own is
// looked at even if its source does not have the text.
func (p *Page) matches(c Canvas, text string, at int, own *entry, back bool) iter.Seq2[int, match] {
	return func(yield func(int, match) bool) {
		n, w := len(p.entries), ansi.StringWidth(text)
		for k := 0; n > 0 && k <= n; k++ {
			i := (at + k) % n
			if back {
				i = (at - k + n) % n
			}
			e := p.entries[i]
			if s, ok := e.body.(source); ok && e != own && !mayHold(s, text) {
				continue
			}
			lines := p.lines(i, c)
			for line := range lines {
				if back {
					line = len(lines) - 1 - line
				}
				columns := placesIn(lines, line, text)
				if back {
					slices.Reverse(columns)
				}
				for _, from := range columns {
					if !yield(k, match{text, e, line, from, from + w}) {
						return
					}
				}
			}
		}
	}
}

// mayHold tells without drawing whether an entry may show the text. What an entry adds
// to its source in words of ours is short, and not worth the drawing of all entries: it
// is found only in the present one.
func mayHold(s source, text string) bool {
	return containsFold(s.Source(), text)
}

// containsFold is whether s has every word of the lower-case text, whatever its capitals:
// what is drawn has other breaks and no marks.
func containsFold(s, text string) bool {
	s = strings.ToLower(s)
	for word := range strings.FieldsSeq(text) {
		if !strings.Contains(s, word) {
			return false
		}
	}
	return true
}

// placesIn are the columns of a text in line i; it may go on in the next one.
func placesIn(lines []string, i int, text string) []int {
	shown := ansi.Strip(lines[i])
	here := len(strings.Map(unicode.ToLower, shown))
	if broken, ok := mark.Continues(lines[i]); ok && i+1 < len(lines) {
		shown += broken + strings.TrimLeft(ansi.Strip(lines[i+1]), " ▎")
	}
	return places(shown, text, here)
}

// mostPlaces bounds the places of one line.
const mostPlaces = 1000

// places are the columns of a line where the text begins, before byte end.
func places(line, text string, end int) []int {
	lower := strings.Map(unicode.ToLower, line)
	var out []int
	at, col := 0, 0
	for len(out) < mostPlaces {
		i := strings.Index(lower[at:], text)
		if i < 0 || at+i >= end {
			break
		}
		col += ansi.StringWidth(lower[at : at+i])
		out = append(out, col)
		at += i + len(text)
		col += ansi.StringWidth(text)
	}
	return out
}

// reveal shows a line of an entry: a third of the page below the top, unless it is in
// view.
func (p *Page) reveal(c Canvas, i, line int) {
	if from := p.start(c); i-from.at < p.Height && (i > from.at || i == from.at && line >= from.off) {
		if below := p.between(c, from, place{i, line}); below < p.Height {
			return
		}
	}
	p.top, p.Follow = place{i, line}, false
	p.Scroll(c, -p.Height/3)
}
