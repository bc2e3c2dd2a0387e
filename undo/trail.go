package undo

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// trail remembers which paths the calls of this process changed, in order. The turns' records answer
// what there was before, the trail what changed since a moment.
type trail struct {
	mu  sync.Mutex
	now int64
	// last is the moment of the last change of each path.
	last map[string]int64
	// from is the moment from which on last is complete.
	from int64
}

// maxTrail bounds the paths. With more, those so far are forgotten.
const maxTrail = 20_000

func (t *trail) add(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	if len(t.last) >= maxTrail {
		t.last, t.from = nil, t.now
	}
	if t.last == nil {
		t.last = map[string]int64{}
	}
	t.last[path] = t.now
}

// Mark returns the present moment, for Since.
func (s *History) Mark() int64 {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	return s.trail.now
}

// Since returns the paths that calls changed, or were about to, after mark: the last change of each, in
// order. Where changes are not reported, a change is what differs when the call is over. 0 is the start of this process. A call that is not over counts once more when it is, since
// it may write to what it has opened before. all is false if there were more than can be listed.
func (s *History) Since(mark int64) (paths []string, all bool) {
	t := &s.trail
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range slices.SortedFunc(maps.Keys(t.last), func(a, b string) int { return cmp.Compare(t.last[a], t.last[b]) }) {
		if t.last[p] > mark {
			paths = append(paths, p)
		}
	}
	return paths, mark >= t.from
}
