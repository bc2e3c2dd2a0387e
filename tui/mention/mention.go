// Package mention finds files by a few letters of their paths, as fzf does. It performs no
// IO: the paths are handed in. Start with Index; score.go rates a path.
//
// fzf's own package is not used: it builds tables at every start, keeps its settings in
// package variables, promises no interface, and its thorough algorithm alone takes up to
// 32 ms for 100,000 paths. Here each path is rated by the quick one of its two algorithms,
// and only the best by the thorough one.
package mention

import (
	"cmp"
	"container/heap"
	"sort"
	"strings"
	"unicode"
)

// thorough is how many of the best paths are rated again.
const thorough = 256

// Index are paths to search in.
type Index struct {
	paths []string
	masks []uint64 // which letters a path has
	// last is the query that was answered last, hits what it matched: a longer query can
	// match nothing else.
	last string
	hits []int32
	rows []cell // scratch of the thorough rating
}

// Match is a path that was found. At are the bytes of Path that the query matched.
type Match struct {
	Path string
	At   []int
}

// New makes an index of paths; those of equal rating stay in their order.
func New(paths []string) *Index {
	x := &Index{paths: paths, masks: make([]uint64, len(paths))}
	for i, p := range paths {
		x.masks[i] = mask(p)
	}
	return x
}

// Len is how many paths there are.
func (x *Index) Len() int { return len(x.paths) }

// mask has a bit for each letter and digit of s, and one for all other bytes.
func mask(s string) uint64 {
	var m uint64
	for i := range len(s) {
		switch b := lower(s[i]); {
		case b >= 'a' && b <= 'z':
			m |= 1 << (b - 'a')
		case b >= '0' && b <= '9':
			m |= 1 << (26 + b - '0')
		default:
			m |= 1 << (40 + b%24)
		}
	}
	return m
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// match is a path with its rating.
type match struct {
	path  int32
	score int
}

// Find returns the best matches of a query, at most most. Upper case in the query must
// match as it is.
func (x *Index) Find(query string, most int) []Match {
	if query == "" {
		x.last, x.hits = "", nil
		out := make([]Match, 0, most)
		for _, p := range x.paths[:min(most, len(x.paths))] {
			out = append(out, Match{Path: p})
		}
		return out
	}
	exact := strings.ContainsFunc(query, unicode.IsUpper)
	best := x.quick(query, exact)
	var out []Match
	var scores []int
	for _, r := range best {
		score, at := x.rate(x.paths[r.path], query, exact)
		out, scores = append(out, Match{x.paths[r.path], at}), append(scores, score)
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(len(out[a].Path), len(out[b].Path)), cmp.Compare(best[a].path, best[b].path)) < 0
	})
	sorted := make([]Match, 0, min(most, len(out)))
	for _, i := range order[:min(most, len(order))] {
		sorted = append(sorted, out[i])
	}
	return sorted
}

// quick rates every path that can match, and returns the best.
func (x *Index) quick(query string, exact bool) []match {
	want, narrow := mask(query), x.hits
	if x.last == "" || !strings.HasPrefix(query, x.last) {
		narrow = nil
	}
	hits := x.hits[:0]
	var best worst
	try := func(i int32) {
		if x.masks[i]&want != want {
			return
		}
		score, ok := greedy(x.paths[i], query, exact)
		if !ok {
			return
		}
		hits = append(hits, i)
		switch {
		case len(best) < thorough:
			heap.Push(&best, match{i, score})
		case best.better(match{i, score}, best[0], x.paths):
			best[0] = match{i, score}
			heap.Fix(&best, 0)
		}
	}
	if narrow != nil {
		for _, i := range narrow { // hits overwrites only what was read
			try(i)
		}
	} else {
		for i := range x.paths {
			try(int32(i))
		}
	}
	if hits == nil {
		hits = []int32{}
	}
	x.last, x.hits = query, hits
	return best
}

// worst is a heap whose first element is the worst.
type worst []match

func (w worst) Len() int           { return len(w) }
func (w worst) Less(i, j int) bool { return w[i].score < w[j].score }
func (w worst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worst) Push(v any)        { *w = append(*w, v.(match)) }
func (w *worst) Pop() any {
	v := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return v
}

// better reports whether a goes before b: by its rating, else because it is shorter.
func (worst) better(a, b match, paths []string) bool {
	return a.score > b.score || a.score == b.score && len(paths[a.path]) < len(paths[b.path])
}
