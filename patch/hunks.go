package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// applyHunks finds the place of every hunk of f in data. It returns data with all
// hunks applied, and notes on the hunks that were found elsewhere than they claimed.
func applyHunks(data []byte, f File) ([]byte, []string, error) {
	t := splitText(data)
	p := &placer{
		text:    t,
		matcher: matcher{lines: t.lines},
		edits:   edits{deleted: make([]bool, len(t.lines)), before: map[int][]string{}},
	}
	crlf := t.crlf()
	for i := range f.Hunks {
		h := f.Hunks[i]
		if crlf {
			h = withoutCR(h)
		}
		if err := p.place(h); err != nil {
			return nil, nil, &Error{Line: h.Line, Path: f.Path, Msg: err.Error()}
		}
	}
	return t.apply(p.edits), p.notes, nil
}

// withoutCR drops the CR at line ends. In a file with CR LF the file decides the line
// endings: a program on the way may have added or dropped those of the patch.
func withoutCR(h Hunk) Hunk {
	h.Lines = slices.Clone(h.Lines)
	for i := range h.Lines {
		h.Lines[i].Text = strings.TrimSuffix(h.Lines[i].Text, "\r")
	}
	return h
}

// placer places the hunks of one file, in order.
type placer struct {
	text
	matcher
	edits
	// next is the first line below the changes of the hunk before.
	next int
	// shift is how many lines below its claimed line the hunk before was found.
	shift int
	notes []string
}

// spot is where a hunk goes.
type spot struct {
	start int
	lines []Line
	level level
}

func (p *placer) place(h Hunk) error {
	s, err := p.locate(h)
	if err != nil {
		return err
	}
	if s.level > exact {
		p.notes = append(p.notes, fmt.Sprintf("the hunk at patch line %d fits line %d only %s", h.Line, s.start+1, levelWords[s.level]))
	}
	if h.At > 0 && hasOld(s.lines) {
		if p.shift = s.start + 1 - h.At; p.shift != 0 {
			p.notes = append(p.notes, fmt.Sprintf("the hunk at patch line %d was found at line %d, not %d", h.Line, s.start+1, h.At))
		}
	}
	return p.edit(h, s)
}

// edit records what the hunk does at its spot.
func (p *placer) edit(h Hunk, s spot) error {
	indent := p.indents(s)
	at, last := s.start, s.start
	for _, l := range s.lines {
		switch l.Kind {
		case ' ':
			at++
		case '-':
			if p.deleted[at] {
				return fmt.Errorf("line %d of the file is removed twice, by this hunk and by one above", at+1)
			}
			p.deleted[at] = true
			at++
			last = at
		case '+':
			p.before[at] = append(p.before[at], indent(l.Text))
			last = at
		}
	}
	p.next = max(p.next, last)
	if h.Final != FinalKept && at == len(p.text.lines) {
		p.final = h.Final
	}
	return nil
}

// locate finds the place of h: first an exact match, then a shifted one, then one that
// ignores white space; first below the hunk before, then anywhere.
func (p *placer) locate(h Hunk) (spot, error) {
	if !hasOld(h.Lines) {
		return p.insertion(h)
	}
	variants := [][]Line{h.Lines}
	if cut := withoutBareEnd(h.Lines); len(cut) < len(h.Lines) && hasOld(cut) {
		variants = append(variants, cut)
	}
	anchors, err := p.anchors(h.Anchors)
	if err != nil {
		return spot{}, err
	}
	var astray []int // where the lines stand, but above the anchor
	for _, from := range []int{p.next, 0} {
		for lv := exact; lv < levels; lv++ {
			for _, lines := range variants {
				all, err := p.find(oldLines(lines), lv)
				if err != nil {
					return spot{}, err
				}
				i, _ := slices.BinarySearch(all, from)
				all = p.free(all[i:], lines)
				n := len(oldLines(lines))
				if len(anchors) > 0 && len(all) > 0 && all[len(all)-1]+n <= anchors[0] {
					astray, all = all, nil
				}
				if len(all) == 0 {
					continue
				}
				start, err := p.choose(h, all, anchors, n)
				return spot{start, lines, lv}, err
			}
		}
		if p.next == 0 {
			break
		}
	}
	if astray != nil {
		return spot{}, fmt.Errorf("the lines to change are at %s, none of them below the \"@@\" line %s", places(astray), quote(h.Anchors[len(h.Anchors)-1]))
	}
	return spot{}, fmt.Errorf("the lines to change were not found: %s. Read the file again and copy the lines as they are", p.nearest(oldLines(h.Lines)))
}

// free keeps the places where no line to be removed already is. It takes no longer
// than finding the places: added lines, of which there may be many, cost nothing.
func (p *placer) free(all []int, lines []Line) []int {
	var removed []int // counted from the place
	n := 0
	for _, l := range lines {
		if l.Kind == '-' {
			removed = append(removed, n)
		}
		if l.Kind != '+' {
			n++
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(at int) bool {
		return slices.ContainsFunc(removed, func(i int) bool { return p.deleted[at+i] })
	})
}

// choose picks one of the places where a hunk of n old lines fits, or returns an error.
// anchors are the lines with its "@@" text.
func (p *placer) choose(h Hunk, all, anchors []int, n int) (int, error) {
	if h.EOF {
		if last := len(p.text.lines) - n; all[len(all)-1] == last {
			return last, nil
		}
	}
	switch {
	case len(all) == 1:
		return all[0], nil
	case h.At > 0:
		return nearestTo(all, h.At-1+p.shift), nil
	case len(h.Anchors) == 0:
		return 0, fmt.Errorf("the lines to change are at %s; add lines of context, or an \"@@\" line that names what is above the right one", places(all))
	case len(anchors) == 0:
		return 0, fmt.Errorf("the lines to change are at %s, and the line %s of the \"@@\" is not in the file", places(all), quote(h.Anchors[len(h.Anchors)-1]))
	}
	picked := belowAnchors(all, anchors, n)
	if len(picked) == 1 {
		return picked[0], nil
	}
	return 0, fmt.Errorf("the lines to change are below several lines like %s, at %s; add a second \"@@\" line or more context", quote(h.Anchors[len(h.Anchors)-1]), places(picked))
}

// belowAnchors picks, of the places of n lines, the first one below each anchor.
// An anchor reaches down to the next line like it. Without one below,
// the anchor may be one of the n lines themselves. Some place ends below the
// first anchor.
func belowAnchors(all, anchors []int, n int) []int {
	var picked []int
	for i, a := range anchors {
		j, _ := slices.BinarySearch(all, a)
		if j < len(all) && (i+1 == len(anchors) || all[j] < anchors[i+1]) {
			picked = append(picked, all[j])
		}
	}
	if picked != nil {
		return picked
	}
	for _, at := range all {
		if at+n > anchors[0] {
			picked = append(picked, at)
		}
	}
	return picked
}

// insertion places a hunk that only adds lines: below its anchor, or at its line
// number, or at the end of the file.
func (p *placer) insertion(h Hunk) (spot, error) {
	lines, end := bareAdded(h.Lines), len(p.text.lines)
	switch {
	case h.EOF:
		return spot{start: end, lines: lines}, nil
	case len(h.Anchors) > 0:
		at, err := p.anchors(h.Anchors)
		if err != nil {
			return spot{}, err
		}
		switch len(at) {
		case 0:
			return spot{}, fmt.Errorf("the line %s of the \"@@\" is not in the file", quote(h.Anchors[len(h.Anchors)-1]))
		case 1:
			return spot{start: at[0] + 1, lines: lines}, nil
		}
		return spot{}, fmt.Errorf("the line %s of the \"@@\" is at %s; add lines of context", quote(h.Anchors[len(h.Anchors)-1]), places(at))
	case h.At > 0:
		return spot{start: min(max(h.At-1+p.shift, 0), end), lines: lines}, nil
	}
	return spot{start: end, lines: lines}, nil
}

// indents returns how to indent added lines. If the hunk fits only with other
// white space, its author sees the file with other indentation. The added lines then
// get the file's indentation, as far as the old lines show what it is.
func (p *placer) indents(s spot) func(string) string {
	same := func(l string) string { return l }
	if s.level < spaces {
		return same
	}
	table := map[string]string{}
	at := s.start
	for _, l := range s.lines {
		if l.Kind == '+' {
			continue
		}
		file := p.text.lines[at]
		at++
		if strings.TrimSpace(file) == "" {
			continue
		}
		theirs, ours := indentOf(l.Text), indentOf(file)
		if known, ok := table[theirs]; ok && known != ours {
			return same
		}
		table[theirs] = ours
	}
	return func(l string) string {
		theirs := indentOf(l)
		if ours, ok := inOurs(table, theirs); ok && l != "" {
			return ours + l[len(theirs):]
		}
		return l
	}
}

// inOurs translates an indentation of the patch into the file's. table has the known
// pairs. A deeper indentation is a known one and a step between two known ones: if 2
// and 4 spaces are one and two tabs in the file, 6 spaces are three.
func inOurs(table map[string]string, theirs string) (string, bool) {
	if ours, ok := table[theirs]; ok {
		return ours, true
	}
	base, found := "", false
	for known := range table {
		if strings.HasPrefix(theirs, known) && len(known) >= len(base) {
			base, found = known, true
		}
	}
	if !found {
		return "", false
	}
	more, step, any := theirs[len(base):], "", false
	for known, ours := range table {
		deeper, ok := table[known+more]
		if !ok || !strings.HasPrefix(deeper, ours) {
			continue
		}
		if any && deeper[len(ours):] != step {
			return "", false
		}
		step, any = deeper[len(ours):], true
	}
	return table[base] + step, any
}

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

func oldLines(lines []Line) []string {
	var out []string
	for _, l := range lines {
		if l.Kind != '+' {
			out = append(out, l.Text)
		}
	}
	return out
}

// hasOld reports whether lines name anything of the file; a wholly empty patch
// line among added ones does not.
func hasOld(lines []Line) bool {
	return slices.ContainsFunc(lines, func(l Line) bool { return l.Kind != '+' && !l.Bare })
}

// withoutBareEnd drops the empty patch lines that trail a hunk.
func withoutBareEnd(lines []Line) []Line {
	for len(lines) > 0 && lines[len(lines)-1].Bare {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// bareAdded reads the empty patch lines between added ones as added too, and
// drops those at both ends.
func bareAdded(lines []Line) []Line {
	lines = slices.Clone(withoutBareEnd(lines))
	for len(lines) > 0 && lines[0].Bare {
		lines = lines[1:]
	}
	for i := range lines {
		lines[i].Kind = '+'
	}
	return lines
}

func nearestTo(all []int, want int) int {
	away := func(at int) int { return max(at-want, want-at) }
	return slices.MinFunc(all, func(a, b int) int { return cmp.Compare(away(a), away(b)) })
}

// places names up to five lines, from 1.
func places(all []int) string {
	var b strings.Builder
	b.WriteString("lines ")
	for i, at := range all {
		switch {
		case i == 5:
			fmt.Fprintf(&b, " and %d more", len(all)-5)
			return b.String()
		case i > 0 && i == len(all)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", at+1)
	}
	return b.String()
}
