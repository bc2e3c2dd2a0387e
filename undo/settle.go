package undo

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"codeagent/internal/git/dotgit"
	"codeagent/sandbox"
)

// Settle records what the call has left. It is called when the call is over, and later
// for a command that stays in the background. Later changes of such a command to settled
// paths count as somebody else's: they cannot be distinguished from the user's own.
func (c *Call) Settle() {
	// One at a time: if two calls changed the same entry, the later look must be the last in the
	// log.
	c.history.settling.Lock()
	defer c.history.settling.Unlock()
	look := looker{max: c.history.store.bounds.file, left: readNew}
	defer look.close()
	pending := map[*turn]*lines{}
	entries := c.unsettled()
	for _, e := range entries {
		s, err := look.after(e)
		if err != nil {
			continue // unknown states are left alone
		}
		out := pending[e.turn]
		if out == nil {
			out = &lines{turn: e.turn}
			pending[e.turn] = out
		}
		out.add(c.left(e, s)...)
		if s.Kind == folder && c.named(e) {
			c.made(e, &look, out)
		}
	}
	for t, out := range pending {
		if out.text.Len() > 0 || t.stopped() != "" {
			out.flush()
		}
	}
	c.history.mu.Lock()
	c.found.gone.settled(c.history)
	c.history.mu.Unlock()
	c.release(entries)
}

// release drops the settled entries.
func (c *Call) release(entries []*entry) {
	s := c.history
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if named, touched := c.touched[e]; touched {
			delete(c.touched, e)
			e.calls--
			if named {
				e.named--
			}
		}
	}
	if len(c.touched) == 0 {
		delete(s.open, c)
	}
}

// readNew is how many bytes of new files are read when a call is over. For the rest only
// size, times and inode show later whether somebody else changed them.
const readNew = 64 << 20

// looker reads the states that calls have left.
type looker struct {
	walker
	max  int64 // the largest file that is read
	left int64 // how many bytes of new files may still be read
}

// after returns what a call left. It does not read a file that the kernel shows as unchanged.
func (l *looker) after(e *entry) (state, error) {
	s, err := l.look(e.path)
	switch {
	case err != nil:
		return s, err
	case e.before.untouched(s.brief()) && s.settledBy(e.turn.began):
		s.Sum = e.before.Sum
		return s, nil
	}
	return l.read(e.path, s, e.before.Kind != file)
}

// read adds the content of s, just seen at p, within the bounds.
func (l *looker) read(p string, s state, isNew bool) (state, error) {
	if s.Kind != file || isNew && s.Size > l.left {
		return s, nil
	}
	if isNew {
		l.left -= s.Size
	}
	return l.readInto(p, s, l.max)
}

// unsettled returns the entries to settle, in the order of paths.
func (c *Call) unsettled() []*entry {
	s := c.history
	s.mu.Lock()
	defer s.mu.Unlock()
	c.found.whole = nil
	out := slices.Collect(maps.Keys(c.touched))
	for _, e := range out {
		for e.busy {
			s.ready.Wait()
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return out
}

// left records what the call left, and returns the records for the log.
func (c *Call) left(e *entry, s state) []record {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	brief, was, open := s.brief(), e.after, e.open
	e.open = e.calls > 1
	since := was
	if since == nil {
		since = &e.before
	}
	if e.theirs != nil {
		since = e.theirs
		if e.news && !e.open && since.Kind == brief.Kind && isLeft(since, &brief) {
			// The call changed nothing, so the agent's state is what it left before.
			e.mixed, e.theirs = false, nil
			return []record{about(kindTheirs, e.path, nil)}
		}
	}
	c.found.gone.note(c.history, e.path, &e.before, since, &brief)
	c.found.add(e.path, since, &brief)
	if !e.open {
		e.theirs = nil
	}
	e.after = &brief
	switch {
	case e.open:
		return nil // another call works on it, and its end will record this
	case !open && was != nil && was.untouched(brief) && bytes.Equal(was.Sum, brief.Sum):
		return nil
	case e.before.untouched(brief):
		return []record{about(kindSame, e.path, nil)}
	}
	return []record{about(kindAfter, e.path, &s)}
}

// named reports whether this call reported e by its own name.
func (c *Call) named(e *entry) bool {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	return c.touched[e]
}

// made records the new content of a folder that a call made, or moved to e: changes in it
// were not reported.
func (c *Call) made(e *entry, look *looker, out *lines) {
	t := e.turn
	most := t.history.store.bounds.entries + 1 // one more than fits, to detect the overflow
	look.below(e.path, most, func() bool { return t.stopped() == "" }, func(p string) bool {
		if known := t.known(p); known != nil {
			return c.remade(known, look, out)
		}
		below, is := t.noteNew(p, look, out)
		if below != nil {
			c.foundNew(below)
		}
		return below != nil && is == folder
	})
}

// remade records a known entry in a folder that the call made again, and reports whether it is a folder. What calls reported by
// itself is settled by itself.
func (c *Call) remade(e *entry, look *looker, out *lines) (isFolder bool) {
	c.history.mu.Lock()
	reported := e.busy || e.calls > 0
	c.history.mu.Unlock()
	if reported {
		return false
	}
	s, err := look.after(e)
	if err == nil {
		out.add(c.left(e, s)...)
	}
	c.history.mu.Lock()
	c.shared = c.shared || !c.mine[e.path]
	c.history.mu.Unlock()
	return err == nil && s.Kind == folder
}

// noteNew records the new entry p and returns its kind; nil if it is absent or known, or a
// bound is reached.
func (t *turn) noteNew(p string, look *looker, out *lines) (*entry, kind) {
	s, err := look.look(p)
	if err == nil {
		s, err = look.read(p, s, true)
	}
	if err != nil || s.Kind == absent {
		return nil, absent
	}
	e := t.add(p, s)
	if e != nil {
		out.add(about(kindBefore, p, &e.before), about(kindAfter, p, &s))
	}
	return e, s.Kind
}

func (t *turn) known(p string) *entry {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	return t.entries[p]
}

// add records a new path; nil if it is known, or a bound is reached.
func (t *turn) add(p string, now state) *entry {
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	if t.entries[p] != nil {
		return nil
	}
	e := t.hold(p)
	if e != nil {
		now = now.brief()
		e.before, e.after = state{Kind: absent}, &now
	}
	return e
}

// found collects the changes of a call while it is settled, when the states before and after
// are known. It is guarded by the history's mu.
type found struct {
	sandbox.Changes
	// unknown: changes are not reported, so anybody may have made a difference.
	unknown bool
	// whole are the folders that are listed in place of everything below them.
	whole map[string]bool
	gone  gone
}

// Changed returns what the call changed since the last call of Changed, as found by Settle.
// It is empty if changes are not reported.
func (c *Call) Changed() sandbox.Changes {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	f := c.found
	c.found = found{unknown: f.unknown}
	if f.unknown {
		return sandbox.Changes{}
	}
	// New entries of a folder must be sorted in among the reported paths.
	sort.Slice(f.List, func(i, j int) bool { return f.List[i].Path < f.List[j].Path })
	f.Deleted, f.Overwritten, f.Unkept = f.gone.count()
	return f.Changes
}

// foundNew adds an entry that was not reported, from a folder that the call made.
func (c *Call) foundNew(e *entry) {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	c.mine[e.path] = true
	c.found.gone.note(c.history, e.path, &e.before, &e.before, e.after)
	c.found.add(e.path, &e.before, e.after)
}

// add adds the change of the path p. Paths come in order: a folder before its content.
func (f *found) add(p string, was, is *state) {
	switch {
	case f.unknown, was.Kind == is.Kind && isLeft(was, is), was.Kind == special && was.Ino == 0: // no visible change
		return
	case f.below(p):
		return
	}
	if entry, below := dotgit.Cut(p); below != "" { // of no use to a reader
		f.cover(entry)
		f.Add(sandbox.Change{Path: entry + "/", Kind: sandbox.Updated})
		return
	}
	ch := sandbox.Change{Path: p, Kind: sandbox.Updated}
	now := is.Kind
	switch {
	case was.Kind == absent:
		ch.Kind = sandbox.Added
	case is.Kind == absent:
		ch.Kind, now = sandbox.Deleted, was.Kind
	}
	if was.Kind != is.Kind && (was.Kind == folder || is.Kind == folder) {
		f.cover(p)
	}
	if now == folder {
		ch.Path += "/"
	}
	f.Add(ch)
}

func (f *found) cover(p string) {
	if f.whole == nil {
		f.whole = map[string]bool{}
	}
	f.whole[p] = true
}

// below reports whether p is below a folder in whole.
func (f *found) below(p string) bool {
	for len(f.whole) > 0 && p != "/" {
		if p = path.Dir(p); f.whole[p] {
			return true
		}
	}
	return false
}
