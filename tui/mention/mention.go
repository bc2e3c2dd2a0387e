// Package mention finds files by a few letters of their paths, as fzf does. It performs no
// IO: the paths are handed in. Start with Index; score.go rates a path.
//
// fzf's own package is not used: it builds tables at every start, keeps its settings in
// package variables, and promises no interface.
package mention

import (
	"slices"
	"strings"
	"unicode"
)

// Index are paths to search in.
type Index struct{ paths []string }

// Match is a path that was found. At are the bytes of Path that the query matched.
type Match struct {
	Path string
	At   []int

	score int
}

// New makes an index of paths; those of equal rating stay in their order.
func New(paths []string) *Index { return &Index{paths} }

// Len is how many paths there are.
func (x *Index) Len() int { return len(x.paths) }

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// Find returns the best matches of a query, at most most. Upper case in the query must
// match as it is.
func (x *Index) Find(query string, most int) []Match {
	out := make([]Match, 0, most+1)
	if query == "" {
		for _, p := range x.paths[:min(most, len(x.paths))] {
			out = append(out, Match{Path: p})
		}
		return out
	}
	exact := strings.ContainsFunc(query, unicode.IsUpper)
	for _, p := range x.paths {
		score, ok := rate(p, query, exact)
		one := Match{Path: p, score: score}
		if !ok || len(out) == most && !out[most-1].after(one) {
			continue
		}
		at := len(out)
		for at > 0 && out[at-1].after(one) {
			at--
		}
		out = slices.Insert(out, at, one)
		out = out[:min(len(out), most)]
	}
	for i := range out {
		out[i].At = places(out[i].Path, query, exact)
	}
	return out
}

// after reports whether m comes after a match that was found later: by its rating, else because it is longer.
func (m Match) after(o Match) bool {
	return m.score < o.score || m.score == o.score && len(m.Path) > len(o.Path)
}
