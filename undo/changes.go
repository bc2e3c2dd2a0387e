package undo

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// found collects what a call has changed, while it is settled: the states before and
// after are at hand then. It is guarded by the history's mu.
type found struct {
	sandbox.Changes
	// unknown: changes are not reported, so a difference may be anybody's work.
	unknown bool
	// whole are the folders that stand for all that is below them.
	whole map[string]bool
}

// Changed is what the call changed, found when it was settled, since the last call of
// Changed. It is empty where changes are not reported.
func (c *Call) Changed() sandbox.Changes {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	f := c.found
	c.found = found{unknown: f.unknown}
	if f.unknown {
		return sandbox.Changes{}
	}
	// New entries of a folder come between the reported paths.
	slices.SortFunc(f.List, func(a, b sandbox.Change) int { return strings.Compare(a.Path, b.Path) })
	return f.Changes
}

// foundNew adds an entry that was not reported: it is in a folder that the call made.
func (c *Call) foundNew(e *entry) {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	c.found.add(e.path, &e.before, e.after)
}

// add adds the change of the path p. Paths come in order: a folder before its content.
func (f *found) add(p string, was, is *state) {
	switch {
	case f.unknown, was.Kind == is.Kind && isLeft(was, is), was.Kind == special && was.Ino == 0: // it could not be seen
		return
	case f.below(p):
		return
	}
	if at := strings.Index(p, "/.git/"); at >= 0 {
		// Names inside .git mean nothing to a reader.
		p = p[:at+len("/.git")]
		f.cover(p)
		f.Add(sandbox.Change{Path: p + "/", Kind: sandbox.Updated})
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

// below reports whether p lies in a folder that stands for it.
func (f *found) below(p string) bool {
	for len(f.whole) > 0 && p != "/" {
		if p = path.Dir(p); f.whole[p] {
			return true
		}
	}
	return false
}
