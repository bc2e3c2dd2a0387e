package undo

import (
	"cmp"
	"slices"
	"sync"
)

// trail records which paths the calls of this process changed, in order. The records of the turns
// say what existed before a change; the trail says what changed since a given moment.
type trail struct {
	mu  sync.Mutex
	now int64
	// last is the moment of the latest change of each path.
	last map[string]int64
	// from is the earliest moment since which last is complete.
	from int64
}

// maxTrail limits the paths. Beyond it, the earlier ones are dropped.
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

// Mark returns the current moment, for Since.
func (s *History) Mark() int64 {
	s.trail.mu.Lock()
	defer s.trail.mu.Unlock()
	return s.trail.now
}

// Since returns the paths that calls changed or were about to change after mark, in the order of
// their latest change. Where changes are not reported, it compares the files when the call is over.
// A mark of 0 is the start of this process. A running call counts once more when it ends, because
// it may write to files that it opened before. all is false if the list is incomplete.
func (s *History) Since(mark int64) (paths []string, all bool) {
	t := &s.trail
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, at := range t.last {
		if at > mark {
			paths = append(paths, p)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(t.last[a], t.last[b]) })
	return paths, mark >= t.from
}
