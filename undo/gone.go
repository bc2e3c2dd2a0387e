package undo

import (
	"strings"
	"time"
)

// What a call deleted or overwrote that was not of the session's own making is counted when
// the call is settled, for the words that say what /undo holds.

// gone counts the files that a call deleted or overwrote. It is guarded by the history's mu.
type gone struct {
	// deleted and overwritten are files that the session had not made; the value is true where
	// the content is stored.
	deleted, overwritten map[content]bool
	// came are files that have a name now which they did not have before the call.
	came map[content]bool
}

// content identifies a file with its content: the inode alone can be that of a new file.
type content struct {
	inode
	size, mtime int64
}

func (s *state) content() content { return content{s.inode(), s.Size, s.Mtime} }

// note takes the change of the path p from was to is. before is its state before the turn,
// which undo restores.
func (g *gone) note(s *History, p string, before, was, is *state) {
	same := was.Kind == file && is.Kind == file && was.inode() == is.inode()
	if is.Kind == file && !same && is.Links == 1 {
		put(&g.came, is.content(), true)
	}
	if was.Kind != file || before.Kind != file || !s.made[was.inode()].IsZero() || strings.Contains(p, "/.git/") {
		return
	}
	switch kept := before.Kept != nil || before.Size == 0; {
	case is.Kind != file:
		put(&g.deleted, was.content(), kept)
	case !sameContent(was, is):
		put(&g.overwritten, was.content(), kept)
	}
}

func put[K comparable, V any](m *map[K]V, i K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[i] = value
}

// settled ends one settling of a call: a file that only moved was not deleted, and what is new
// was made by the session.
func (g *gone) settled(s *History) {
	for i := range g.came {
		if _, moved := g.deleted[i]; moved {
			delete(g.deleted, i)
		} else if len(s.made) < s.store.bounds.entries {
			put(&s.made, i.inode, s.store.now())
		}
	}
	g.came = nil
}

// count returns how many files the session had not made were deleted and overwritten, and of
// how many of them the content is not stored.
func (g *gone) count() (deleted, overwritten, unkept int) {
	for _, m := range []map[content]bool{g.deleted, g.overwritten} {
		for _, kept := range m {
			if !kept {
				unkept++
			}
		}
	}
	return len(g.deleted), len(g.overwritten), unkept
}

// Unsaved returns why the file could not be restored: see sandbox.ChangeObserver. What was made
// since the turn began counts as the session's own, also where it was not recorded.
func (c *Call) Unsaved(dir int, name, path string) (why string) {
	if !c.history.lossy.Load() || c.history.Careless {
		return ""
	}
	now, err := look(dir, name)
	switch {
	case err != nil || now.Kind != file && now.Kind != folder:
		return ""
	case now.Kind == folder:
		return "not everything was saved, and it may contain such files"
	}
	born := birth(dir, name)
	s := c.history
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn()
	if born != 0 && !time.Unix(0, born).Before(t.began.Add(-clockStep)) {
		return ""
	}
	if by := s.made[now.inode()]; born != 0 && !by.IsZero() && !time.Unix(0, born).After(by) {
		return ""
	}
	if why = t.unkept[now.inode()]; why != "" {
		return why
	}
	if e := t.entries[path]; e != nil || t.more == "" {
		return ""
	}
	return t.more
}

// clockStep is longer than a step of the clock from which file systems take their times.
const clockStep = 20 * time.Millisecond

// unsaved notes that the content of the file s is not stored. The history's mu is held.
func (t *turn) unsaved(s state, why string) {
	if s.Kind == file && why != "" {
		put(&t.unkept, s.inode(), why)
		t.history.lossy.Store(true)
	}
}
