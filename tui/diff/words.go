package diff

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	edits "znkr.io/diff"

	"codeagent/tui/paint"
)

// Within a line that was changed, the changed words are marked: by their background,
// and without colours by bold.

// maxWords bounds the words of a line that is compared; a longer line is not.
const maxWords = 400

// words splits a line into words, runs of spaces and single other characters.
func words(line string) []string {
	class := func(r rune) int {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	var out []string
	for len(line) > 0 && len(out) <= maxWords {
		r, n := utf8.DecodeRuneInString(line)
		if c := class(r); c != 0 {
			for n < len(line) {
				next, size := utf8.DecodeRuneInString(line[n:])
				if class(next) != c {
					break
				}
				n += size
			}
		}
		out = append(out, line[:n])
		line = line[n:]
	}
	return out
}

// markWords marks the changed words of removed lines and of the added ones that stand in
// their place.
func markWords(all []line) {
	for i := 0; i < len(all); {
		gone := run(all[i:], '-')
		added := run(all[i+gone:], '+')
		for k := range min(gone, added) {
			before, after := &all[i+k], &all[i+gone+k]
			if was, is := compared(before.text, after.text); was != nil {
				before.spans = marked(before.spans, was, paint.Gone.With(paint.Bold).On(paint.TintGone))
				after.spans = marked(after.spans, is, paint.Added.With(paint.Bold).On(paint.TintAdded))
			}
		}
		i += max(gone+added, 1)
	}
}

func run(all []line, sign byte) int {
	for i, l := range all {
		if l.sign != sign {
			return i
		}
	}
	return len(all)
}

// compared says which bytes of two versions of a line differ; nil if too little is the same.
func compared(before, after string) (gone, added []bool) {
	x, y := words(before), words(after)
	if len(x) > maxWords || len(y) > maxWords {
		return nil, nil
	}
	same, all := 0, 0
	for _, e := range edits.Edits(x, y) {
		differs, n := e.Op != edits.Match, len(strings.TrimSpace(e.X))
		if e.Op != edits.Insert {
			gone = append(gone, slices.Repeat([]bool{differs}, len(e.X))...)
		}
		if e.Op != edits.Delete {
			added = append(added, slices.Repeat([]bool{differs}, len(e.Y))...)
		}
		if all += n + len(strings.TrimSpace(e.Y)); !differs {
			same += 2 * n
		}
	}
	if same*3 < all || same == all {
		return nil, nil
	}
	return gone, added
}

// marked gives the bytes that differ a style.
func marked(spans []paint.Span, differs []bool, style paint.Style) (out []paint.Span) {
	at := 0
	for _, s := range spans {
		for from, to := 0, 0; from < len(s.Text); from = to {
			for to = from; to < len(s.Text) && differs[at+to] == differs[at+from]; to++ {
			}
			one := s.Style.Span(s.Text[from:to])
			if differs[at+from] {
				one.Style = style
			}
			out = append(out, one)
		}
		at += len(s.Text)
	}
	return out
}
