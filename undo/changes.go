package undo

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// found collects the changes of a call while it is settled, when the states before and after
// are known. It is guarded by the history's mu.
type found struct {
	sandbox.Changes
	// unknown: changes are not reported, so anybody may have made a difference.
	unknown bool
	// whole are the folders that are listed in place of everything below them.
	whole map[string]bool
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
	slices.SortFunc(f.List, func(a, b sandbox.Change) int { return strings.Compare(a.Path, b.Path) })
	return f.Changes
}

// foundNew adds an entry that was not reported, from a folder that the call made.
func (c *Call) foundNew(e *entry) {
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
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
	if at := strings.Index(p, "/.git/"); at >= 0 {
		// Names inside .git are of no use to a reader.
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

// below reports whether p is below a folder in whole.
func (f *found) below(p string) bool {
	for len(f.whole) > 0 && p != "/" {
		if p = path.Dir(p); f.whole[p] {
			return true
		}
	}
	return false
}
