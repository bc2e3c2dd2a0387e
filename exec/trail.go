package exec

import (
	"sort"
	"sync"
)

// trail records which paths changed, in order, and who changed them.
type trail struct {
	mu  sync.Mutex
	now int64
	// last is the latest change of each path.
	last map[string]moment
	// from is the earliest moment since which last is complete.
	from int64
}

type moment struct {
	at int64
	by string
}

// Change is one change: the path, and who made it, as words for a question.
type Change struct{ Path, By string }

// maxTrail limits the paths. Beyond it, the earlier ones are dropped.
const maxTrail = 20_000

func (t *trail) add(path, by string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	if len(t.last) >= maxTrail {
		t.last, t.from = nil, t.now
	}
	if t.last == nil {
		t.last = map[string]moment{}
	}
	t.last[path] = moment{t.now, by}
}

func (t *trail) mark() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

func (t *trail) since(mark int64) (changes []Change, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, m := range t.last {
		if m.at > mark {
			changes = append(changes, Change{p, m.by})
		}
	}
	sort.Slice(changes, func(i, j int) bool { return t.last[changes[i].Path].at < t.last[changes[j].Path].at })
	return changes, mark >= t.from
}
