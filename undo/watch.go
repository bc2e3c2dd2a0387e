package undo

import (
	"errors"
	"io/fs"
	"path"
	"slices"
)

// If changes are not reported, everything that a command is likely to change is recorded
// before it starts, and compared when it is over.

// watchedFile is the size of the largest file that is stored in case it is changed.
const watchedFile = 8 << 20

// Watch records each of the paths, which are canonical, in case a command changes them. An
// unchanged file that is stored already is not stored again.
func (c *Call) Watch(paths []string) {
	c.history.mu.Lock()
	c.found.unknown = true
	had := &c.history.watched
	if had.states == nil {
		had.states = map[string]state{}
	}
	c.history.mu.Unlock()
	var w walker
	defer w.close()
	for _, p := range slices.Sorted(slices.Values(paths)) {
		made := p // or the first missing folder above it, which is made too
		dir, err := w.folder(path.Dir(p))
		for errors.Is(err, fs.ErrNotExist) {
			made = path.Dir(made)
			dir, err = w.folder(path.Dir(made))
		}
		if err != nil {
			continue
		}
		if e := c.note(dir, path.Base(made), made, had); e != nil && made != p {
			c.isNamed(e)
		}
	}
}

// Lost records that not everything below the folder p is recorded.
func (c *Call) Lost(p, why string) {
	var w walker
	defer w.close()
	dir, err := w.folder(path.Dir(p))
	if err != nil {
		return
	}
	if e := c.note(dir, path.Base(p), p, nil); e != nil {
		lost := about(kindLost, p, nil)
		lost.Why = why
		e.turn.write(lost)
	}
}

// Made records the paths that are new since Watch.
func (c *Call) Made(paths []string) {
	look := looker{max: c.history.store.bounds.file, left: readNew}
	defer look.close()
	c.history.mu.Lock()
	t := c.history.turn()
	c.history.mu.Unlock()
	out := lines{turn: t}
	for _, p := range slices.Sorted(slices.Values(paths)) {
		t.noteNew(p, &look, &out)
	}
	if out.text.Len() > 0 || t.stopped() != "" {
		out.flush()
	}
}

// contents are files that a session has stored before, by path. It may be nil.
type contents struct {
	// states, and held, the size of their paths in bytes, are guarded by the history's mu.
	states map[string]state
	held   int64
}

// holds reports whether the content of s is stored, and sets where.
func (h *contents) holds(e *entry, s *state) bool {
	if h == nil {
		return false
	}
	e.turn.history.mu.Lock()
	defer e.turn.history.mu.Unlock()
	was, ok := h.states[e.path]
	if !ok || !was.untouched(*s) {
		return false
	}
	s.Sum, s.Kept = was.Sum, was.Kept
	return true
}

// add remembers a stored content.
func (h *contents) add(e *entry, s state) {
	t := e.turn
	if h == nil || s.Kept == nil || !s.settledBy(t.began) {
		return
	}
	t.mu.Lock()
	number := t.number
	t.mu.Unlock()
	kept := *s.Kept
	if kept.Turn == 0 {
		kept.Turn = number
	}
	s.Kept = &kept
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	b := t.history.store.bounds
	if _, known := h.states[e.path]; !known {
		if len(h.states) >= b.entries || h.held+int64(len(e.path)) > b.paths {
			return // it will be stored again each time
		}
		h.held += int64(len(e.path))
	}
	h.states[e.path] = s
}
