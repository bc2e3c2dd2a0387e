package fileworker

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
)

// stretch is about how many bytes are matched between two checks of the context.
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

// newLinePattern compiles an expression such that its matches contain no newline: many lines are
// then searched at once, in linear time. The ends of a line are also those of the text.
func newLinePattern(source string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err == nil {
		tree, err = syntax.Parse("(?m:"+source+")", syntax.Perl)
	}
	if err != nil {
		return nil, err
	}
	inLine(tree)
	return regexp.Compile(tree.String())
}

// inLine removes the newline from what re matches.
func inLine(re *syntax.Regexp) {
	for _, sub := range re.Sub {
		inLine(sub)
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
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op, re.Flags = syntax.OpEndLine, re.Flags&^syntax.WasDollar
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
