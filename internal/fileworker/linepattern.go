package fileworker

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// stretch is about how many bytes are matched between two checks of the context. A longer
// line is read by the expression rune by rune, and the context is checked during that.
const stretch = 16 << 10

// wholeLines returns the length of the lines at the start of content: those that fit
// in a stretch, at least one.
func wholeLines(content []byte) int {
	if len(content) <= stretch {
		return len(content)
	}
	if i := bytes.LastIndexByte(content[:stretch], '\n'); i >= 0 {
		return i + 1
	}
	if i := bytes.IndexByte(content[stretch:], '\n'); i >= 0 {
		return stretch + i + 1
	}
	return len(content)
}

// linePattern is an expression whose matches contain no newline, so that many lines are
// searched at once, in linear time.
type linePattern struct {
	// res are the expressions for text that contains the start, and the end, of the file.
	res map[[2]bool]*regexp.Regexp
}

func newLinePattern(source string) (*linePattern, error) {
	p := &linePattern{res: map[[2]bool]*regexp.Regexp{}}
	same := map[string]*regexp.Regexp{} // most expressions do not use the ends of the file
	for _, place := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		tree, err := syntax.Parse("(?m:"+source+")", syntax.Perl)
		if err != nil {
			return nil, err
		}
		inLine(tree, place[0], place[1])
		text := tree.String()
		if same[text] == nil {
			if same[text], err = regexp.Compile(text); err != nil {
				return nil, err
			}
		}
		p.res[place] = same[text]
	}
	return p, nil
}

// inLine removes the newline from what re matches, and the start or the end of the file if the
// text does not contain it.
func inLine(re *syntax.Regexp, starts, ends bool) {
	for _, sub := range re.Sub {
		inLine(sub, starts, ends)
	}
	never := false
	switch re.Op {
	case syntax.OpLiteral:
		never = slices.Contains(re.Rune, '\n')
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		re.Rune = without(re.Rune, '\n')
		never = len(re.Rune) == 0
	case syntax.OpBeginText:
		never = !starts
	case syntax.OpEndText:
		never = !ends
	}
	if never {
		*re = syntax.Regexp{Op: syntax.OpNoMatch}
	}
}

// without returns a class, pairs of first and last runes, without r.
func without(class []rune, r rune) []rune {
	var out []rune
	for pair := range slices.Chunk(class, 2) {
		lo, hi := pair[0], pair[1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// find returns where the first match in content[from:to] begins, counted from from; -1
// without a match, or when ctx ended. from and to are at line ends.
func (p *linePattern) find(ctx context.Context, content []byte, from, to int) int {
	re := p.res[[2]bool{from == 0, to == len(content)}]
	var loc []int
	if to-from <= stretch {
		loc = re.FindIndex(content[from:to])
	} else {
		loc = re.FindReaderIndex(&untilDone{ctx: ctx, text: content[from:to]})
	}
	if loc == nil || ctx.Err() != nil {
		return -1
	}
	return loc[0]
}

// untilDone reads text until ctx ends.
type untilDone struct {
	ctx  context.Context
	text []byte
	// read counts the bytes, runes how many runes they were.
	read, runes int
}

func (u *untilDone) ReadRune() (rune, int, error) {
	if u.runes%256 == 0 && u.ctx.Err() != nil || u.read == len(u.text) {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRune(u.text[u.read:])
	u.read += n
	u.runes++
	return r, n, nil
}
