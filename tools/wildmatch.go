package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// pathPattern is a pattern of git's wildmatch over the components of a path: "*", "?" and
// "[...]" stay inside one component, and a component "**" matches any number of them. A match
// takes at most (length of pattern) × (length of path) steps, since patterns come from files
// and from the model. Two parts that nobody writes are missing: classes such as [:alpha:], and
// a "]" that begins a list.
type pathPattern []string

func newPathPattern(s string) pathPattern {
	return strings.Split(strings.NewReplacer(`\/`, "/", "[!", "[^").Replace(s), "/")
}

// match matches a relative path without "." and "..". A trailing "**" needs at least one
// component.
func (p pathPattern) match(name string) bool {
	parts := strings.Split(name, "/")
	i, j := 0, 0         // indexes into p and parts
	retry, from := -1, 0 // after the last "**", and where it was tried last
	for j < len(parts) {
		switch {
		case i < len(p) && isStars(p[i]):
			if i == len(p)-1 {
				return true
			}
			retry, from = i, j
			i++
		case i < len(p) && matchName(p[i], parts[j]):
			i++
			j++
		case retry >= 0:
			from++
			i, j = retry+1, from
		default:
			return false
		}
	}
	return i == len(p)
}

func isStars(s string) bool { return len(s) > 1 && strings.Trim(s, "*") == "" }

// matchName matches one component. An invalid pattern matches nothing.
func matchName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// glob is the model's pattern to choose files: like a line of .gitignore, with {a,b} for
// alternatives and a leading "!" for negation.
type glob struct {
	any     []pathPattern
	negated bool
}

// maxBraces bounds the number of alternatives of one glob.
const maxBraces = 64

// newGlob parses a glob; the empty one matches everything.
func newGlob(s string) (*glob, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) > 1024 {
		return nil, fmt.Errorf("the glob has %d characters; at most 1024 are taken", len(s))
	}
	g := &glob{}
	s, g.negated = strings.CutPrefix(s, "!")
	s = strings.TrimPrefix(s, "./")
	all, err := braces(nil, s)
	if err != nil {
		return nil, err
	}
	byName := !strings.Contains(s, "/") // at any depth
	for _, a := range all {
		a = strings.TrimPrefix(a, "/")
		if strings.HasSuffix(a, "/") {
			a += "**"
		}
		if a == "" || slices.Contains(strings.Split(a, "/"), "..") {
			return nil, fmt.Errorf("the glob %q names nothing below the folder; write it relative to path, like \"**/*.go\"", s)
		}
		if byName {
			a = "**/" + a
		}
		g.any = append(g.any, newPathPattern(a))
	}
	return g, nil
}

// match reports whether the file at the relative path is chosen.
func (g *glob) match(rel string) bool {
	if g == nil {
		return true
	}
	return slices.ContainsFunc(g.any, func(p pathPattern) bool { return p.match(rel) }) != g.negated
}

// braces adds to out what s is with each {a,b} replaced by one of its alternatives. An
// unclosed brace is plain text.
func braces(out []string, s string) ([]string, error) {
	open := strings.IndexByte(s, '{')
	depth, start := 0, open+1
	var inside []string // the alternatives of the first pair
	for i := open; i >= 0 && i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 || depth == 1 && s[i] == ',' {
			inside, start = append(inside, s[start:i]), i+1
		}
		if depth == 0 {
			break
		}
	}
	switch {
	case inside != nil && depth == 0:
	case len(out) == maxBraces:
		return nil, fmt.Errorf("the glob has more than %d alternatives in braces", maxBraces)
	default:
		return append(out, s), nil
	}
	for _, alternative := range inside {
		var err error
		if out, err = braces(out, s[:open]+alternative+s[start:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
