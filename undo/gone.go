package undo

import (
	"time"

	"codeagent/internal/git/dotgit"
)

// When a call is settled, the history counts the files that the call deleted or overwrote and that
// the session had not made. The messages about /undo use these numbers.

// gone records the files that a call deleted or overwrote. It is guarded by the history's mu.
type gone struct {
	// deleted and overwritten are files that the session had not made. The value is true if the
	// content is stored.
	deleted, overwritten map[content]bool
	// came are files with a new name since the call began. The value is false for files older than the
	// turn, which the session has not made, whatever their name is now.
	came map[content]bool
}

// content identifies a file with its content, because a new file can reuse an inode.
type content struct {
	inode
	size, mtime int64
}

func (s *state) content() content { return content{s.inode(), s.Size, s.Mtime} }

// note records that the path p changed from was to is. before is its state before the turn, which
// undo restores.
func (g *gone) note(s *History, p string, before, was, is *state) {
	same := was.Kind == file && is.Kind == file && was.inode() == is.inode()
	if is.Kind == file && !same && is.Links == 1 {
		put(&g.came, is.content(), is.born == 0 || is.born >= s.turn().since)
	}
	if _, inGit := dotgit.Cut(p); was.Kind != file || before.Kind != file || !s.made[was.inode()].IsZero() || inGit != "" {
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

// settled completes the settling of a call. A file that only moved was not lost, whatever took its
// place, and the session did not make it. Other new files were made by the session.
func (g *gone) settled(s *History) {
	for i, isNew := range g.came {
		_, moved := g.deleted[i]
		_, displaced := g.overwritten[i]
		if moved || displaced {
			delete(g.deleted, i)
			delete(g.overwritten, i)
		} else if isNew && len(s.made) < s.store.bounds.entries {
			put(&s.made, i.inode, s.store.now())
		}
	}
	g.came = nil
}

// count returns how many files that the session had not made were deleted and overwritten. unkept
// is the number of them whose content is not stored.
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

// Unsaved says why the file could not be restored: see sandbox.ChangeObserver. Files made since the
// turn began count as the session's own, even if they were not recorded.
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
	s, born := c.history, now.born
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn()
	if born != 0 && born >= t.since {
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

// unsaved records that the content of the file s is not stored. The history's mu is held.
func (t *turn) unsaved(s state, why string) {
	if s.Kind == file && why != "" {
		put(&t.unkept, s.inode(), why)
		t.history.lossy.Store(true)
	}
}
