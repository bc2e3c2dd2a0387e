package diff

import (
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
func markWords(hunks []line) {
	for i := 0; i < len(hunks); {
		gone := run(hunks[i:], '-')
		added := run(hunks[i+gone:], '+')
		for k := range min(gone, added) {
			before, after := &hunks[i+k], &hunks[i+gone+k]
			before.spans, after.spans = compared(before.text, after.text)
		}
		i += max(gone+added, 1)
	}
}

func run(hunks []line, sign byte) int {
	for i, h := range hunks {
		if h.sign != sign {
			return i
		}
	}
	return len(hunks)
}

// compared are two versions of a line with their differences marked; nil if too little
// is the same.
func compared(before, after string) (gone, added []paint.Span) {
	x, y := words(before), words(after)
	if len(x) > maxWords || len(y) > maxWords {
		return nil, nil
	}
	same, all := 0, 0
	old, fresh := paint.Gone, paint.Added
	for _, e := range edits.Edits(x, y) {
		switch e.Op {
		case edits.Match:
			gone, added = append(gone, old.Span(e.X)), append(added, fresh.Span(e.X))
			n := len(strings.TrimSpace(e.X))
			same += 2 * n
			all += 2 * n
		case edits.Delete:
			gone = append(gone, old.With(paint.Bold).On(paint.TintGone).Span(e.X))
			all += len(strings.TrimSpace(e.X))
		case edits.Insert:
			added = append(added, fresh.With(paint.Bold).On(paint.TintAdded).Span(e.Y))
			all += len(strings.TrimSpace(e.Y))
		}
	}
	if same*3 < all || same == all {
		return nil, nil
	}
	return gone, added
}
