package undo

import (
	"path"
	"slices"
	"sort"

	"codeagent/exec/worker"
	"codeagent/sandbox"
)

// Entry is one path, and how it must still be for it to be removed.
type Entry struct {
	Path string
	Now  worker.Expect
}

// Added returns what calls of the current turn added at paths and below, what is below a folder first. It fails unless all of
// it was absent before the turn, is as the calls left it, and is complete: somebody else's work is never in it.
func (s *History) Added(paths []string) (out []Entry, ok bool) {
	left := s.leftAt(paths)
	var w walker
	defer w.close()
	for p, e := range left {
		now, err := w.lookInto(p, s.store.bounds.file)
		brief := now.brief()
		if err != nil || e.before.Kind != absent || e.after == nil || e.calls > 0 || e.open || e.mixed || e.theirs != nil || e.after.Kind != now.Kind || !isLeft(e.after, &brief) {
			return nil, false
		}
		if now.Kind == folder && slices.ContainsFunc(w.names(p, s.store.bounds.entries), func(name string) bool { _, known := left[path.Join(p, name)]; return !known }) {
			return nil, false
		}
		if now.Kind != absent {
			out = append(out, Entry{p, expect(now)})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path > out[j].Path })
	return out, len(out) > 0
}

// leftAt returns copies of the turn's entries at paths and below.
func (s *History) leftAt(paths []string) map[string]entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]entry{}
	if s.current == nil {
		return out
	}
	for p, e := range s.current.entries {
		if slices.ContainsFunc(paths, func(dir string) bool { return sandbox.Covers(dir, p) }) {
			out[p] = *e
		}
	}
	return out
}
