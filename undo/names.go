package undo

import (
	"path"
	"slices"
)

// A file can have several names (hard links). What is done to it under one of them
// happens to all, and only the one that is used is told. So for each file that was
// found to have several, the names that were told are remembered: when one is told,
//
//	it was before what the others were before  -> the turn may have changed it already
//	the others are looked at again, too        -> what the call leaves is the agent's work there as well

// maxNames is how many names of one file are looked at together. A further one that
// the agent changes under another name is a conflict.
const maxNames = 32

// isName notes that s was found under the path of e. Called with the history's mu held.
func (t *turn) isName(e *entry, s state) {
	if s.Kind != file || s.Links < 2 {
		return
	}
	if names := t.linked[s.inode()]; len(names) < maxNames && !slices.Contains(names, e) {
		t.linked[s.inode()] = append(names, e)
	}
}

// namesOf are the known names of the file s but for e, if it has others.
func (t *turn) namesOf(s *state, e *entry) []*entry {
	if s.Kind != file || s.Links < 2 {
		return nil
	}
	t.history.mu.Lock()
	defer t.history.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.linked[s.inode()]), func(o *entry) bool { return o == e })
}

// asOther makes of s, which was just found under a name that is new to the turn, what
// the file was when the turn came to it under another name. why is set where that
// is not kept. ok is false where s is to be kept as it is.
func (t *turn) asOther(s *state) (why string, ok bool) {
	names := t.namesOf(s, nil)
	for _, o := range names {
		t.history.mu.Lock()
		was := o.before
		t.history.mu.Unlock()
		same := was.Size == s.Size && was.Mtime == s.Mtime && was.Mode == s.Mode
		switch {
		case was.Kind != file || was.inode() != s.inode(): // the turn made that name
			continue
		case same && was.Kept == nil:
			return "", false
		case same:
		case !anyStands(names, s.inode()): // a file that is gone leaves its number to another
			return "", false
		case was.Kept == nil:
			why = "it was changed before under its name " + path.Base(o.path) + ", and not kept"
		}
		*s = was
		return why, true
	}
	return "", false
}

// anyStands reports whether one of the names is still one of the file id.
func anyStands(names []*entry, id inode) bool {
	var w walker
	defer w.close()
	return slices.ContainsFunc(names, func(o *entry) bool {
		now, err := w.look(o.path)
		return err == nil && now.inode() == id
	})
}

// otherNames makes the other names of the file now, found under the path of e, those
// of the call, too. What somebody else did to it under one of them shows there, where
// e is new.
func (c *Call) otherNames(e *entry, now state) {
	var w walker
	defer w.close()
	for _, o := range e.turn.namesOf(&now, e) {
		if !c.has(o) {
			is, err := w.look(o.path)
			if err != nil || is.inode() != now.inode() {
				continue // it is another file by now
			}
			c.history.mu.Lock()
			c.join(o)
			c.history.mu.Unlock()
			o.again(is, nil)
		}
		e.mixedAs(o)
	}
}

func (c *Call) has(e *entry) bool {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	_, has := c.touched[e]
	return has
}

// mixedAs notes that somebody else changed e if that happened to o, another name of
// the same file.
func (e *entry) mixedAs(o *entry) {
	mu := &e.turn.history.mu
	mu.Lock()
	mixed := o.mixed && !e.mixed && e.before.inode() == o.before.inode()
	e.mixed = e.mixed || mixed
	mu.Unlock()
	if mixed {
		e.turn.write(about(kindMixed, e.path, nil))
	}
}
