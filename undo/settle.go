package undo

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
)

// Settle notes what the call has left. It is called when the call is over; of a
// command that stays in the background also later. What that goes on to change in
// places that were settled counts as somebody else's: nobody could tell it from the
// user's own.
func (c *Call) Settle() {
	// One after the other: of what two calls have changed, the later look is the one
	// that must stand last in the log.
	c.session.settling.Lock()
	defer c.session.settling.Unlock()
	look := looker{max: c.session.store.bounds.file, left: readNew}
	defer look.close()
	pending := map[*turn][]record{}
	flush := func(t *turn, most int) {
		if list := pending[t]; len(list) > most {
			_ = t.write(list...) // see first
			pending[t] = nil
		}
	}
	entries := c.unsettled()
	for _, e := range entries {
		s, err := look.after(e)
		if err != nil {
			continue // what is not known is left alone
		}
		if kind := c.left(e, s); kind != "" {
			pending[e.turn] = append(pending[e.turn], leftRecord(kind, e.path, &s))
		}
		if s.Kind == folder && c.named(e) {
			pending[e.turn] = append(pending[e.turn], c.made(e, &look)...)
		}
		flush(e.turn, batch)
	}
	for t := range pending {
		flush(t, 0)
	}
	c.release(entries)
}

// release lets go of what is settled.
func (c *Call) release(entries []*entry) {
	s := c.session
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

// readNew is how much of what a call made is read when it is over. Of the rest
// size, times and number alone tell later whether somebody else changed it.
const readNew = 64 << 20

// batch is how many records are written at once.
const batch = 1000

// looker looks at what calls have left.
type looker struct {
	walker
	max  int64 // the largest file that is read
	left int64 // how much of what is new is read
}

// after looks at what a call left. What the kernel saw nobody change is not read.
func (l *looker) after(e *entry) (state, error) {
	s, err := l.look(e.path)
	if err == nil && e.before.untouched(s) && s.settledBy(e.turn.began) {
		s.Sum = e.before.Sum
		return s, nil
	}
	return l.at(e.path, e.before.Kind != file)
}

func (l *looker) at(p string, isNew bool) (state, error) {
	s, err := l.look(p)
	if err != nil || s.Kind != file || isNew && s.Size > l.left {
		return s, err
	}
	if isNew {
		l.left -= s.Size
	}
	return l.lookInto(p, l.max)
}

// unsettled is what is to be settled, in the order of paths.
func (c *Call) unsettled() []*entry {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Collect(maps.Keys(c.touched))
	for _, e := range out {
		for e.busy {
			s.ready.Wait()
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return out
}

// left notes what the call left, and says what record that takes, "" for none.
func (c *Call) left(e *entry, s state) string {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	was := e.after
	e.after = &s
	switch {
	case was != nil && was.untouched(s) && bytes.Equal(was.Sum, s.Sum):
		return ""
	case e.before.untouched(s):
		return kindSame
	}
	return kindAfter
}

func leftRecord(kind, path string, s *state) record {
	if kind == kindSame {
		s = nil
	}
	return about(kind, path, s)
}

// named reports whether e was told under its name by this call.
func (c *Call) named(e *entry) bool {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.touched[e]
}

// made lists what lies in the folder that the call made, or moved to e, and was not
// there: nobody tells of that.
func (c *Call) made(e *entry, look *looker) []record {
	dir, err := look.folder(e.path)
	if err != nil {
		return nil
	}
	f, err := openFolder(dir, ".")
	if err != nil {
		return nil
	}
	names, _ := f.Readdirnames(-1) // as many as there are
	f.Close()
	slices.Sort(names)
	var out []record
	for _, n := range names {
		p := path.Join(e.path, n)
		s, err := look.at(p, true)
		if err != nil || s.Kind == absent {
			continue
		}
		below := e.turn.add(p, s)
		if below == nil {
			continue
		}
		out = append(out, about(kindBefore, p, &below.before), about(kindAfter, p, &s))
		if s.Kind == folder {
			out = append(out, c.made(below, look)...)
		}
	}
	return out
}

// add notes a path that was not there before; nil where it is known.
func (t *turn) add(p string, now state) *entry {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	switch {
	case t.entries[p] != nil || t.more != "":
		return nil
	case len(t.entries) == t.session.store.bounds.entries:
		t.more = tooMany(len(t.entries))
		return nil
	}
	e := &entry{turn: t, path: p, before: state{Kind: absent}, after: &now}
	t.entries[p] = e
	return e
}
